"""Flow runs whose process is gone and that nobody has told so: they are set to Crashed, and so can be retried."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterState, FlowRunFilterStateType
from prefect.client.schemas.objects import StateType
from prefect.exceptions import ObjectNotFound
from prefect.states import Crashed


async def crash_flow_runs(ids: Iterable[str | None]) -> list[str]:
    """Set flow runs to Crashed that are Running or about to; return the ids of those that were.

    Parameters
    ----------
    ids : iterable of str or None
        Flow runs of leases that nobody holds any more; one that is over, waits for its retry or belongs to another
        server is left alone.
    """
    crashed = []
    async with get_client() as client:
        for name in sorted({name for name in ids if name}):
            try:
                run = await client.read_flow_run(UUID(name))
            except (ObjectNotFound, ValueError):
                continue
            if run.state is None or not (run.state.is_running() or run.state.is_cancelling()):
                continue
            message = "nobody holds the lease of the episode any more: its process was killed"
            await client.set_flow_run_state(run.id, Crashed(message=message), force=True)
            crashed.append(name)
    return crashed


async def crash_all_running(message: str) -> int:
    """Set every flow run of a server to Crashed that says Running; for a server that nobody else can be using."""
    async with get_client() as client:
        running = FlowRunFilter(state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.RUNNING])))
        found = await client.read_flow_runs(flow_run_filter=running, limit=200)
        for run in found:
            await client.set_flow_run_state(run.id, Crashed(message=message), force=True)
    return len(found)
