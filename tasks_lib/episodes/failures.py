"""The failure class of an episode, from what is in the store."""

from __future__ import annotations

from collections.abc import Sequence

from tasks_lib.episodes.stored import find_evidence_of
from tasks_lib.evaluation.failure_classes import PlayedStage, classify
from tasks_lib.records import Failure, Outcome, Step, Verdict
from tasks_lib.records.errors import BrokenDocumentError
from tasks_lib.store import AttemptFolder, Store


def failure_of(store: Store, attempts: Sequence[AttemptFolder], verdict: Verdict) -> Failure | None:
    """Return what kind of failure an episode was; None for a PASS, or where its trajectory cannot be read.

    Parameters
    ----------
    store : Store
        Holds the attempts.
    attempts : sequence of AttemptFolder
        Newest first.
    verdict : Verdict
        Of the episode; its criteria name the stages in the task's order.
    """
    if verdict.outcome is Outcome.PASS:
        return None
    stages = list(dict.fromkeys(record.stage for record in verdict.criteria))
    try:
        return classify(verdict, [_played(store, attempts, stage) for stage in stages])
    except BrokenDocumentError:
        return None


def _played(store: Store, attempts: Sequence[AttemptFolder], stage: str) -> PlayedStage:
    """Read the stage from the attempt whose evidence counts."""
    place = next((attempt for attempt in attempts if store.exists(attempt.stage(stage).evidence)), None)
    if place is None:
        return PlayedStage(stage, (), None)
    evidence = find_evidence_of(store, [place], [stage]).get(stage)
    path = place.stage(stage).trajectory
    return PlayedStage(stage, store.read_lines(path, Step) if store.exists(path) else (), evidence)
