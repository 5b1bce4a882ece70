"""Leases: who works on an attempt or holds a machine, until when, and how the next one takes over.

A lease is one document, ``lease.json``. Every change of it is exclusive: it is created, or swapped from exactly the
content that was read. So of many who find a lease free, one gets it, and a holder who lost it learns so when renewing.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tasks_lib.records import Lease, now
from tasks_lib.records.errors import LeaseHeldError
from tasks_lib.store._store import Store

Clock = Callable[[], datetime]
_FILE = "lease.json"


def lease_path(resource: str) -> str:
    """Return where the lease of a resource lies: in the folder it names, or under ``leases/`` for a bare name."""
    return f"{resource}/{_FILE}" if "/" in resource else f"leases/{resource}/{_FILE}"


@cache
def _host() -> str:
    """Name this host so that two containers of one name, or one host before and after a reboot, differ."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    namespace = Path("/proc/self/ns/pid")
    parts = [socket.gethostname()]
    if boot.exists() and namespace.exists():
        parts += [boot.read_text(encoding="ascii")[:8], str(namespace.stat().st_ino)]
    return "/".join(parts)


def _started(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot, or None where /proc does not say.

    Ticks since boot and not a time of day: a clock that is set must not make a live owner look like another process.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name of the program, in brackets, may hold spaces and brackets; start time is the 20th field after it.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def new_owner() -> str:
    """Return a name for this process as an owner: host, process, its start, and a random part."""
    return f"{_host()}:{os.getpid()}:{_started(os.getpid())}:{secrets.token_hex(8)}"


def owner_has_died(owner: str) -> bool:
    """Whether an owner, named by `new_owner`, was a process of this very host that has ended."""
    host, _, process = owner.partition(":")
    parts = process.split(":")
    known = len(parts) == 3 and parts[0].isdecimal() and parts[1].isdecimal()
    return known and host == _host() and "/" in host and _started(int(parts[0])) != int(parts[1])


def is_free(lease: Lease, at: datetime) -> bool:
    """Whether a lease binds nobody: released, past its expiry, or its owner's process has died on this host."""
    return lease.released is not None or lease.expires <= at or owner_has_died(lease.owner)


class HeldLease:
    """A lease that is ours until it expires; as a context manager it is released at the end."""

    def __init__(self, store: Store, path: str, lease: Lease, seconds: float, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._seconds = seconds
        self.path = path
        self.lease = lease

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def renew(self, seconds: float | None = None, **facts: Any) -> Lease:
        """Push the expiry to `seconds` from now, and record what became known.

        Parameters
        ----------
        seconds : float, optional
            Time that the lease holds from now on, s; the time given to `acquire` if left out.
        **facts
            Fields of `Lease` to set: ``machine_id``, ``machine_pid``, ``machine_start``, ``flow_run_id``.

        Raises
        ------
        LeaseHeldError
            If the lease is not ours any more: it expired and another took it over, or it was released.
        """
        if self.lease.released is not None:
            msg = f"the lease of {self.lease.resource!r} was released: acquire it again"
            raise LeaseHeldError(msg)
        expires = self._clock() + timedelta(seconds=self._seconds if seconds is None else seconds)
        self._change(expires=expires, **facts)
        return self.lease

    def release(self) -> None:
        """Give the lease up; the document stays and says when. A lease that was lost is left alone."""
        if self.lease.released is not None:
            return
        try:
            self._change(released=self._clock())
        except LeaseHeldError:
            return

    def _change(self, **fields: Any) -> None:
        changed = Lease.model_validate(self.lease.model_dump() | fields)
        if not self._store.swap(self.path, _bytes(self.lease), _bytes(changed)):
            msg = f"the lease of {self.lease.resource!r} was taken over or removed: stop this work, another does it"
            raise LeaseHeldError(msg)
        self.lease = changed


def acquire(
    store: Store,
    resource: str,
    *,
    seconds: float,
    owner: str | None = None,
    clock: Clock = now,
    fresh: bool = False,
    **facts: Any,
) -> HeldLease:
    """Get the lease of a resource: new, or taken over from one that binds nobody any more.

    Parameters
    ----------
    store : Store
        Where the lease lies.
    resource : str
        What is held: a folder of the store, or a machine's id.
    seconds : float
        How long the lease holds unless it is renewed, s.
    owner : str, optional
        Who holds it; `new_owner` if left out. The owner of a live process on this host keeps his lease until it
        expires; a dead one loses it at once.
    clock : callable
        Returns the present time, aware.
    fresh : bool
        Only create: a lease that is there, whatever it says, is not taken over.
    **facts
        Further fields of `Lease`, such as ``machine_id`` or ``flow_run_id``.

    Raises
    ------
    LeaseHeldError
        If another holds it; the message says who and until when.
    """
    path = lease_path(resource)
    begun = clock()
    lease = Lease.model_validate(
        {
            "owner": owner or new_owner(),
            "resource": resource,
            "acquired": begun,
            "expires": begun + timedelta(seconds=seconds),
            "host": socket.gethostname(),
            **facts,
        }
    )
    if store.create(path, _bytes(lease)):
        return HeldLease(store, path, lease, seconds, clock)
    if fresh:
        msg = f"{resource!r} was opened by another already: it does the work"
        raise LeaseHeldError(msg)
    try:
        found = store.read_bytes(path)
    except FileNotFoundError:
        msg = f"the lease of {resource!r} was removed while it was read: run again"
        raise LeaseHeldError(msg) from None
    current = _parse(store, path, found)
    if not is_free(current, clock()):
        msg = f"{resource!r} is held by {current.owner} until {current.expires.isoformat()}: wait, or end that process"
        raise LeaseHeldError(msg)
    if not store.swap(path, found, _bytes(lease)):
        msg = f"another was faster to take over the lease of {resource!r}: it does the work"
        raise LeaseHeldError(msg)
    return HeldLease(store, path, lease, seconds, clock)


def expired(store: Store, prefix: str = "", *, clock: Clock = now) -> list[Lease]:
    """Return the leases under a folder that were not released and bind nobody any more, sorted by resource.

    Who wants to clean up after one acquires it first: a holder that is late but alive may renew at the same time,
    and only one of the two succeeds.
    """
    at = clock()
    found = []
    for path in store.list(prefix):
        if path.rsplit("/", 1)[-1] == _FILE:
            try:
                lease = store.read_document(path, Lease)
            except FileNotFoundError:
                continue
            if lease.released is None and is_free(lease, at):
                found.append(lease)
    return sorted(found, key=lambda lease: lease.resource)


def _bytes(lease: Lease) -> bytes:
    return lease.to_json().encode()


def _parse(store: Store, path: str, data: bytes) -> Lease:
    try:
        return Lease.from_json(data)
    except ValueError:
        # Say path and field as for every other document.
        return store.read_document(path, Lease)
