"""The gold of the database tasks, computed from the snapshot alone: no server, no client, no oracle has a part in it.

Each domain has modules of functions, one a task, marked with `gold`::

    @gold("mp/garnet-density", how="density of the stored cell")
    def garnet_density(snapshot: Snapshot) -> Json:
        return {"density": ...}

A function returns the answer, which becomes ``gold/answer.json`` with the database it belongs to beside it; or a
pymatgen structure, which becomes ``gold/answer.vasp``; or a mapping of file names to either.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pymatgen.core.structure import Structure
from pymatgen.io.vasp.inputs import Poscar

from tasks_lib.databases import Snapshot

THERMO_TYPE = "GGA_GGA+U"  # what the Materials Project dialect calls the snapshot's energies
# When the content of each version was fixed: gold says as of when it holds, as a reply of a live database does.
TAKEN = {"1.0.0": "2026-11-30T14:19:00Z"}
Answer = Any
Compute = Callable[[Snapshot], Answer]


@dataclass(frozen=True)
class Gold:
    """How the gold of a task comes about: `task` is ``domain/task-id``."""

    task: str
    how: str
    compute: Compute

    def files(self, snapshot: Snapshot) -> dict[str, bytes]:
        """Return the files of the task's ``gold/`` folder."""
        answer = self.compute(snapshot)
        if isinstance(answer, Structure):
            answer = {"answer.vasp": answer}
        elif not (isinstance(answer, Mapping) and all(str(name).endswith((".json", ".vasp")) for name in answer)):
            answer = {"answer.json": answer}
        return {name: self._file(content, snapshot) for name, content in sorted(answer.items())}

    def _file(self, content: Answer, snapshot: Snapshot) -> bytes:
        if isinstance(content, Structure):
            return Poscar(content, comment=f"{self.task}: {self.how}").get_str(significant_figures=10).encode("utf-8")
        document = {"database": database(snapshot), "how": self.how, "answer": content}
        text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return f"{text}\n".encode()


def database(snapshot: Snapshot) -> dict[str, str]:
    """Say which database, in which version, a gold belongs to; its answers hold for no other."""
    return {
        "name": snapshot.name,
        "version": snapshot.version,
        "digest": snapshot.digest,
        "taken": TAKEN[snapshot.version],
        "thermo_type": THERMO_TYPE,
    }


GOLDS: dict[str, Gold] = {}


def gold(task: str, *, how: str) -> Callable[[Compute], Compute]:
    """Register a function that computes the gold of ``domain/task-id``; `how` says in a sentence where it comes from.

    Raises
    ------
    ValueError
        If the task has gold already.
    """

    def register(compute: Compute) -> Compute:
        if task in GOLDS:
            msg = f"the gold of {task} is computed by {GOLDS[task].compute.__name__} already: name another task"
            raise ValueError(msg)
        GOLDS[task] = Gold(task, how, compute)
        return compute

    return register
