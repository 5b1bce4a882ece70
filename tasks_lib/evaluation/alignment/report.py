"""What a scoring says: documents, from the single match up to the whole set."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tasks_lib.records import Document, Record
from tasks_lib.records.identifiers import Sha256


class Scores(Record):
    """The seven published numbers, of one trajectory or of many."""

    recall: float = Field(description="matched calls / calls of the reference")
    precision: float = Field(description="matched calls / calls of the prediction")
    argument_similarity: float = Field(description="sum of the matches' similarities / calls of the reference")
    strong_similarity: float = Field(description="the same over matches at or above tau_strong")
    step_coherence: float = Field(description="calls of one step that stayed in one step")
    order_consistency: float = Field(description="pairs of steps in the reference's order")
    merge_purity: float = Field(description="steps of the prediction that draw on one step of the reference")


class Used(Record):
    """Steps and calls that were spent."""

    steps: int = Field(ge=0)
    calls: int = Field(ge=0)


class MatchRecord(Record):
    """One pair of calls, to be checked by a person."""

    tool: str
    similarity: float
    strong: bool
    reference_call: int = Field(ge=0, description="index among the calls of the reference, from 0")
    reference_step: int = Field(ge=0)
    reference_arguments: str = Field(description="canonical JSON, cut where long")
    prediction_call: int = Field(ge=0)
    prediction_step: int = Field(ge=0)
    prediction_arguments: str


class UnmatchedCall(Record):
    """A call that no call of the other side stands for."""

    call: int = Field(ge=0)
    step: int = Field(ge=0)
    tool: str
    arguments: str


class TaskScore(Record):
    """One task's numbers and everything they came from."""

    id: str
    kind: str = Field(description="the reference's type")
    family: str
    scores: Scores
    matched: int = Field(ge=0)
    reference: Used
    prediction: Used
    over_budget: bool = Field(description="the prediction spent more steps or calls than the budget allows")
    matches: tuple[MatchRecord, ...] = ()
    unmatched_reference: tuple[UnmatchedCall, ...] = ()
    unmatched_prediction: tuple[UnmatchedCall, ...] = ()
    weights: tuple[tuple[float, ...], ...] = Field(
        default=(), description="sum of similarities, reference step x prediction step"
    )
    fragmentation: tuple[float, ...] = Field(default=(), description="1 - 1/k of each reference step hit in k steps")


class GroupScore(Record):
    """Many tasks' numbers: recall and precision over calls, the others weighted by the reference's calls."""

    name: str
    tasks: int = Field(ge=0)
    reference_calls: int = Field(ge=0)
    prediction_calls: int = Field(ge=0)
    matched: int = Field(ge=0)
    scores: Scores
    steps_per_task: float = Field(description="mean number of steps of a prediction")
    calls_per_task: float = Field(description="mean number of calls of a prediction")
    over_budget: int = Field(ge=0, description="predictions that spent more than the budget allows")


class Budget(Record):
    """Most steps and calls that a prediction may spend; None: no limit. What is beyond is told, not cut off."""

    steps: int | None = Field(default=None, ge=0)
    calls: int | None = Field(default=None, ge=0)

    def holds(self, used: Used) -> bool:
        """Say whether a prediction kept within the budget."""
        return (self.steps is None or used.steps <= self.steps) and (self.calls is None or used.calls <= self.calls)


class AlignmentReport(Document):
    """How well a file of predictions follows a file of references."""

    mode: Literal["compat"] = "compat"
    references: str
    predictions: str
    encoder: str
    encoder_digest: Sha256
    tau_strong: float
    tau_weak: float
    budget: Budget = Budget()
    total: GroupScore
    average: float | None = Field(description="mean of six numbers; None: no task was scored")
    by_kind: tuple[GroupScore, ...]
    by_family: tuple[GroupScore, ...]
    tasks: tuple[TaskScore, ...]
    without_prediction: tuple[str, ...] = Field(description="ids of the references that nothing was scored for")
    without_reference: tuple[str, ...] = Field(description="ids of predictions that are no reference's")
    oddities: tuple[str, ...] = ()
