"""Rules on what differs between runs with hints and without: the set-up, and the replies that follow from it."""

from __future__ import annotations

from collections.abc import Iterator

from tasks_lib.records import Launch, Stage, Task
from tasks_lib.records.errors import TaskError
from tasks_lib.taskdefs._folder import TaskFolder
from tasks_lib.taskdefs.edits import edit
from tasks_lib.taskdefs.rules.files import stage_at
from tasks_lib.taskdefs.rules.registry import Broken, Known, rule
from tasks_lib.taskdefs.transcript import split_transcript
from tasks_lib.taskdefs.variants import replies_for, split_mark

_SAID = {True: "with hints", False: "without hints"}


@rule(
    "hints-setup",
    "A set-up starts the same programs with hints and without, and the instruction names what it opens in one alone.",
)
def _hints_setup(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    for index, stage in enumerate(task.stages):
        at = (*stage_at(task, index), "setup")
        with_, without = _programs(stage, True), _programs(stage, False)
        if with_ != without:
            value = f"{', '.join(with_) or 'nothing'} with hints, {', '.join(without) or 'nothing'} without"
            yield Broken(value, "start the same programs in both, one of them without the file", at)
        opened = {hints: _arguments(stage, hints) for hints in (True, False)}
        for item in stage.inputs:
            once = [hints for hints, words in opened.items() if item.path in words]
            if len(once) == 1 and item.path not in stage.instruction:
                value = f"{item.path} is opened only {_SAID[once[0]]} and does not stand in the instruction"
                yield Broken(value, "say in the instruction where the file is and what is to be done with it", at)


@rule(
    "hints-replies",
    "An oracle has replies for one variant only where the set-up differs, and a near miss is a mistake in both.",
)
def _hints_replies(folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    texts: dict[str, str] = {}
    for stage in task.stages:
        name = folder.transcript_name("oracle", stage.id)
        try:
            replies = split_transcript(folder.transcripts.get(name, ""))
            marked = [only for only, _ in map(split_mark, replies) if only is not None]
        except TaskError:
            continue  # rule `transcript` says so
        texts[stage.id] = folder.transcripts.get(name, "")
        if marked and stage.setup_for(hints=True) == stage.setup_for(hints=False):
            fix = "take the mark out, or let the set-up differ by with_hints"
            yield Broken(
                f"{name} has replies only {_SAID[marked[0]]}, and the set-up is one",
                fix,
                file=str(folder.folder / name),
            )
    if not any(stage.setup_for(hints=True) != stage.setup_for(hints=False) for stage in task.stages):
        return
    for index, miss in enumerate(task.near_misses):
        for hints, said in _SAID.items():
            if texts and not any(_changes(text, miss.replace, hints) for text in texts.values()):
                at = ("near_misses", index, "replace")
                yield Broken(f"{miss.id} changes nothing {said}", "replace what stands in the replies of both", at)


def _changes(text: str, replace: dict[str, str], hints: bool) -> bool:
    try:
        new = replies_for(split_transcript(edit(text, replace)), hints=hints)
        return new != replies_for(split_transcript(text), hints=hints)
    except TaskError:
        return True  # it is edited into something else, and another rule says so


def _programs(stage: Stage, hints: bool) -> list[str]:
    return [step.launch for step in stage.setup_for(hints=hints) if isinstance(step, Launch)]


def _arguments(stage: Stage, hints: bool) -> set[str]:
    return {word for step in stage.setup_for(hints=hints) if isinstance(step, Launch) for word in step.arguments}
