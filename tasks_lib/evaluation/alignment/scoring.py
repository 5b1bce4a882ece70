"""Scores predictions against references in compat mode: the published numbers, with what they came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tasks_lib.evaluation.alignment.aggregation import aggregate, average_score, groups
from tasks_lib.evaluation.alignment.assignment import Match, assign
from tasks_lib.evaluation.alignment.embedding import Embedding, embed
from tasks_lib.evaluation.alignment.embedding_cache import EmbeddingCache
from tasks_lib.evaluation.alignment.encoders import Encoder
from tasks_lib.evaluation.alignment.files import TrajectoryFile
from tasks_lib.evaluation.alignment.metrics import Measures, measure
from tasks_lib.evaluation.alignment.report import (
    AlignmentReport,
    Budget,
    MatchRecord,
    Scores,
    TaskScore,
    UnmatchedCall,
    Used,
)
from tasks_lib.evaluation.alignment.similarity import cosines
from tasks_lib.evaluation.alignment.trajectories import Call, Trajectory
from tasks_lib.records import Record

TAU_STRONG = 0.8
TAU_WEAK = 0.6
# Of a call's arguments in the list of matches; the files have them whole.
_SHOWN = 400


class Rules(Record):
    """What decides in compat mode, beside the encoder."""

    tau_strong: float = Field(default=TAU_STRONG, ge=0, le=1)
    tau_weak: float = Field(default=TAU_WEAK, ge=0, le=1)
    budget: Budget = Budget()


PUBLISHED = Rules()


def score_files(
    references: TrajectoryFile,
    predictions: Sequence[TrajectoryFile],
    encoder: Encoder,
    *,
    cache: EmbeddingCache | None = None,
    rules: Rules = PUBLISHED,
) -> tuple[AlignmentReport, ...]:
    """Score files of predictions against one file of references.

    Only tasks that are in both files are scored, as published; the others are named in the report. The texts of all
    files are embedded together, and of calls alone whose tool the other side of the task calls too.

    Parameters
    ----------
    references : TrajectoryFile
        From `read_trajectories`.
    predictions : sequence of TrajectoryFile
        One or several, say one a model.
    encoder : Encoder
        Embeds the arguments.
    cache : EmbeddingCache, optional
        Where vectors are kept.
    rules : Rules, optional
        Thresholds and the budget.

    Returns
    -------
    tuple of AlignmentReport
        One a file of predictions. The same bytes whatever the batches, the threads and the cache.
    """
    pairs = [_pairs(references, file) for file in predictions]
    embedding = embed((call.text for file in pairs for pair in file for call in _comparable(*pair)), encoder, cache)
    return tuple(
        _report(references, file, [score_task(*pair, embedding, rules) for pair in found], encoder, rules)
        for file, found in zip(predictions, pairs, strict=True)
    )


def score_task(
    reference: Trajectory, prediction: Trajectory, embedding: Embedding, rules: Rules = PUBLISHED
) -> TaskScore:
    """Score one prediction; `embedding` holds the arguments of calls whose tool both sides call."""
    matches = _match(reference, prediction, embedding, rules.tau_weak)
    shape = (len(reference.steps), len(prediction.steps))
    measures = measure(reference.step_of, prediction.step_of, matches, rules.tau_strong, shape)
    spent = Used(steps=len(prediction.steps), calls=len(prediction.calls))
    return TaskScore(
        id=reference.id,
        kind=reference.kind,
        family=reference.family,
        scores=_scores(measures),
        matched=len(matches),
        reference=Used(steps=len(reference.steps), calls=len(reference.calls)),
        prediction=spent,
        over_budget=not rules.budget.holds(spent),
        matches=tuple(_record(match, reference, prediction, rules.tau_strong) for match in matches),
        unmatched_reference=_unmatched(reference, {match.reference for match in matches}),
        unmatched_prediction=_unmatched(prediction, {match.prediction for match in matches}),
        weights=tuple(tuple(row) for row in measures.weights.tolist()),
        fragmentation=measures.fragmentation,
    )


def _match(reference: Trajectory, prediction: Trajectory, embedding: Embedding, weak: float) -> tuple[Match, ...]:
    def similar(rows: Sequence[int], columns: Sequence[int]) -> NDArray[np.float64]:
        return cosines(
            embedding.rows(reference.calls[index].text for index in rows),
            embedding.rows(prediction.calls[index].text for index in columns),
        )

    return assign([call.tool for call in reference.calls], [call.tool for call in prediction.calls], similar, weak)


def _pairs(references: TrajectoryFile, predictions: TrajectoryFile) -> list[tuple[Trajectory, Trajectory]]:
    known = predictions.trajectories
    return [(reference, known[key]) for key, reference in sorted(references.trajectories.items()) if key in known]


def _comparable(reference: Trajectory, prediction: Trajectory) -> Iterable[Call]:
    both = {call.tool for call in reference.calls} & {call.tool for call in prediction.calls}
    return (call for call in (*reference.calls, *prediction.calls) if call.tool in both)


def _report(
    references: TrajectoryFile, predictions: TrajectoryFile, tasks: list[TaskScore], encoder: Encoder, rules: Rules
) -> AlignmentReport:
    total = aggregate("all", tasks)
    return AlignmentReport(
        references=references.name,
        predictions=predictions.name,
        encoder=encoder.name,
        encoder_digest=encoder.digest,
        tau_strong=rules.tau_strong,
        tau_weak=rules.tau_weak,
        budget=rules.budget,
        total=total,
        average=average_score(total.scores) if tasks else None,
        by_kind=groups(tasks, lambda task: task.kind),
        by_family=groups(tasks, lambda task: task.family),
        tasks=tuple(tasks),
        without_prediction=tuple(sorted(references.trajectories.keys() - predictions.trajectories.keys())),
        without_reference=tuple(sorted(predictions.trajectories.keys() - references.trajectories.keys())),
        oddities=tuple(f"{file.name}: {oddity}" for file in (references, predictions) for oddity in file.oddities),
    )


def _scores(measures: Measures) -> Scores:
    return Scores(**{name: getattr(measures, name) for name in Scores.model_fields})


def _record(match: Match, reference: Trajectory, prediction: Trajectory, strong: float) -> MatchRecord:
    ours, theirs = reference.calls[match.reference], prediction.calls[match.prediction]
    return MatchRecord(
        tool=ours.tool,
        similarity=match.similarity,
        strong=match.similarity >= strong,
        reference_call=match.reference,
        reference_step=reference.step_of[match.reference],
        reference_arguments=_shown(ours.text),
        prediction_call=match.prediction,
        prediction_step=prediction.step_of[match.prediction],
        prediction_arguments=_shown(theirs.text),
    )


def _unmatched(trajectory: Trajectory, matched: set[int]) -> tuple[UnmatchedCall, ...]:
    return tuple(
        UnmatchedCall(call=index, step=trajectory.step_of[index], tool=call.tool, arguments=_shown(call.text))
        for index, call in enumerate(trajectory.calls)
        if index not in matched
    )


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
