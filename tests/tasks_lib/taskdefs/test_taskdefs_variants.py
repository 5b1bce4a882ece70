"""Replies and set-up steps of runs with hints and without."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.records import Keys, Launch, Modality, Stage
from tasks_lib.records.errors import TaskError
from tasks_lib.taskdefs import load_task
from tasks_lib.taskdefs.digests import task_digest
from tasks_lib.taskdefs.variants import replies_for, split_mark

DESKTOP = Path(__file__).parents[2] / "fixtures" / "taskdefs" / "good" / "open" / "desktop" / "two-peaks"


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ("<!-- only with hints -->\nOpen it.", (True, "Open it.")),
        ("<!--only  without hints-->  \n\nOpen it.", (False, "Open it.")),
        ("<!-- Only With Hints -->\nOpen it.", (True, "Open it.")),
        ("Open it.\n<!-- only with hints -->", (None, "Open it.\n<!-- only with hints -->")),
        ("<!-- a remark -->\nOpen it.", (None, "<!-- a remark -->\nOpen it.")),
        ("Open it.", (None, "Open it.")),
    ],
)
def test_a_mark_is_the_first_line_of_its_reply(reply, read):
    assert split_mark(reply) == read


@pytest.mark.parametrize(
    "reply", ["<!-- only hints -->\nx", "<!-- only with hints -->", "<!-- only without hints -->\n \n"]
)
def test_marks_that_say_nothing_are_refused(reply):
    with pytest.raises(TaskError, match="a reply "):
        split_mark(reply)


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "<!-- only with hints -->\n", "<!-- only without hints -->\n"]), st.integers())
    )
)
def test_every_reply_is_played_in_its_variants_and_in_order(drawn):
    replies = [f"{mark}reply {number}" for mark, number in drawn]
    played = {hints: replies_for(replies, hints=hints) for hints in (True, False)}
    for hints, other in ((True, "without"), (False, "with ")):
        assert list(played[hints]) == [f"reply {number}" for mark, number in drawn if f"only {other}" not in mark]


def test_a_stage_has_two_set_ups():
    steps = (
        Launch(launch="fityk", window="Fityk", arguments=("a.xy",), with_hints=True),
        Launch(launch="fityk", window="Fityk", with_hints=False),
        Keys(keys=("escape",)),
    )
    stage = Stage.model_construct(id="main", modality=Modality.GUI, instruction="", deliverables=(), setup=steps)
    assert stage.setup_for(hints=True) == (steps[0], steps[2])
    assert stage.setup_for(hints=False) == steps[1:]


def test_a_task_plays_its_replies_and_near_misses_by_variant_and_is_another_task(tmp_path):
    folder = Path(shutil.copytree(DESKTOP, tmp_path / "open" / "desktop" / "two-peaks"))
    before = load_task(folder)
    form, oracle = folder / "task.yaml", folder / "oracle.md"
    plain = "  - launch: fityk\n    window: fityk\n"
    assert plain in form.read_text(encoding="utf-8")
    both = "  - {launch: fityk, arguments: [c1s.xy], window: fityk, with_hints: true}\n"
    both += "  - {launch: fityk, window: fityk, with_hints: false}\n"
    form.write_text(form.read_text(encoding="utf-8").replace(plain, both), encoding="utf-8")
    opening = "<!-- only without hints -->\nI load C 1s.\n---\n"
    oracle.write_text(opening + oracle.read_text(encoding="utf-8"), encoding="utf-8")
    loaded = load_task(folder)
    assert loaded.transcript("oracle") == before.transcript("oracle")
    assert loaded.transcript("oracle", hints=False) == ("I load C 1s.", *before.transcript("oracle"))
    assert loaded.near_miss("other-title", hints=False)[0] == "I load O 1s."
    assert loaded.near_miss("other-title") == before.near_miss("other-title")
    assert loaded.digest != before.digest
    assert task_digest(before.task, {}) == before.digest
