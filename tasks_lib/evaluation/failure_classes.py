"""What kind of failure a FAIL was, from its trajectory and its verdict alone.

The rules are simple counts, so that the same documents always give the same class and a reader can check it by hand;
they stand in ``docs/failure-classes.md``. A class is a description for tables, no part of a score.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from tasks_lib.records import Decision, Ending, Evidence, Failure, FailureClass, Outcome, Step, Verdict

# Circles: at least so many replies that were given before, and this share of all.
CIRCLES, CIRCLE_SHARE = 3, 0.25
# Missed: at least so many replies with a click that changed nothing, and this share of the replies with a click.
MISSES, MISS_SHARE = 3, 0.5
# Standing still: this share of the last third of the replies, which has at least so many.
TAIL, TAIL_SHARE = 3, 0.6

_CLICKS = frozenset({"mouse.single_click", "mouse.double_click", "mouse.right_click", "mouse.drag"})
_TYPED = ("keyboard.", "clipboard.paste")
_OWN_ENDINGS = frozenset({Ending.DONE, Ending.GAVE_UP})


@dataclass(frozen=True, slots=True)
class PlayedStage:
    """What a stage left: its steps, and its evidence where it came to that."""

    stage: str
    steps: Sequence[Step]
    evidence: Evidence | None


def classify(verdict: Verdict, stages: Sequence[PlayedStage]) -> Failure | None:
    """Return the class of a failed episode; None for one that passed, or of which nothing is stored.

    The first rule that holds decides: repetition, grounding, deadlock, premature termination, out of budget, domain
    knowledge.

    Parameters
    ----------
    verdict : Verdict
        Says which stage failed first.
    stages : sequence of PlayedStage
        In the task's order.
    """
    if verdict.outcome is Outcome.PASS:
        return None
    failed = {record.stage for record in verdict.criteria if not record.passed}
    played = next((one for one in stages if one.stage in failed and one.evidence is not None), None)
    if played is None or played.evidence is None:
        return None
    stood = _stood_still(played.steps, played.evidence)
    kind, why = (
        _repetition(played.steps, played.evidence.ending)
        or _grounding(played.steps, stood)
        or _deadlock(played.steps, stood, played.evidence.ending)
        or _premature(played.steps, played.evidence)
        or _budget(played.evidence.ending)
        or _knowledge(verdict, played.stage)
    )
    return Failure(kind=kind, stage=played.stage, why=why)


def _repetition(steps: Sequence[Step], ending: Ending) -> tuple[FailureClass, str] | None:
    again = _again(steps)
    if ending is Ending.REPETITION or (again >= CIRCLES and again >= CIRCLE_SHARE * len(steps)):
        return FailureClass.REPETITION, f"{again} of {len(steps)} replies had been given before on the same screens"
    return None


def _again(steps: Sequence[Step]) -> int:
    """Count replies that repeat earlier ones; where no detector was at work, only the very same reply twice running."""
    if any(step.repeats for step in steps):
        return sum(step.repeats > 0 for step in steps)
    return sum(
        bool(before.actions) and before.reply == after.reply and _screen(before) == _screen(after)
        for before, after in itertools.pairwise(steps)
    )


def _grounding(steps: Sequence[Step], stood: Sequence[bool]) -> tuple[FailureClass, str] | None:
    pointed = [number for number, step in enumerate(steps) if _only_points(step)]
    missed = sum(stood[number] for number in pointed)
    if missed >= MISSES and missed >= MISS_SHARE * len(pointed):
        return FailureClass.GROUNDING, f"{missed} of {len(pointed)} replies that clicked changed nothing on the screen"
    return None


def _only_points(step: Step) -> bool:
    """Whether a reply clicked and typed nothing, or tried to point where no screen is."""
    if step.wasted:
        return "is outside the picture" in step.feedback
    kinds = [action.kind for action in step.actions]
    if any(kind.startswith(_TYPED) for kind in kinds):
        return False
    return any(kind in _CLICKS for kind in kinds) or "no mark has the number" in step.feedback


def _deadlock(steps: Sequence[Step], stood: Sequence[bool], ending: Ending) -> tuple[FailureClass, str] | None:
    tail = stood[-max(TAIL, len(steps) // 3) :]
    if ending is Ending.DONE or len(tail) < TAIL or sum(tail) < TAIL_SHARE * len(tail):
        return None
    return FailureClass.DEADLOCK, f"{sum(tail)} of the last {len(tail)} replies came to nothing, then: {ending}"


def _premature(steps: Sequence[Step], evidence: Evidence) -> tuple[FailureClass, str] | None:
    if evidence.ending not in _OWN_ENDINGS:
        return None
    if evidence.ending is Ending.GAVE_UP:
        return FailureClass.PREMATURE_TERMINATION, f"it gave up in step {len(steps)}"
    if evidence.missing:
        missing = ", ".join(evidence.missing)
        return FailureClass.PREMATURE_TERMINATION, f"it said DONE in step {len(steps)} without {missing}"
    if not any(action.ok for step in steps for action in step.actions):
        return FailureClass.PREMATURE_TERMINATION, f"it said DONE in step {len(steps)} and had done nothing"
    return None


def _budget(ending: Ending) -> tuple[FailureClass, str] | None:
    if ending in _OWN_ENDINGS:
        return None
    return FailureClass.OUT_OF_BUDGET, f"it was still at work: {ending}"


def _knowledge(verdict: Verdict, stage: str) -> tuple[FailureClass, str]:
    wrong = [record.id for record in verdict.criteria if record.stage == stage and not record.passed]
    return FailureClass.DOMAIN_KNOWLEDGE, f"it did what it set out to do and left the wrong result: {', '.join(wrong)}"


def _stood_still(steps: Sequence[Step], evidence: Evidence) -> list[bool]:
    """Say of each reply whether it came to nothing: wasted, nothing of it worked, or the screen stayed as it was."""
    final = evidence.final.screenshot.sha256 if evidence.final.screenshot is not None else None
    found = []
    for number, step in enumerate(steps):
        last = number + 1 == len(steps)
        if step.wasted or (step.actions and not any(action.ok for action in step.actions)):
            found.append(True)
        elif _screen(step) is None:
            found.append(step.decision is Decision.WAIT)
        elif last:
            found.append(step.decision in {Decision.CONTINUE, Decision.WAIT} and _screen(step) == final)
        else:
            after = steps[number + 1]
            found.append(_screen(step) == _screen(after) if after.unchanged is None else after.unchanged)
    return found


def _screen(step: Step) -> str | None:
    return step.observation.screenshot.sha256 if step.observation.screenshot is not None else None
