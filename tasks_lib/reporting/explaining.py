"""From the stored documents of one episode to its explanation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tasks_lib.models import Redactor
from tasks_lib.records import EpisodeSpec, Evidence, Failure, Outcome, Task, Verdict, VoidReason, VoidRecord
from tasks_lib.reporting._advice import ADVICE
from tasks_lib.reporting._evidence_files import EvidenceFiles
from tasks_lib.reporting._evidence_used import evidence_used
from tasks_lib.reporting._sink import FolderSink, Sink, StoreSink
from tasks_lib.reporting._text import Redact
from tasks_lib.reporting.explanation import EvidenceUsed, ExplainedCriterion, ExplainedVoid, Explanation
from tasks_lib.store import RunFolder, Store


def explain_outcome(
    store: Store,
    run_id: str,
    spec: EpisodeSpec,
    outcome: Verdict | VoidRecord | None,
    evidence: Mapping[str, Evidence],
    *,
    agent: str,
    attempt: int,
    task: Task | None,
    failure: Failure | None = None,
    notes: Sequence[str] = (),
    out: Path | None = None,
    redact: Redact | None = None,
) -> Explanation:
    """Explain an episode and write the crops of its evidence.

    Parameters
    ----------
    store : Store
        Holds the blobs.
    run_id, spec
        Which episode.
    outcome : Verdict or VoidRecord or None
        What became of it; None: it is not done yet.
    evidence : mapping of str to Evidence
        What was collected after each stage.
    agent : str
        Who played, as tables name it.
    attempt : int
        The attempt that counts.
    task : Task or None
        None where the task is another one than at the time of the run.
    failure : Failure, optional
        What kind of failure it was.
    notes : sequence of str
        What the reader should know besides.
    out : Path, optional
        A local folder; by default the run's own, in the store.
    redact : callable, optional
        Takes secrets out; by default those of this process's environment.

    Returns
    -------
    Explanation
        Its texts are as they were written: `explanation_lines` scrubs and redacts them.

    Raises
    ------
    StoreError
        If the crops cannot be written.
    """
    sink, folder = _sink(store, run_id, spec.id, out)
    files = EvidenceFiles(store, sink, redact or Redactor.from_environment())
    defined = {criterion.id: criterion for criterion in task.criteria} if task is not None else {}
    criteria: list[ExplainedCriterion] = []
    if isinstance(outcome, Verdict):
        for record in outcome.criteria:
            criterion = defined.get(record.id)
            criteria.append(
                ExplainedCriterion(
                    id=record.id,
                    stage=record.stage,
                    kind=record.kind,
                    passed=record.passed,
                    points=record.points,
                    earned=record.earned,
                    seen=record.seen,
                    wanted=record.wanted,
                    why=record.why,
                    purpose=criterion.why if criterion is not None else "",
                    evidence=evidence_used(record, criterion, evidence, files),
                )
            )
    shown: list[EvidenceUsed] = [used for one in criteria for used in one.evidence if used.shown]
    void = _void(store, run_id, spec.id, outcome) if isinstance(outcome, VoidRecord) else None
    verdict = outcome if isinstance(outcome, Verdict) else None
    ended = Outcome(verdict.outcome) if verdict else (Outcome.VOID if void else None)
    return Explanation(
        run=run_id,
        episode=spec.id,
        task=spec.task_id,
        title=task.title if task is not None else "",
        agent=agent,
        trial=spec.trial,
        attempt=attempt,
        outcome=ended,
        points=verdict.points if verdict else (task.points if task is not None else 0),
        earned=verdict.earned if verdict else 0,
        void=void,
        failure=failure,
        criteria=tuple(criteria),
        folder=folder if shown else None,
        notes=tuple(notes),
    )


def _void(store: Store, run_id: str, episode_id: str, void: VoidRecord) -> ExplainedVoid:
    command = f"matassay retry {run_id} {episode_id} --store {store.url}"
    if void.reason is VoidReason.CANCELLED:
        command = f"matassay run --resume {run_id} --store {store.url}"
    return ExplainedVoid(
        reason=void.reason,
        phase=void.phase,
        stage=void.stage,
        exception=void.exception,
        message=void.message,
        advice=ADVICE[void.reason],
        next=command,
    )


def _sink(store: Store, run_id: str, episode_id: str, out: Path | None) -> tuple[Sink, str]:
    if out is not None:
        return FolderSink(out), str(out)
    place = RunFolder(store, run_id).explained(episode_id)
    local = store.local_path(place)
    return (StoreSink(store, place), f"{store.url}/{place}") if local is None else (FolderSink(local), str(local))
