"""Kinds of failure, rule by rule and in their order."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.evaluation.failure_classes import PlayedStage, classify
from tasks_lib.records import (
    ActionRecord,
    BlobRef,
    CriterionRecord,
    Decision,
    Ending,
    Evidence,
    FailureClass,
    Observation,
    Outcome,
    Step,
    Verdict,
)

WHEN = datetime(2026, 3, 14, tzinfo=UTC)
CLICK = ("mouse.move_abs", "mouse.single_click")
TYPE = ("keyboard.write",)
SCRIPT = ("python",)


def seen(screen):
    if screen is None:
        return Observation()
    digest = hashlib.sha256(str(screen).encode()).hexdigest()
    return Observation(screenshot=BlobRef(sha256=digest, size=1, media_type="image/png"), width=1440, height=900)


def steps_of(*rows):
    """Steps; a row is the screen before it and what was done, with changes of the step after that."""
    found = []
    for number, (screen, kinds, *more) in enumerate(rows, start=1):
        changes = more[0] if more else {}
        ok = changes.pop("ok", True) if "ok" in changes else True
        fields = {
            "index": number,
            "started": WHEN,
            "observation": seen(screen),
            "reply": f"reply {number}",
            "decision": Decision.CONTINUE,
            "actions": tuple(ActionRecord(text=kind, kind=kind, ok=ok) for kind in kinds),
        }
        found.append(Step(**(fields | changes)))
    return found


def played(steps, ending=Ending.DONE, *, final=None, missing=(), stage="main"):
    evidence = Evidence(
        stage=stage, ending=ending, steps=len(steps), missing=missing, final=seen(final), collected=WHEN
    )
    return PlayedStage(stage, steps, evidence)


def failed(*stages, passed=()):
    criteria = [
        CriterionRecord(id=f"of-{stage}", stage=stage, points=1, passed=stage in passed, why="as it is")
        for stage in (stages or ("main",))
    ]
    earned = sum(record.passed for record in criteria)
    outcome = Outcome.PASS if earned == len(criteria) else Outcome.FAIL
    return Verdict(
        task_id="t", task_digest="ab" * 32, outcome=outcome, points=len(criteria), earned=earned, criteria=criteria
    )


def kind_of(*stages, verdict=None):
    found = classify(verdict or failed(), stages)
    return None if found is None else found.kind


WORK = [(n, TYPE) for n in range(6)]


@pytest.mark.parametrize(
    ("stage", "kind"),
    [
        # Replies that had been given before on the same screens.
        (played(steps_of(*WORK, *[("s", CLICK, {"repeats": n}) for n in range(4)])), FailureClass.REPETITION),
        (played(steps_of(*WORK), Ending.REPETITION), FailureClass.REPETITION),
        # Two of ten are no circle.
        (
            played(steps_of(*WORK, *[(f"s{n}", TYPE, {"repeats": n % 2}) for n in range(4)])),
            FailureClass.DOMAIN_KNOWLEDGE,
        ),
        # Three of four clicks changed nothing.
        (
            played(steps_of(("a", CLICK), ("a", CLICK), ("a", CLICK), ("a", CLICK), ("b", TYPE))),
            FailureClass.GROUNDING,
        ),
        # A caret or a clock does not make it a change.
        (
            played(steps_of(*[(n, CLICK, {"unchanged": True}) for n in range(5)]), Ending.STEPS),
            FailureClass.GROUNDING,
        ),
        # Places outside of the picture.
        (
            played(
                steps_of(*[(n, (), {"wasted": True, "feedback": "(9, 9) is outside the picture"}) for n in range(4)])
            ),
            FailureClass.GROUNDING,
        ),
        # One of four is none: the agent saw where to click.
        (
            played(steps_of(("a", CLICK), ("a", CLICK), ("b", CLICK), ("c", CLICK), ("d", CLICK))),
            FailureClass.DOMAIN_KNOWLEDGE,
        ),
        # The last replies came to nothing until the budget ended, or the agent gave up.
        (
            played(steps_of(*WORK, *[("s", (), {"decision": Decision.WAIT})] * 4), Ending.STEPS, final="s"),
            FailureClass.DEADLOCK,
        ),
        (
            played(steps_of(*WORK, *[("s", (), {"wasted": True})] * 3), Ending.GAVE_UP),
            FailureClass.DEADLOCK,
        ),
        (
            played(steps_of((None, SCRIPT), *[(None, SCRIPT, {"ok": False}) for _ in range(5)]), Ending.STEPS),
            FailureClass.DEADLOCK,
        ),
        (played(steps_of(*WORK), Ending.GAVE_UP), FailureClass.PREMATURE_TERMINATION),
        (played(steps_of(*WORK), missing=("out.txt",)), FailureClass.PREMATURE_TERMINATION),
        (played(steps_of(("a", (), {"decision": Decision.DONE}))), FailureClass.PREMATURE_TERMINATION),
        (played([]), FailureClass.PREMATURE_TERMINATION),
        (played(steps_of(*WORK), Ending.STEPS, final="z"), FailureClass.OUT_OF_BUDGET),
        (played(steps_of(*WORK), Ending.SECONDS, final="z"), FailureClass.OUT_OF_BUDGET),
        (played(steps_of(*WORK)), FailureClass.DOMAIN_KNOWLEDGE),
        (played(steps_of((None, SCRIPT), (None, SCRIPT))), FailureClass.DOMAIN_KNOWLEDGE),
    ],
)
def test_each_rule(stage, kind):
    assert kind_of(stage) is kind


def test_a_circle_of_missed_clicks_is_a_repetition():
    rows = [("a", CLICK, {"repeats": n}) for n in range(6)]
    assert kind_of(played(steps_of(*rows), Ending.STEPS, final="a")) is FailureClass.REPETITION
    # Without the detector, the very same reply twice running on the same screen counts.
    same = [("a", CLICK, {"reply": "the same"}) for _ in range(6)]
    assert kind_of(played(steps_of(*same), Ending.STEPS, final="a")) is FailureClass.REPETITION


def test_clicks_with_something_typed_are_judged_by_what_was_typed():
    rows = [("a", (*CLICK, *TYPE))] * 5
    assert kind_of(played(steps_of(*rows))) is FailureClass.DOMAIN_KNOWLEDGE


def test_the_first_stage_that_failed_decides():
    good, bad = played(steps_of(*WORK), stage="one"), played(steps_of(*WORK), Ending.GAVE_UP, stage="two")
    found = classify(failed("one", "two", passed=("one",)), [good, bad])
    assert (found.kind, found.stage) == (FailureClass.PREMATURE_TERMINATION, "two")
    assert classify(failed("one", "two"), [good, bad]).stage == "one"


def test_what_passed_or_left_nothing_has_no_class():
    assert classify(failed(passed=("main",)), [played(steps_of(*WORK))]) is None
    assert classify(failed(), []) is None
    assert classify(failed(), [PlayedStage("main", [], None)]) is None


def test_the_counts_are_told():
    rows = [("a", CLICK)] * 4 + [("b", TYPE)]
    assert classify(failed(), [played(steps_of(*rows))]).why == (
        "3 of 4 replies that clicked changed nothing on the screen"
    )
    assert "without out.txt" in classify(failed(), [played(steps_of(*WORK), missing=("out.txt",))]).why


ROWS = st.tuples(
    st.sampled_from(["a", "b", "c", None]),
    st.sampled_from([CLICK, TYPE, SCRIPT, ()]),
    st.fixed_dictionaries(
        {},
        optional={
            "wasted": st.booleans(),
            "repeats": st.integers(0, 5),
            "unchanged": st.sampled_from([True, False, None]),
            "decision": st.sampled_from(list(Decision)),
        },
    ),
)


@given(st.lists(ROWS, max_size=12), st.sampled_from(list(Ending)), st.booleans())
def test_every_failure_has_one_class_and_always_the_same(rows, ending, missing):
    stage = played(steps_of(*rows), ending, final="a", missing=("out.txt",) if missing else ())
    first = classify(failed(), [stage])
    assert first is not None
    assert first.why
    # As it is read back from the store.
    again = [Step.from_json(step.to_line().encode()) for step in stage.steps]
    assert classify(failed(), [PlayedStage("main", again, stage.evidence)]) == first
