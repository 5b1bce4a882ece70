"""Caps on memory and processes, and a fair share of the processors, by control groups of version 1 and 2."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_MIB = 1024 * 1024
PREFIX = "matassay-"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a machine may use."""

    memory: int  # bytes
    processes: int


@dataclass(frozen=True, slots=True)
class Place:
    """A folder that groups can be made in: the version and the controllers that count there."""

    folder: Path
    version: int
    controllers: frozenset[str]


class Cgroup:
    """The groups of one machine, one a hierarchy.

    Parameters
    ----------
    folders : tuple of Path
        Folders of the groups.
    """

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self.folders = folders

    @property
    def joins(self) -> list[Path]:
        """Files that a process writes its id to in order to enter."""
        return [folder / "cgroup.procs" for folder in self.folders]

    def pids(self) -> set[int]:
        """Return the processes inside, by this host's ids."""
        found: set[int] = set()
        for folder in self.folders:
            try:
                found |= {int(line) for line in (folder / "cgroup.procs").read_text(encoding="ascii").split()}
            except (OSError, ValueError):
                continue
        return found - {0}

    def remove(self, seconds: float = 5.0) -> bool:
        """Remove the groups once they are empty; True when none is left."""
        end = time.monotonic() + seconds
        for folder in self.folders:
            while True:
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    if time.monotonic() > end:
                        return False
                    time.sleep(0.01)
                else:
                    break
        return True


def create(machine_id: str, limits: Limits, places: list[Place] | None = None) -> tuple[Cgroup, dict[str, str]]:
    """Make the groups of a machine with their limits.

    Parameters
    ----------
    machine_id : str
        Names the groups, so that another process can find them.
    limits : Limits
        The caps.
    places : list of Place, optional
        Where to try; by default what `find_places` sees.

    Returns
    -------
    Cgroup and dict
        The groups, and by what each of ``memory``, ``processes`` and ``cpu`` is held.
    """
    made: list[Path] = []
    capped: dict[str, str] = {}
    for place in find_places() if places is None else places:
        wanted = {name for name in place.controllers if _fact(name) not in capped}
        if not wanted:
            continue
        folder = place.folder / f"{PREFIX}{machine_id}"
        try:
            if place.version == 2:
                _enable(place)
            folder.mkdir()
        except OSError:
            continue
        done = [name for name in sorted(wanted) if _write_limit(folder, place.version, name, limits)]
        if not done:
            folder.rmdir()
            continue
        made.append(folder)
        capped |= {_fact(name): f"cgroup v{place.version}" for name in done}
    return Cgroup(tuple(made)), capped


def find(machine_id: str, places: list[Place] | None = None) -> Cgroup:
    """Return the groups of a machine that another process made."""
    folders = (place.folder / f"{PREFIX}{machine_id}" for place in (find_places() if places is None else places))
    return Cgroup(tuple(folder for folder in folders if folder.is_dir()))


def find_places(proc: Path = Path("/proc/self")) -> list[Place]:
    """List folders where groups may be made, the best first.

    In version 1 that is this process's own group in the hierarchies of memory, pids and cpu. In version 2 a group with
    processes in it cannot share its controllers out, so its parent is tried too.
    """
    try:
        own = dict(_own_groups((proc / "cgroup").read_text(encoding="utf-8")))
        mounts = list(_mounts((proc / "mountinfo").read_text(encoding="utf-8")))
    except OSError:
        return []
    found: dict[Path, Place] = {}
    for root, point, controllers in mounts:
        key = ",".join(sorted(controllers))
        if key not in own:
            continue
        group = point / os.path.relpath(own[key], root) if own[key].startswith(root) else point
        group = Path(os.path.normpath(group))
        if controllers:
            wanted = frozenset(controllers & {"memory", "pids", "cpu"})
            if wanted and os.access(group, os.W_OK):
                found.setdefault(group, Place(group, 1, wanted))
            continue
        for folder in (group, group.parent):
            if not folder.is_relative_to(point) or not os.access(folder, os.W_OK):
                continue
            offered = _words(folder / "cgroup.controllers") & {"memory", "pids", "cpu"}
            if offered:
                found.setdefault(folder, Place(folder, 2, frozenset(offered)))
    return list(found.values())


def _own_groups(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        yield ",".join(sorted(filter(None, controllers.split(",")))), path


def _mounts(text: str) -> Iterator[tuple[str, Path, set[str]]]:
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        if kind[0] == "cgroup2":
            yield _unescape(fields[3]), Path(_unescape(fields[4])), set()
        elif kind[0] == "cgroup":
            known = {"memory", "pids", "cpu", "cpuacct"}
            options = set(kind[-1].split(",")) & known
            if options:
                yield _unescape(fields[3]), Path(_unescape(fields[4])), options


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _words(path: Path) -> set[str]:
    try:
        return set(path.read_text(encoding="ascii").split())
    except OSError:
        return set()


def _enable(place: Place) -> None:
    missing = place.controllers - _words(place.folder / "cgroup.subtree_control")
    if missing:
        text = " ".join(f"+{name}" for name in sorted(missing))
        (place.folder / "cgroup.subtree_control").write_text(text, encoding="ascii")


def _fact(controller: str) -> str:
    return {"pids": "processes"}.get(controller, controller)


def _write_limit(folder: Path, version: int, controller: str, limits: Limits) -> bool:
    if controller == "memory":
        needed = ("memory.max", str(limits.memory)) if version == 2 else ("memory.limit_in_bytes", str(limits.memory))
        # Swap is closed off where the kernel counts it.
        wished = ("memory.swap.max", "0") if version == 2 else ("memory.memsw.limit_in_bytes", str(limits.memory))
    elif controller == "pids":
        needed, wished = ("pids.max", str(limits.processes)), None
    else:
        return True  # a group of its own is a machine's fair share of the processors
    try:
        (folder / needed[0]).write_text(needed[1], encoding="ascii")
    except OSError:
        return False
    if wished is not None:
        with contextlib.suppress(OSError):
            (folder / wished[0]).write_text(wished[1], encoding="ascii")
    return True
