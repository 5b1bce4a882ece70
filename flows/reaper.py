"""The last layer of a machine's teardown: whoever's lease has run out, or whose flow run is over, loses the machine.

Works from the store alone, in a process of its own, and needs neither the episode's process nor its state.
"""

from __future__ import annotations

import logging

from tasks_lib.records import Lease, Phase, RunSummary, VoidReason, VoidRecord, now
from tasks_lib.records.errors import LeaseHeldError
from tasks_lib.sandbox import reap
from tasks_lib.store import RunFolder, Store, acquire, expired, runs

_log = logging.getLogger(__name__)


def reap_flow_run(store: Store, run_id: str, episode_id: str, flow_run_id: str) -> list[str]:
    """End the machines that a flow run holds by its unreleased leases; return their ids."""
    ended = []
    folder = RunFolder(store, run_id).episode(episode_id)
    for number in folder.attempts():
        path = folder.attempt(number).lease
        if not store.exists(path):
            continue
        lease = store.read_document(path, Lease)
        if lease.flow_run_id == flow_run_id and lease.released is None and reap(lease):
            ended.append(lease.machine_id or "?")
    return ended


def record_crash(store: Store, run_id: str, episode_id: str, flow_run_id: str, why: str) -> bool:
    """Write ``void.json`` for an attempt that a killed flow run left open; return whether there was one."""
    attempt = RunFolder(store, run_id).episode(episode_id).last()
    if attempt is None or store.exists(attempt.void) or store.exists(attempt.verdict):
        return False
    lease = store.read_document(attempt.lease, Lease)
    if lease.flow_run_id != flow_run_id:
        return False
    record = VoidRecord(
        reason=VoidReason.CANCELLED,
        phase=Phase.ACT,
        exception="FlowRunEnded",
        message=f"the flow run was cut off: {why}",
        when=now(),
    )
    return store.create(attempt.void, record.to_json().encode("utf-8"))


class Reaper:
    """Looks through the runs of a store for leases that bind nobody; runs that are settled are looked at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._settled: set[str] = set()

    def sweep(self) -> list[Lease]:
        """End the machines of all leases that have run out; return the leases that were taken over."""
        ended: list[Lease] = []
        for run_id in runs(self._store):
            if run_id in self._settled:
                continue
            for lease in expired(self._store, f"runs/{run_id}/episodes"):
                ended += self._end(lease)
            if self._is_settled(run_id):
                self._settled.add(run_id)
        return ended

    def _end(self, lease: Lease) -> list[Lease]:
        """Take a lease over, end its machine and release it; a holder that renews in this moment wins."""
        try:
            with acquire(self._store, lease.resource, seconds=60.0, flow_run_id=lease.flow_run_id):
                if reap(lease):
                    _log.warning(
                        "machine %s of %s was left behind and has been ended", lease.machine_id, lease.resource
                    )
        except LeaseHeldError:
            return []
        return [lease]

    def _is_settled(self, run_id: str) -> bool:
        """Whether nothing of a run can hold a machine any more: it is concluded and every episode has a verdict."""
        path = RunFolder(self._store, run_id).summary
        if not self._store.exists(path):
            return False
        summary = self._store.read_document(path, RunSummary)
        return not (summary.void or summary.pending)
