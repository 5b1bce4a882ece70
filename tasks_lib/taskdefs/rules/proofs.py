"""Rules on what proves a task: oracle, near misses, transcripts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tasks_lib.records import Task
from tasks_lib.records.errors import TaskError
from tasks_lib.taskdefs._folder import TaskFolder
from tasks_lib.taskdefs.findings import Severity, shown
from tasks_lib.taskdefs.rules.registry import Broken, Known, rule
from tasks_lib.taskdefs.transcript import split_transcript
from tasks_lib.taskdefs.variants import replies_for

MIN_NEAR_MISSES = 2


def _oracles(folder: TaskFolder, task: Task) -> dict[str, str]:
    names = {stage.id: folder.transcript_name("oracle", stage.id) for stage in task.stages}
    return {stage: folder.transcripts[name] for stage, name in names.items() if name in folder.transcripts}


@rule("oracle-missing", "Every stage has an oracle.")
def _oracle_missing(folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    for stage in task.stages:
        name = folder.transcript_name("oracle", stage.id)
        if name not in folder.transcripts:
            fix = "write the replies with which a model would solve the stage"
            yield Broken(f"{name} is not there", fix)


@rule("transcript", "A transcript holds at least one reply, no empty one, and closes its code blocks.")
def _transcript(folder: TaskFolder, _task: Task, _known: Known) -> Iterator[Broken]:
    for name, text in sorted(folder.transcripts.items()):
        if not name.startswith(("oracle.", "scripted.")):
            continue
        file = str(folder.folder / name)
        try:
            replies = split_transcript(text)
            replies_for(replies, hints=True)
            if not replies:
                yield Broken("no reply", "write at least one reply", file=file)
        except TaskError as error:
            found = re.fullmatch(r"(?:line (\d+): )?(.+?): (.+)", str(error))
            line, value, fix = found.groups("1") if found else ("1", str(error), "mend the transcript")
            yield Broken(value, fix, file=file, line=int(line))


@rule("transcript-stray", "Every transcript belongs to a stage.", Severity.WARNING)
def _transcript_stray(folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    right = {folder.transcript_name(kind, stage.id) for kind in ("oracle", "scripted") for stage in task.stages}
    for name in sorted(folder.transcripts):
        if re.match(r"(?:oracle|scripted)\b", name) and name not in right:
            fix = f"rename it to one of {', '.join(sorted(right))}"
            yield Broken(f"{name} belongs to no stage", fix, file=str(folder.folder / name))


@rule("oracle-unparsable", "Every reply of an oracle can be acted on.")
def _oracle_unparsable(folder: TaskFolder, task: Task, known: Known) -> Iterator[Broken]:
    if known.parse is None:
        return
    for stage in task.stages:
        name = folder.transcript_name("oracle", stage.id)
        text = folder.transcripts.get(name, "")
        for number, reply in enumerate(_replies(text), 1):
            for problem in known.parse(reply, stage.modality):
                line = text.count("\n", 0, max(text.find(reply), 0)) + 1
                value = f"reply {number}: {problem}"
                yield Broken(
                    value, "write the reply as docs/task-authoring.md says", file=str(folder.folder / name), line=line
                )


@rule("near-misses", "A task has at least two near misses.")
def _near_misses(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    if len(task.near_misses) < MIN_NEAR_MISSES:
        fix = f"add mistakes that a good agent might make, at least {MIN_NEAR_MISSES}"
        yield Broken(f"{len(task.near_misses)} near misses", fix, ("near_misses",))


@rule("near-miss-text", "What a near miss replaces stands in the oracle's transcript, and the replacement differs.")
def _near_miss_text(folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    oracles = _oracles(folder, task)
    if not oracles:
        return
    for index, miss in enumerate(task.near_misses):
        for old, new in miss.replace.items():
            at = ("near_misses", index, "replace", old)
            if not old or not any(old in text for text in oracles.values()):
                yield Broken(f"{miss.id}: {shown(old)} is not in the oracle", "copy the text from the oracle", at)
            elif old == new:
                yield Broken(f"{miss.id}: {shown(old)} is replaced by itself", "write the mistake", at)


@rule("near-miss-criterion", "A near miss names criteria of the task.")
def _near_miss_criterion(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    ids = {criterion.id for criterion in task.criteria}
    for index, miss in enumerate(task.near_misses):
        for name in miss.fails:
            if name not in ids:
                fix = f"name one of {', '.join(sorted(ids))}"
                yield Broken(f"{miss.id} fails {name}, no criterion", fix, ("near_misses", index, "fails"))


def _replies(text: str) -> tuple[str, ...]:
    try:
        return split_transcript(text)
    except TaskError:
        return ()  # rule `transcript` says so
