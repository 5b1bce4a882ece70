"""Ending what a machine of provider ``local`` consists of, by its id alone: processes, groups, folders."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from tasks_lib.records import Lease
from tasks_lib.sandbox import _cgroup, _processes

_SECONDS = 10.0
_LONGEST_SOCKET_PATH = 100  # the kernel allows 107 bytes


def new_root(machine_id: str) -> Path:
    """Choose a machine's folder: in the temporary folder, or ``/tmp`` where a socket's path would be too long."""
    for base in _bases():
        root = base / machine_id
        if len(os.fsencode(root / "endpoints" / "65535.sock")) <= _LONGEST_SOCKET_PATH:
            return root
    return _bases()[-1] / machine_id


def hold(root: Path) -> int:
    """Lock a machine's folder for as long as this process lives; return the descriptor that holds the lock."""
    descriptor = os.open(root / "lock.new", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    # Under its name only when it is locked: a sweep never sees it free while its holder lives.
    (root / "lock.new").rename(root / "lock")
    return descriptor


def sweep() -> list[str]:
    """Remove what killed openers left behind on this host; return the ids of those machines."""
    swept = []
    for lock in sorted(lock for base in _bases() for lock in base.glob("local-*/lock")):
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # another sweep was faster
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            machine_id = lock.parent.name
            group = _cgroup.find(machine_id)
            if not end_processes(machine_id, group) and group.remove():
                remove_folder(lock.parent)
                swept.append(machine_id)
        except BlockingIOError:
            continue  # its opener lives
        finally:
            os.close(descriptor)
    return swept


def end_processes(machine_id: str, group: _cgroup.Cgroup, seconds: float = _SECONDS) -> set[int]:
    """Kill what is in the machine's groups or carries its mark until nothing is; return what survives."""
    end = time.monotonic() + seconds
    while True:
        found = {pid for pid in group.pids() | _processes.marked(machine_id) if _processes.start_time(pid) is not None}
        found.discard(os.getpid())
        if not found or time.monotonic() > end:
            return found
        for pid in found:
            _processes.kill(pid)
        time.sleep(0.005)


def remove_folder(root: Path) -> None:
    """Remove a machine's folder, however deep the agent nested it and whatever modes it set."""
    for argv in (
        ["rm", "-rf", "--", str(root)],
        ["chmod", "-R", "u+rwX", "--", str(root)],
        ["rm", "-rf", "--", str(root)],
    ):
        if not os.path.lexists(root):
            return
        subprocess.run(argv, check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)


def reap(lease: Lease) -> bool:
    """See `tasks_lib.sandbox.machine.reap`."""
    if lease.machine_id is None or (lease.host and lease.host != socket.gethostname()):
        return False
    pid, started = lease.machine_pid, lease.machine_start
    if pid is not None and started is not None and _processes.names_machine(pid, lease.machine_id):
        if _processes.is_alive(pid, started):
            _processes.kill(pid)
        if not _processes.wait_gone(pid, started, _SECONDS):
            return False
    group = _cgroup.find(lease.machine_id)
    if end_processes(lease.machine_id, group):
        return False
    for base in _bases():
        remove_folder(base / lease.machine_id)
    return group.remove()


def _bases() -> list[Path]:
    name = f"matassay-{os.getuid()}"
    bases = [Path(tempfile.gettempdir()) / name, Path("/tmp") / name]  # noqa: S108 - a folder of mode 0700 below it
    return list(dict.fromkeys(bases))
