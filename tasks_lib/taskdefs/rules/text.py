"""Rules on what the agent is told: no answer, no check, no path of a machine; every deliverable by name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tasks_lib.records import Criterion, Launch, Stage, Task
from tasks_lib.taskdefs._folder import TaskFolder
from tasks_lib.taskdefs.findings import Severity
from tasks_lib.taskdefs.rules.files import stage_at
from tasks_lib.taskdefs.rules.registry import Broken, Known, rule
from tasks_lib.taskdefs.rules.values import wanted

# Whole numbers below this and texts shorter than that stand in any prose: no evidence of a leak.
_SMALLEST_TELLING_COUNT = 10
_SHORTEST_TELLING_TEXT = 3
_NUMBER = re.compile(r"(?<![\w.])[-+−]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w]*\.\w)")
_HOST_PATH = re.compile(
    r"(?<![\w./~)])(?:/(?:home|root|tmp|work|Users|mnt|media|opt|srv|var|usr)(?:/[\w.@+-]+)+|[A-Za-z]:\\[\w\\. -]+)"
)
_CHECK_WORDS = re.compile(r"\b(?:grader|evaluator|oracle|near[ -]miss)\b", re.IGNORECASE)


def _told(task: Task) -> Iterator[tuple[str, str, tuple[str | int, ...]]]:
    """Every text that agents read: the stage's id, the text, its place."""
    for index, stage in enumerate(task.stages):
        at = stage_at(task, index)
        yield stage.id, stage.instruction, (*at, "instruction")
        for number, hint in enumerate(stage.hints):
            yield stage.id, hint, (*at, "hints", number)
        for item in stage.deliverables:
            yield stage.id, item.what, (*at, "deliverables", item.path)


# A wanted number is leaked where the same number (within the tolerance) stands in a text, a wanted text where it
# stands there as a whole word. Whole numbers below 10 and texts below 3 characters are too common to count. Where
# the task gives the value on purpose ("set the axis from 280 to 292 eV"), the criterion says ``given: true``.
@rule("answer-leaked", "The instruction, hints and words on deliverables do not tell what the agent is to find out.")
def _answer_leaked(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    for index, criterion in enumerate(task.criteria):
        if criterion.given:
            continue
        for leaf, _ in wanted(criterion.compares.want):
            place = next((at for _, text, at in _told(task) if _tells(text, leaf, criterion)), None)
            if place is not None:
                value = f"{criterion.id} wants {leaf!r}, which stands in {'.'.join(map(str, place))}"
                fix = "take it out of the text; where the task gives it on purpose, add `given: true`"
                yield Broken(value, fix, ("criteria", index))


def _tells(text: str, leaf: str | float, criterion: Criterion) -> bool:
    if isinstance(leaf, str):
        word = leaf.strip()
        if len(word) < _SHORTEST_TELLING_TEXT:
            return False
        return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None
    if float(leaf).is_integer() and abs(leaf) < _SMALLEST_TELLING_COUNT:
        return False
    width = max(criterion.compares.tolerance or 0.0, abs(leaf) * (criterion.compares.relative or 0.0))
    found = (float(token.replace("−", "-")) for token in _NUMBER.findall(text))
    room = width + 1e-9 * abs(leaf)  # 29.79 is within 0.001 of 29.791, whatever binary fractions say
    return any(abs(number - leaf) <= room for number in found)


@rule("hint-names-check", "Hints and the words on deliverables say nothing of how the work is judged.")
def _hint_names_check(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    ids = [criterion.id for criterion in task.criteria if "-" in criterion.id]
    for _, text, at in _told(task):
        if at[-1] == "instruction":
            continue
        named = next((name for name in ids if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)), None)
        word = _CHECK_WORDS.search(text)
        if named or word:
            where = f"hint {at[-1] + 1}" if isinstance(at[-1], int) else f"what {at[-1]} holds"
            value = f"{where} names {named or (word.group() if word else '')!r}"
            yield Broken(value, "say what to do in the program instead", at)


@rule("host-path", "No instruction, hint or transcript names an absolute path of some machine.")
def _host_path(folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    fix = "name files relative to the work folder"
    for _, text, at in _told(task):
        if found := _HOST_PATH.search(text):
            yield Broken(found.group(), fix, at)
    for name, text in sorted(folder.transcripts.items()):
        if found := _HOST_PATH.search(text):
            line = text.count("\n", 0, found.start()) + 1
            yield Broken(found.group(), fix, file=str(folder.folder / name), line=line)


@rule("deliverable-unnamed", "The instruction names every deliverable.")
def _deliverable_unnamed(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    for index, stage in enumerate(task.stages):
        for item in stage.deliverables:
            if item.path not in stage.instruction:
                at = (*stage_at(task, index), "deliverables", item.path)
                yield Broken(f"{item.path} does not stand in the instruction", "name the file in the instruction", at)


@rule(
    "input-unnamed",
    "Every input, and every file that was handed over, is named in the instruction or a hint, or opened by the set-up.",
    Severity.WARNING,
)
def _input_unnamed(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    fix = "name it in the instruction or leave it out"
    for index, stage in enumerate(task.stages):
        named = "\n".join((stage.instruction, *stage.hints, *_set_up(stage)))
        places = [(item.path, (*stage_at(task, index), "inputs", item.path)) for item in stage.inputs]
        if index:
            taken = task.stages[index - 1].hands_over
            places += [(item.as_path, (*stage_at(task, index - 1), "hands_over", item.path)) for item in taken]
        for path, at in places:
            if path not in named:
                yield Broken(f"{path} is named nowhere", fix, at)


def _set_up(stage: Stage) -> Iterator[str]:
    for step in stage.setup:
        if isinstance(step, Launch):
            yield from step.arguments
