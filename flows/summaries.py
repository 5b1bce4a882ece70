"""The aggregate of a run in the store and in Prefect's artifacts, written by one process at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from prefect.client.orchestration import get_client
from prefect.runtime import flow_run

from flows.artifacts import publish_run
from tasks_lib.episodes import conclude
from tasks_lib.records import RunSummary, VoidRecord
from tasks_lib.records.errors import LeaseHeldError
from tasks_lib.store import RunFolder, Store, acquire

_PATIENCE = 120.0


@contextmanager
def _alone(store: Store, run_id: str) -> Iterator[None]:
    """Wait for the right to write a run's summary: two writers could leave the older of two tables behind."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            lease = acquire(store, f"summary-{run_id}", seconds=60.0)
            break
        except LeaseHeldError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
    with lease:
        yield


def conclude_alone(
    store: Store, run_id: str, taskdefs: Path, voids: Mapping[str, VoidRecord] | None = None
) -> RunSummary:
    """Aggregate a run and write summary and report, alone."""
    with _alone(store, run_id):
        return conclude(store, run_id, taskdefs, voids)


async def refresh_summary(store: Store, run_id: str, taskdefs: Path) -> None:
    """Bring the aggregate up to date after a single episode was retried.

    Only where nobody else will: the run has been concluded before, and the benchmark's own flow run is over.
    """
    if flow_run.run_count < 2 or not store.exists(RunFolder(store, run_id).summary):
        return
    parent = flow_run.parent_flow_run_id
    if parent is not None:
        async with get_client() as client:
            state = (await client.read_flow_run(parent)).state
        if state is not None and not state.is_final():
            return
    summary = await asyncio.to_thread(conclude_alone, store, run_id, taskdefs)
    await publish_run(store, summary)
