"""What the attempts at an episode left in the store; the newest one that has a document counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from tasks_lib.records import Evidence, Phase, Stage, Verdict, VoidReason, VoidRecord, now
from tasks_lib.records.errors import BrokenDocumentError
from tasks_lib.store import MAIN, AttemptFolder, EpisodeFolder, Store


def newest_first(episode: EpisodeFolder) -> list[AttemptFolder]:
    """Return the attempts that were opened, newest first: the order that the functions below want."""
    return [episode.attempt(number) for number in reversed(episode.attempts())]


def stages_in(store: Store, attempt: AttemptFolder) -> list[str]:
    """Return the ids of the stages that an attempt may hold documents of, without asking its task."""
    return [MAIN, *store.children(f"{attempt.path}/stages")]


def find_verdict(store: Store, attempts: Iterable[AttemptFolder]) -> tuple[AttemptFolder, Verdict] | None:
    """Return the verdict of any attempt, and which attempt holds it."""
    place = next((attempt for attempt in attempts if store.exists(attempt.verdict)), None)
    return None if place is None else (place, store.read_document(place.verdict, Verdict))


def find_outcome(
    store: Store, attempts: Sequence[AttemptFolder]
) -> tuple[AttemptFolder | None, Verdict | VoidRecord | None]:
    """Return what became of an episode, and which attempt says so.

    A verdict or a ``void.json`` that cannot be read (damaged by hand or by a full disk) makes this episode
    VOID(store) and touches no other.
    """
    newest = attempts[0] if attempts else None
    try:
        if (found := find_verdict(store, attempts)) is not None:
            return found
        return newest, find_void(store, attempts)
    except BrokenDocumentError as error:
        message = f"{error}; where its evidence is whole, `matassay rescore` judges it again"
        return newest, VoidRecord(
            reason=VoidReason.STORE,
            phase=Phase.EVALUATE,
            exception=type(error).__name__,
            message=message,
            when=now(),
        )


def find_void(store: Store, attempts: Sequence[AttemptFolder]) -> VoidRecord | None:
    """Return why the newest attempt is VOID, if it is; what was VOID before it counts no more."""
    if not attempts or not store.exists(attempts[0].void):
        return None
    return store.read_document(attempts[0].void, VoidRecord)


def find_evidence(store: Store, attempts: Sequence[AttemptFolder], stages: Iterable[Stage]) -> dict[str, Evidence]:
    """Return the evidence of each stage that has some, by the stage's id, whichever attempt gathered it.

    Evidence that cannot be read is none: the stage has to be played again.
    """
    return find_evidence_of(store, attempts, (stage.id for stage in stages))


def find_evidence_of(store: Store, attempts: Sequence[AttemptFolder], stage_ids: Iterable[str]) -> dict[str, Evidence]:
    """Return the same by the stages' ids alone, for a task that cannot be read any more."""
    found: dict[str, Evidence] = {}
    for stage_id in stage_ids:
        paths = (attempt.stage(stage_id).evidence for attempt in attempts)
        path = next((path for path in paths if store.exists(path)), None)
        if path is not None:
            with suppress(BrokenDocumentError):
                found[stage_id] = store.read_document(path, Evidence)
    return found
