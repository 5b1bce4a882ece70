"""Judging stored evidence again: no machine, the same course as the evaluate phase."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tasks_lib.episodes.grading import judged
from tasks_lib.episodes.stored import newest_first
from tasks_lib.episodes.work import load_work, missing, read_manifest
from tasks_lib.records import Verdict
from tasks_lib.records.errors import BrokenDocumentError, TaskError
from tasks_lib.store import Store


@dataclass(frozen=True)
class Rescored:
    """A verdict before and after; `changed` compares the whole documents, not the points alone.

    `kept` says why it was not judged again, where it was not.
    """

    episode_id: str
    before: str
    after: str
    changed: bool
    kept: str = ""


def rescore_run(store: Store, run_id: str, taskdefs: Path) -> list[Rescored]:
    """Judge every episode of a run that has a verdict again, and write the verdicts that changed.

    Episodes whose task is another one now, or whose evidence is damaged, keep their verdict and are told as unchanged,
    with the reason. A verdict that cannot be read is judged anew.

    Raises
    ------
    ConfigurationError
        If the store holds no such run.
    EvaluatorError
        If an evaluator breaks.
    """
    results = (_rescore(store, run_id, spec.id, taskdefs) for spec in read_manifest(store, run_id).episodes)
    return [result for result in results if result is not None]


def _rescore(store: Store, run_id: str, episode_id: str, taskdefs: Path) -> Rescored | None:
    try:
        work = load_work(store, run_id, episode_id, taskdefs)
    except TaskError as error:
        return _kept(episode_id, "not judged", str(error))
    there = missing(work)
    place = there.place or next((a for a in newest_first(work.folder) if store.exists(a.verdict)), None)
    if place is None:
        return None
    before = "unreadable" if there.verdict is None else _short(there.verdict)
    if any(
        stage.id not in there.evidence and store.exists(place.stage(stage.id).evidence) for stage in work.task.stages
    ):
        return _kept(episode_id, before, f"evidence below {place.path} cannot be read: delete that folder and retry")
    try:
        verdict = judged(work, there.evidence)
    except BrokenDocumentError as error:
        return _kept(episode_id, before, str(error))
    changed = there.verdict is None or verdict.to_json() != there.verdict.to_json()
    if changed:
        store.write_document(place.verdict, verdict)
    return Rescored(episode_id, before, _short(verdict), changed)


def _kept(episode_id: str, before: str, why: str) -> Rescored:
    return Rescored(episode_id, before, before, changed=False, kept=why)


def _short(verdict: Verdict) -> str:
    return f"{verdict.outcome} {verdict.earned}/{verdict.points}"
