"""Opening, holding and closing an attempt: its lease is renewed while work goes on, its VOID is written down."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field

from tasks_lib.records import Phase, VoidRecord, now
from tasks_lib.records.errors import ConfigurationError, LeaseHeldError, LowDiskError, StoreError, policy_for
from tasks_lib.sandbox import Machine
from tasks_lib.store import AttemptFolder, EpisodeFolder, HeldLease, Store, acquire, new_attempt

LEASE_SECONDS = 120.0
_LEAST_FREE_MB = 512


def least_free_bytes() -> int:
    """Return the room that an episode needs before it starts, bytes; ``$MATASSAY_MIN_FREE_MB`` overrides.

    Raises
    ------
    ConfigurationError
        If the variable holds no whole number.
    """
    given = os.environ.get("MATASSAY_MIN_FREE_MB", str(_LEAST_FREE_MB))
    if not given.isdecimal():
        msg = f"MATASSAY_MIN_FREE_MB is a whole number of MiB, got {given!r}: mend the variable or unset it"
        raise ConfigurationError(msg)
    return int(given) * 2**20


def check_room(store: Store) -> None:
    """Refuse to start an episode that could not be recorded.

    Raises
    ------
    LowDiskError
        If the store has less room than `least_free_bytes`.
    """
    free = store.free_bytes()
    if free is not None and free < least_free_bytes():
        msg = (
            f"{store.url} has {free // 2**20} MiB free, an episode needs {least_free_bytes() // 2**20}: "
            "make room or give another --store"
        )
        raise LowDiskError(msg)


@dataclass
class Attempt:
    """An attempt that this process works on."""

    folder: AttemptFolder
    lease: HeldLease
    _stop: threading.Event = field(default_factory=threading.Event)
    _machine: Machine | None = None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._renewer = threading.Thread(target=self._renew, name=f"lease of {self.folder.path}", daemon=True)
        self._renewer.start()

    def holds(self, machine: Machine) -> None:
        """Write into the lease which machine works for the attempt, so that another process can end it."""
        with self._lock:
            self._machine = machine
            self.lease.renew(machine_id=machine.id, machine_pid=machine.pid, machine_start=machine.start_time)

    def end(self) -> None:
        """Stop renewing and release the lease."""
        self._stop.set()
        self._renewer.join()
        try:
            self.lease.release()
        except (OSError, StoreError):
            # A full disk or a store that is away: the lease runs out by itself, and the error that matters is
            # already on its way.
            return

    def _renew(self) -> None:
        while not self._stop.wait(LEASE_SECONDS / 3):
            try:
                with self._lock:
                    self.lease.renew()
            except LeaseHeldError:
                # Another took the attempt over (this host slept, or was cut off): nothing may be written any more.
                if self._machine is not None:
                    self._machine.close()
                return
            except (OSError, StoreError):
                continue


def begin(episode: EpisodeFolder, *, new: bool, flow_run_id: str | None = None) -> Attempt:
    """Open the next attempt, or go on with the newest one where only pure phases are missing.

    Raises
    ------
    LeaseHeldError
        If another worker is at the episode.
    """
    newest = episode.last()
    if new or newest is None:
        folder, lease = new_attempt(episode, seconds=LEASE_SECONDS, flow_run_id=flow_run_id)
    else:
        folder = newest
        lease = acquire(episode.store, newest.path, seconds=LEASE_SECONDS, flow_run_id=flow_run_id)
    return Attempt(folder, lease)


def write_void(
    episode: EpisodeFolder, attempt: Attempt | None, phase: Phase, stage: str, error: BaseException
) -> VoidRecord:
    """Write ``void.json`` and return it; the error-policy table gives the reason.

    Where no attempt was opened yet one is opened for it. A store that cannot take the document keeps nothing: the
    record is returned all the same and the run's summary shows it.
    """
    record = VoidRecord(
        reason=policy_for(error).reason,
        phase=phase,
        stage=stage,
        exception=type(error).__name__,
        message=str(error) or type(error).__name__,
        when=now(),
    )
    try:
        if attempt is not None:
            episode.store.write_document(attempt.folder.void, record)
        elif not isinstance(error, LeaseHeldError):
            held = begin(episode, new=True)
            try:
                episode.store.write_document(held.folder.void, record)
            finally:
                held.end()
    except (OSError, StoreError, LeaseHeldError):
        return record
    return record
