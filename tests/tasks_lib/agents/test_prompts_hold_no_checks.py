"""Every prompt of every task that ships, in every variant, searched for what judges the task."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

import pytest

from tasks_lib.agents import AgentSettings, Brief, Turn, View, state_prompt, system_prompt, task_prompt
from tasks_lib.agents._wording import VARIANTS
from tasks_lib.agents.tool_replies import Toolbox
from tasks_lib.records import Modality, Observation
from tasks_lib.taskdefs import LoadedTask, find_root, load_all
from tasks_lib.taskdefs.rules.values import wanted

SCREEN = (1440, 900)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
CHOICES = {
    name: get_args(AgentSettings.model_fields[name].annotation)
    for name in ("replies", "marks", "prompt", "help", "conversation")
}
# The two ways to keep a conversation change what is sent again, not what is said.
SETTINGS = [
    AgentSettings(**dict(zip(CHOICES, values, strict=True)))
    for values in itertools.product(*CHOICES.values())
    if values[-1] == "fresh"
]


def numbers(text: str) -> frozenset[float]:
    return frozenset(float(number) for number in NUMBER.findall(text.replace("−", "-")))


def tells(number: float) -> bool:
    """Whether a number says anything: 412, 1000 and 0.5 stand anywhere."""
    digits = re.sub(r"e.*|\D", "", f"{abs(number):.12g}").strip("0")
    return len(digits) >= (4 if number.is_integer() else 2)


def prompts_of(brief: Brief, memo: dict[object, str]) -> str:
    """Return all that a model can be sent of a stage, each part once."""
    view = View(brief=brief, step=2, steps_left=9, seconds_left=100.0, observation=Observation(width=1440, height=900))
    parts: dict[str, None] = {}
    for settings in SETTINGS:
        for shown in (SCREEN, None):
            # Only the name of the figure comes from the task.
            key = (settings, shown, brief.modality, brief.figure_name)
            if key not in memo:
                tools = Toolbox.of(brief.modality, marks=settings.marks != "none").specs()
                told = json.dumps([(tool.name, tool.description, dict(tool.parameters)) for tool in tools])
                memo[key] = system_prompt(view, shown, settings) + (told if settings.replies == "tools" else "")
            parts[memo[key]] = None
        parts[task_prompt(brief, settings)] = None
    for shown in (SCREEN, None):
        parts[state_prompt(view, shown)] = None
    return "\n".join(parts)


def told_by_the_author(brief: Brief) -> str:
    return "\n".join(
        [brief.instruction, *brief.hints, *brief.inputs, *itertools.chain(*brief.deliverables), *brief.endpoints]
    )


def secrets_of(loaded: LoadedTask) -> Iterator[tuple[str, str | float, bool]]:
    """Yield what no prompt may hold: what it is, itself, and whether its author may tell it by chance or on purpose."""
    task = loaded.task
    for criterion in task.criteria:
        yield "why", criterion.why, False
        if "-" in criterion.id:
            yield "id", criterion.id, False
        for value, _ in wanted(criterion.compares.want):
            # What the instruction gives on purpose is a setting; `answer-leaked` of lint looks at the others.
            if not criterion.given:
                yield "wanted value", value, False
    for path, data in loaded.gold().items():
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            continue
        try:
            found = [value for value, _ in wanted(json.loads(text))]
        except ValueError:
            found = [float(number) for number in NUMBER.findall(text)]
        for value in found:
            yield f"value of gold/{path}", value, True
    for miss in task.near_misses:
        yield "near miss", miss.what, False
        if "-" in miss.id:
            yield "near miss", miss.id, False
        for old, new in miss.replace.items():
            yield "text of the oracle", old, True
            yield "text of a near miss", new, True


def leaks(loaded: LoadedTask, prompt: str, told: str) -> list[str]:
    """Return what judges a task and stands in a prompt."""
    in_prompt, in_told = numbers(prompt), numbers(told)
    folded, folded_told = prompt.casefold(), told.casefold()
    found = []
    for what, value, may_be_told in dict.fromkeys(secrets_of(loaded)):
        if isinstance(value, str):
            word = value.strip().casefold()
            hit = len(word) >= 6 and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", folded) is not None
            hit = hit and not (may_be_told and word in folded_told)
        else:
            number = float(value)
            hit = number in in_prompt and tells(number) and not (may_be_told and number in in_told)
        if hit:
            found.append(f"{loaded.id}: {what} {value!r}")
    return found


@pytest.fixture(scope="module")
def tasks():
    return load_all(find_root()).tasks


def test_the_settings_that_change_words_are_all_tried():
    assert set(CHOICES["prompt"]) == set(VARIANTS)
    other = {"history", "previous_screenshot", "context_tokens", "steps", "stop_repetition"}
    assert set(AgentSettings.model_fields) == {*CHOICES, *other}
    assert len(SETTINGS) == 2 * 3 * 3 * 3


def test_no_prompt_of_any_task_holds_what_judges_it(tasks):
    assert len(tasks) >= 124
    memo: dict[object, str] = {}
    found: list[str] = []
    searched = 0
    for loaded in tasks:
        for stage in loaded.task.stages:
            brief = Brief.of(stage)
            prompt = prompts_of(brief, memo)
            assert brief.instruction in prompt
            found += leaks(loaded, prompt, told_by_the_author(brief))
            searched += 1
    assert found == []
    assert searched >= len(tasks)


def test_the_search_finds_each_kind_of_secret_that_is_put_into_a_prompt(tasks):
    """The proof above is worth as much as its search."""
    kinds: set[str] = set()
    for loaded in tasks[::9]:
        for stage in loaded.task.stages:
            brief = Brief.of(stage)
            told = told_by_the_author(brief)
            for what, value, may_be_told in secrets_of(loaded):
                kind = "gold" if "gold" in what else what
                short = isinstance(value, str) and len(value.strip()) < 6
                common = not isinstance(value, str) and not tells(float(value))
                if (
                    kind in kinds
                    or short
                    or common
                    or (may_be_told and str(value).strip().casefold() in told.casefold())
                ):
                    continue
                text = task_prompt(replace(brief, hints=(*brief.hints, f"It is {value} .")))
                assert any(repr(value) in leak for leak in leaks(loaded, text, told)), (what, value)
                kinds.add(kind)
    assert kinds == {"why", "id", "wanted value", "gold", "near miss", "text of the oracle", "text of a near miss"}


@pytest.mark.parametrize("settings", [AgentSettings(), AgentSettings(help="template+hints", replies="tools")])
def test_what_is_said_besides_the_authors_words_is_the_same_for_every_task(tasks, settings):
    frames: dict[tuple[Modality, str], set[str]] = {}
    for loaded in tasks:
        for stage in loaded.task.stages:
            brief = Brief.of(stage)
            view = View(brief=brief, step=1, steps_left=9, seconds_left=100.0, history=(Turn(1, "block", "came"),))
            frame = system_prompt(view, SCREEN, settings) + state_prompt(view, SCREEN, settings, history=view.history)
            frames.setdefault((brief.modality, brief.figure_name), set()).add(frame)
    assert {modality for modality, _ in frames} == {Modality.GUI, Modality.CODE, Modality.FIGURE}
    assert all(len(found) == 1 for found in frames.values())
