"""Judging stored evidence again: no machine, the same course as the evaluate phase."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tasks_lib.episodes.grading import judged
from tasks_lib.episodes.work import load_work, missing, read_manifest
from tasks_lib.records import Verdict
from tasks_lib.records.errors import TaskError
from tasks_lib.store import Store


@dataclass(frozen=True)
class Rescored:
    """A verdict before and after; `changed` compares the whole documents, not the points alone."""

    episode_id: str
    before: str
    after: str
    changed: bool


def rescore_run(store: Store, run_id: str, taskdefs: Path) -> list[Rescored]:
    """Judge every episode of a run that has a verdict again, and write the verdicts that changed.

    Episodes whose task is another one now keep their verdict and are told as unchanged, with the reason.

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
        return Rescored(episode_id, "kept", str(error), changed=False)
    there = missing(work)
    if there.verdict is None or there.place is None:
        return None
    verdict = judged(work, there.evidence)
    changed = verdict.to_json() != there.verdict.to_json()
    if changed:
        store.write_document(there.place.verdict, verdict)
    return Rescored(episode_id, _short(there.verdict), _short(verdict), changed)


def _short(verdict: Verdict) -> str:
    return f"{verdict.outcome} {verdict.earned}/{verdict.points}"
