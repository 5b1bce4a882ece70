"""The pure phases: what a stage hands over is checked and kept, and the whole is judged from evidence alone."""

from __future__ import annotations

from tasks_lib.episodes.work import EpisodeWork
from tasks_lib.evaluation import check_handoff, judge
from tasks_lib.records import Evidence, HandoffRecord, Stage, Verdict
from tasks_lib.store import AttemptFolder


def hand_over(work: EpisodeWork, stage: Stage, evidence: Evidence) -> tuple[HandoffRecord, ...]:
    """Check what a stage leaves for the next one and put it where the next stage finds it.

    A wrong artifact is handed over all the same: the next stage shows what comes of it, and the verdict tells the
    wrong hand-off from a wrong final result. One that is not there is recorded as missing.
    """
    stages = work.task.stages
    position = stages.index(stage)
    if position + 1 == len(stages):
        return ()
    checks = check_handoff(work.task, stage.id, work.loaded.gold(), evidence, work.store.get_blob)
    records = []
    for artifact in stage.hands_over:
        blob = evidence.file(artifact.path)
        record = HandoffRecord(
            episode_id=work.spec.id,
            stage=stage.id,
            to_stage=stages[position + 1].id,
            path=artifact.path,
            as_path=artifact.as_path,
            blob=blob,
            checks=tuple(checks),
        )
        if blob is not None:
            work.store.write_bytes(work.folder.handoff(stage.id, artifact.as_path), work.store.get_blob(blob))
        work.store.write_document(work.folder.handoff_check(stage.id, artifact.as_path), record)
        records.append(record)
    return tuple(records)


def nothing_to_take(records: tuple[HandoffRecord, ...]) -> bool:
    """Whether a stage left nothing at all of what the next one needs: the next stage cannot begin."""
    return bool(records) and all(record.blob is None for record in records)


def evaluate(work: EpisodeWork, attempt: AttemptFolder, evidence: dict[str, Evidence]) -> Verdict:
    """Judge the evidence and write ``verdict.json``; the same evidence gives the same bytes."""
    verdict = judged(work, evidence)
    work.store.write_document(attempt.verdict, verdict)
    return verdict


def judged(work: EpisodeWork, evidence: dict[str, Evidence]) -> Verdict:
    """Judge the evidence of all stages; nothing is written."""
    return judge(work.task, work.loaded.gold(), evidence, work.store.get_blob, task_digest=work.loaded.digest)
