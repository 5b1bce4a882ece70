"""All tasks below a root, and where the root is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from tasks_lib.records import Modality
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.taskdefs._folder import TASK_FILE
from tasks_lib.taskdefs.digests import task_set_digest
from tasks_lib.taskdefs.findings import Finding, TaskFileError
from tasks_lib.taskdefs.task import LoadedTask, load_task

ROOT_VARIABLE = "MATASSAY_TASKDEFS"
BENCHMARKS = "benchmarks"


class Takes(Protocol):
    """Says whether a task is chosen; `modality` is None for a task that could not be loaded."""

    def __call__(self, *, suite: str, domain: str, task_id: str, modality: Modality | None) -> bool:
        """Return True to take the task."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A task folder that could not be loaded; its episodes are VOID(task)."""

    suite: str
    domain: str
    task_id: str
    folder: Path
    findings: tuple[Finding, ...]

    def error(self) -> TaskFileError:
        """Return the problem as the exception that a phase raises."""
        return TaskFileError(self.findings)


@dataclass(frozen=True, slots=True)
class TaskSet:
    """The tasks of a root.

    Attributes
    ----------
    tasks : tuple of LoadedTask
        Sorted by id.
    digest : str
        SHA-256 over the ids and digests of `tasks`.
    problems : tuple of Problem
        What could not be loaded, sorted by id.
    """

    tasks: tuple[LoadedTask, ...]
    digest: str
    problems: tuple[Problem, ...] = ()

    def __getitem__(self, task_id: str) -> LoadedTask:
        """Return the task of that id; KeyError where there is none."""
        for loaded in self.tasks:
            if loaded.id == task_id:
                return loaded
        raise KeyError(task_id)

    def names(self, field: Literal["suite", "domain", "id"]) -> frozenset[str]:
        """Return the suites, the domains or the ids of tasks and problems."""
        other = "task_id" if field == "id" else field
        return frozenset(
            [getattr(loaded.task, field) for loaded in self.tasks] + [getattr(item, other) for item in self.problems]
        )

    def only(self, takes: Takes) -> TaskSet:
        """Return the tasks and problems that `takes` says yes to, with a digest of their own."""
        tasks = tuple(
            loaded
            for loaded in self.tasks
            if takes(
                suite=loaded.task.suite,
                domain=loaded.task.domain,
                task_id=loaded.id,
                modality=loaded.task.modality,
            )
        )
        problems = tuple(
            item
            for item in self.problems
            if takes(suite=item.suite, domain=item.domain, task_id=item.task_id, modality=None)
        )
        return TaskSet(tasks, task_set_digest((loaded.id, loaded.digest) for loaded in tasks), problems)


def find_root(root: str | Path | None = None) -> Path:
    """Find the folder of task definitions.

    Parameters
    ----------
    root : str or Path, optional
        Wins where given; next comes the environment's ``MATASSAY_TASKDEFS``, then ``taskdefs/`` beside the package.

    Raises
    ------
    ConfigurationError
        If the folder is not there.
    """
    given = root or os.environ.get(ROOT_VARIABLE)
    found = Path(given) if given else Path(__file__).resolve().parents[2] / "taskdefs"
    if not found.is_dir():
        msg = f"no task definitions at {found}: name the folder of a clone in {ROOT_VARIABLE}"
        raise ConfigurationError(msg)
    return found


def task_folders(root: Path) -> Iterator[Path]:
    """Yield every ``<suite>/<domain>/<task-id>`` below `root`, sorted; hidden folders and benchmarks are left out."""
    for suite in _folders(root):
        if suite.name == BENCHMARKS and not any(suite.glob(f"*/*/{TASK_FILE}")):
            continue
        for domain in _folders(suite):
            yield from _folders(domain)


def load_all(root: str | Path | None = None) -> TaskSet:
    """Load every task below a root; a task that cannot be loaded becomes a problem, the others load.

    Parameters
    ----------
    root : str or Path, optional
        See `find_root`.

    Returns
    -------
    TaskSet
        Tasks, digest and problems.
    """
    tasks: dict[str, LoadedTask] = {}
    problems: list[Problem] = []
    for folder in task_folders(find_root(root)):
        try:
            loaded = load_task(folder)
            if loaded.id in tasks:
                raise TaskFileError([duplicate(folder, tasks[loaded.id].folder)])
            tasks[loaded.id] = loaded
        except TaskFileError as error:
            problems.append(Problem(folder.parts[-3], folder.parts[-2], folder.name, folder, error.findings))
    ordered = tuple(tasks[key] for key in sorted(tasks))
    digest = task_set_digest((loaded.id, loaded.digest) for loaded in ordered)
    return TaskSet(ordered, digest, tuple(sorted(problems, key=lambda item: (item.task_id, str(item.folder)))))


def duplicate(folder: Path, first: Path) -> Finding:
    """Return the finding that a task id stands twice in a set: episodes are named by it."""
    value = f"id {folder.name} stands also in {first}"
    return Finding(str(folder / TASK_FILE), 1, "duplicate-id", value, "rename one of the two tasks and its folder")


def _folders(parent: Path) -> list[Path]:
    return sorted(path for path in parent.iterdir() if path.is_dir() and not path.name.startswith((".", "_")))
