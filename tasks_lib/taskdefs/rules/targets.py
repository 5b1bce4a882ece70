"""Rules on named targets: the pictures by which an oracle finds what it clicks on.

A target that is found by its text has none: what is wrong with such a call, `oracle-unparsable` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from tasks_lib.records import Modality, Task
from tasks_lib.records.errors import TaskError
from tasks_lib.taskdefs._folder import TaskFolder
from tasks_lib.taskdefs.edits import edit
from tasks_lib.taskdefs.findings import Finding, Severity
from tasks_lib.taskdefs.rules.registry import Broken, Known, rule
from tasks_lib.taskdefs.target_calls import TargetCall, target_calls
from tasks_lib.taskdefs.targets import FOLDER, SUFFIX, read_target, target_files

UNUSED = "target-unused"


@rule("target-picture", "Every target that an oracle or a near miss names has a picture that it can be found by.")
def _target_picture(folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    told: set[str] = set()
    for name, broken in _named(folder, task):
        if name is None:
            yield broken
        elif name not in told:
            told.add(name)
            try:
                read_target(folder.root, name)
            except TaskError as error:
                yield Broken(str(error), "see `matassay targets cut --help`", broken.at, broken.file, broken.line)


def named_targets(folder: TaskFolder, task: Task) -> frozenset[str]:
    """Return the targets that a task's oracles and near misses name."""
    return frozenset(name for name, _ in _named(folder, task) if name is not None)


def unused_targets(root: Path, named: Iterable[str]) -> Iterator[Finding]:
    """Yield a finding for every file below ``targets/`` that is no target or that no oracle names."""
    used = frozenset(named)
    for name, path in target_files(root).items():
        if name not in used or path.suffix != SUFFIX:
            fix = f"name it in an oracle, or remove it; {FOLDER}/ holds one picture a target"
            yield Finding(str(path), 1, UNUSED, f"no oracle names {name}", fix, Severity.WARNING)


def _named(folder: TaskFolder, task: Task) -> Iterator[tuple[str | None, Broken]]:
    """Yield each target that is named and where, or None and what is wrong with a near miss."""
    for stage in task.stages:
        name = folder.transcript_name("oracle", stage.id)
        text = folder.transcripts.get(name, "")
        file = str(folder.folder / name)
        try:
            for call in _pictured(text, stage.modality):
                line = text.count("\n", 0, max(text.find(f'"{call.name}"'), 0)) + 1
                yield call.name, Broken("", "", file=file, line=line)
        except TaskError:
            continue  # rule `oracle-unparsable` says so
        for index, miss in enumerate(task.near_misses):
            at = ("near_misses", index, "replace")
            try:
                for call in _pictured(edit(text, miss.replace), stage.modality):
                    yield call.name, Broken("", "", at)
            except TaskError as error:
                yield None, Broken(f"{miss.id}: {error}", "mend the replacement", at)


def _pictured(text: str, modality: Modality) -> tuple[TargetCall, ...]:
    return tuple(call for call in target_calls(text, modality) if call.text is None)
