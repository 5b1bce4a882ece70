from __future__ import annotations

import contextlib
import dataclasses

import pytest

from tasks_lib.agents import CALLS, Brief, ScriptedLlmAgent, TranscriptAgent, Turn, View, system_prompt, user_prompt
from tasks_lib.agents.prompts import LONGEST_BLOCK
from tasks_lib.records import (
    Criterion,
    Deliverable,
    Difficulty,
    Ending,
    GetterCall,
    InputFile,
    MetricCall,
    Modality,
    NearMiss,
    Observation,
    Task,
    WindowState,
)

BRIEF = Brief(
    Modality.GUI,
    "Fit the C 1s peak.",
    hints=("The fit dialog is below Fit.",),
    inputs=("c1s.xy",),
    deliverables=(("c1s.peaks", "peak table"),),
    endpoints=("materials-project",),
)


def view(brief=BRIEF, **changes):
    return View(brief=brief, step=2, steps_left=4, seconds_left=99.6, **changes)


def test_the_task_comes_first_and_hints_can_be_denied():
    told, denied = user_prompt(view()), user_prompt(view(), hints=False)
    assert told.startswith("# Task\nFit the C 1s peak.")
    for text in ("c1s.xy", "c1s.peaks: peak table", "materials-project", "step 2, left: 4 replies, 100 s"):
        assert text in told
        assert text in denied
    assert "below Fit" in told
    assert "below Fit" not in denied


def test_a_database_is_told_by_the_names_of_its_variables():
    brief = Brief(Modality.CODE, "Count it.", deliverables=(("a.json", "n"),), endpoints=("mp", "oqmd"))
    text = user_prompt(view(brief), hints=False)
    assert "- Materials Project API: its address is in the scripts' environment, MP_API_ENDPOINT, MP_API_KEY" in text
    assert "- OQMD REST API: its address is in the scripts' environment, oqmd_url" in text


def test_what_is_missing_is_not_spoken_of():
    bare = user_prompt(view(Brief(Modality.CODE, "Compute it.", deliverables=(("a.json", "number"),))))
    for heading in ("# Hints", "# Files at", "# Services", "# Screen", "# Your", "# What came", "# Notice", "# Figure"):
        assert heading not in bare


def test_the_state_of_things_is_told():
    windows = (
        WindowState(id=7, title="Fityk", x=0, y=0, width=9, height=9, focused=True),
        WindowState(id=8, title="Open", x=0, y=0, width=9, height=9),
    )
    text = user_prompt(
        view(
            screenshot=b"png",
            figure=b"png",
            observation=Observation(width=1440, height=900, windows=windows, clipboard="y" * 600),
            unchanged=True,
            feedback="line 1: bad",
            memory="baseline is set",
            tokens_left=500,
            history=(Turn(1, "x" * 3000, "came"),),
        )
    )
    for part in (
        "window in front: Fityk",
        "- Open (id 8)",
        "clipboard: " + "y" * 500 + " [… 100 characters more]",
        "exactly as before",
        "line 1: bad",
        "baseline is set",
        "500 tokens",
        "x" * LONGEST_BLOCK + " [… 1000 characters more]",
        "as Veusz rendered it",
    ):
        assert part in text


@pytest.mark.parametrize("modality", [Modality.GUI, Modality.CODE, Modality.FIGURE])
def test_the_system_prompt_tells_the_interface_of_its_modality(modality):
    text = system_prompt(view(dataclasses.replace(BRIEF, modality=modality)), (1456, 816))
    for word in ("DONE", "FAIL", "WAIT", "```decision", "```memory"):
        assert word in text
    operates = modality is not Modality.CODE
    marks = {"mouse.move_id", "clipboard.copy_image"}
    assert all((f"computer.{kind}(" in text) is (operates and kind not in marks) for kind in CALLS)
    assert ("1456 x 816" in text) is operates
    assert ("```veusz" in text) is (modality is Modality.FIGURE)


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (["c1s.vsz", "c1s.pdf"], "c1s"),
        (["table.csv", "fig-1.PDF"], "fig-1"),
        (["out/fig.pdf"], "figure"),
        (["strange name.pdf"], "figure"),
        (["-rf.pdf"], "figure"),
        ([], "figure"),
    ],
)
def test_a_figure_is_named_after_the_deliverable(paths, name):
    assert Brief(Modality.FIGURE, "x", deliverables=tuple((path, "a figure") for path in paths)).figure_name == name


CANARIES = {
    name: f"canary-{name}" for name in ("id", "getter", "metric", "want", "gold", "why", "miss", "source", "title")
}


def secretive_task(stage):
    """A task whose every part that an agent must not see holds a canary."""
    return Task(
        id=CANARIES["id"],
        title=CANARIES["title"],
        suite="canary-suite",
        domain="canary-domain",
        modality=Modality.CODE,
        difficulty=Difficulty.EASY,
        stages=(stage,),
        criteria=(
            Criterion(
                id="canary-criterion",
                points=1,
                reads=GetterCall(getter=CANARIES["getter"], path="out.txt"),
                compares=MetricCall(metric=CANARIES["metric"], want=CANARIES["want"], gold=CANARIES["gold"]),
                why=CANARIES["why"],
            ),
        ),
        near_misses=(
            NearMiss(id="canary-near", what=CANARIES["miss"], replace={"a": "b"}, fails=("canary-criterion",)),
        ),
    )


def test_nothing_of_criteria_or_gold_reaches_an_agent_or_a_prompt(code_machine, played, stage):
    source = InputFile(path="in.txt", source=CANARIES["source"], sha256="0" * 64)
    task = secretive_task(stage(inputs=(source,), hints=("a hint",)))
    views = []

    class Looks(TranscriptAgent):
        def reply(self, view):
            views.append(view)
            return super().reply(view)

    played.play(Looks("oracle"), code_machine.computer, task.stage("main"))
    assert "canary" not in repr(views)
    assert "in.txt" in repr(views)
    agent = ScriptedLlmAgent(["```python\nprint(1)\n```", "hm", "```decision\nDONE\n```"])
    with contextlib.closing(agent):
        played.play(agent, code_machine.computer, task.stage("main"))
    assert played.ending is Ending.DONE
    sent = str(list(agent.session.requests))
    assert "canary" not in sent
    assert "a hint" in sent


def test_a_request_does_not_grow_with_the_steps(code_machine, played, stage):
    agent = ScriptedLlmAgent(["```python\nprint('x' * 2000)\n```"] * 12)
    with contextlib.closing(agent):
        played.play(agent, code_machine.computer, stage(deliverables=(Deliverable(path="a", what="b"),)), steps=12)
    sizes = [len(str(request)) for request in agent.session.requests]
    assert max(sizes[4:]) - min(sizes[4:]) < 20
