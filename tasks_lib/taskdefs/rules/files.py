"""Rules on folders and files: names, inputs, gold, size."""

from __future__ import annotations

from collections.abc import Iterator

from tasks_lib.records import InputFile, Task
from tasks_lib.taskdefs._folder import TaskFolder, sha256
from tasks_lib.taskdefs.digests import normal_lines
from tasks_lib.taskdefs.findings import Severity
from tasks_lib.taskdefs.rules.registry import Broken, Known, rule
from tasks_lib.taskdefs.rules.values import texts

MAX_LINES = 80
_SHORTEST_SECRET = 16


def stage_at(task: Task, index: int) -> tuple[str | int, ...]:
    """Where a stage's fields stand in ``task.yaml``: at top level in a plain task."""
    return ("stages", index) if len(task.stages) > 1 else ()


def inputs_of(task: Task) -> Iterator[tuple[InputFile, tuple[str | int, ...]]]:
    """Every input with its place in ``task.yaml``."""
    for index, stage in enumerate(task.stages):
        for item in stage.inputs:
            yield item, (*stage_at(task, index), "inputs", item.path)


@rule("folder-name", "`task:` names the suite, the domain and the task as their folders do.", stops=True)
def _folder_name(folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    names = folder.folder.resolve().parts[-3:]
    if names != (task.suite, task.domain, task.id):
        value = f"task is {task.suite}/{task.domain}/{task.id}, the folder is {'/'.join(names)}"
        yield Broken(value, "rename one of them", ("task",))


@rule("input-missing", "Every input that the task names lies in `inputs/`.", stops=True)
def _input_missing(folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    for item, at in inputs_of(task):
        if item.source not in folder.data:
            yield Broken(f"{item.source} is not there", "put the file there or leave the input out", at)


@rule("input-digest", "Every input has the SHA-256 that the task states.", stops=True)
def _input_digest(folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    for item, at in inputs_of(task):
        data = folder.data.get(item.source)
        if data is not None and sha256(data) != item.sha256:
            value = f"{item.source} has SHA-256 {sha256(data)}, the task says {item.sha256}"
            yield Broken(value, "if the file is right, write its digest; if not, restore the file", at)


@rule("input-unused", "Every file in `inputs/` is an input of the task.", Severity.WARNING)
def _input_unused(folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    named = {item.source for item, _ in inputs_of(task)}
    for source in sorted(name for name in folder.data if name.startswith("inputs/")):
        if source not in named:
            path = str(folder.folder / source)
            yield Broken(f"{source} is no input", "name it under `inputs:` or remove the file", file=path)


@rule("gold-missing", "Every gold file that a criterion compares with lies in `gold/`.", stops=True)
def _gold_missing(folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    for index, criterion in enumerate(task.criteria):
        name = criterion.compares.gold
        if name is not None and f"gold/{name}" not in folder.data:
            at = ("criteria", index, "compares", "gold")
            yield Broken(f"gold/{name} is not there", "put the file there or mend the name", at)


@rule("gold-unused", "Every file in `gold/` is compared with by a criterion.", Severity.WARNING)
def _gold_unused(folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    named = {criterion.compares.gold for criterion in task.criteria}
    for criterion in task.criteria:
        named |= {*texts(criterion.compares.arguments), *texts(criterion.reads.arguments)}
    for name in folder.below("gold"):
        if name not in named:
            path = str(folder.folder / "gold" / name)
            yield Broken(f"gold/{name} is read by no criterion", "name it in a `gold:` or remove it", file=path)


@rule(
    "gold-readable",
    "No gold file can be read by the agent: none is, or is part of, an input, the instruction or a hint.",
    stops=True,
)
def _gold_readable(folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    words = "\n".join(text for stage in task.stages for text in (stage.instruction, *stage.hints))
    gold = {name: normal_lines(data).strip() for name, data in folder.below("gold").items()}
    for name, data in gold.items():
        if len(data) < _SHORTEST_SECRET:
            continue
        for item, at in inputs_of(task):
            if data in normal_lines(folder.data.get(item.source, b"")):
                yield Broken(f"{item.source} holds gold/{name}", "give the agent another file, or another gold", at)
        if data in words.encode():
            yield Broken(f"gold/{name} stands in the instruction", "take the answer out of the text", ("instruction",))


@rule("too-long", "`task.yaml` has at most 80 lines.")
def _too_long(folder: TaskFolder, _task: Task, _known: Known) -> Iterator[Broken]:
    count = len(folder.text.splitlines())
    if count > MAX_LINES:
        fix = "move tables to inputs/ or gold/, or split the task"
        yield Broken(f"{count} lines, at most {MAX_LINES}", fix, file=folder.file, line=count)


@rule("unknown-endpoint", "Every endpoint of a stage is a database that the harness can start.")
def _unknown_endpoint(_folder: TaskFolder, task: Task, known: Known) -> Iterator[Broken]:
    if known.endpoints is None:
        return
    for index, stage in enumerate(task.stages):
        for name in stage.endpoints:
            if name not in known.endpoints:
                value = f"endpoint {name!r} is none"
                yield Broken(value, f"use one of {', '.join(known.endpoints)}", (*stage_at(task, index), "endpoints"))


@rule("unknown-environment", "Every environment of a stage has its requirements in `environments/` below the root.")
def _unknown_environment(folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    place = folder.root / "environments"
    for index, stage in enumerate(task.stages):
        if stage.environment is not None and not (place / f"{stage.environment}.txt").is_file():
            value = f"environments/{stage.environment}.txt is not there"
            fix = "write the file of requirements, or mend the name"
            yield Broken(value, fix, (*stage_at(task, index), "environment"))
