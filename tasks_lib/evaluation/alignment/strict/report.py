"""What strict mode says: documents, from the single argument up to the whole set."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tasks_lib.evaluation.alignment.report import Budget, UnmatchedCall, Used
from tasks_lib.evaluation.alignment.strict.comparison import ArgumentScore
from tasks_lib.evaluation.alignment.strict.order import Source
from tasks_lib.records import Document, Record
from tasks_lib.records.identifiers import Sha256


class StrictScores(Record):
    """The numbers of one trajectory or of many, all in [0, 1]; s is the score of a matched pair of calls."""

    score: float = Field(ge=0, le=1, description="mean of calls and order; calls alone where nothing has an order")
    calls: float = Field(ge=0, le=1, description="2 sum(s) / (calls of reference + calls of prediction)")
    order: float | None = Field(ge=0, le=1, description="share of dependencies kept; None: no call waits for another")
    recall: float = Field(ge=0, le=1, description="sum(s) / calls of the reference")
    precision: float = Field(ge=0, le=1, description="sum(s) / calls of the prediction")
    tools: float = Field(ge=0, le=1, description="calls, were all arguments right: what the choice of tools is worth")


class StrictMatch(Record):
    """One pair of calls and how each argument was judged."""

    tool: str
    score: float
    reference_call: int = Field(ge=0, description="index among the calls of the reference, from 0")
    reference_step: int = Field(ge=0)
    prediction_call: int = Field(ge=0)
    prediction_step: int = Field(ge=0)
    arguments: tuple[ArgumentScore, ...] = ()


class StrictTask(Record):
    """One task's numbers and everything they came from."""

    id: str
    kind: str = Field(description="the reference's type")
    family: str
    scores: StrictScores
    missing: str = Field(default="", description="why there is no prediction: it counts 0 then; empty: there is one")
    way: int = Field(default=0, ge=0, description="which reference was followed best: 0 the first, 1 an alternative, …")
    dependencies: int = Field(default=0, ge=0, description="pairs of calls of which the later waits for the earlier")
    order_from: Source = "steps"
    reference: Used
    prediction: Used
    over_budget: bool = False
    matches: tuple[StrictMatch, ...] = ()
    unmatched_reference: tuple[UnmatchedCall, ...] = ()
    unmatched_prediction: tuple[UnmatchedCall, ...] = ()


class StrictGroup(Record):
    """Many tasks' numbers: means weighted by the calls of the references, of at least one a task."""

    name: str
    tasks: int = Field(ge=0)
    missing: int = Field(ge=0, description="tasks without a prediction, which count 0")
    reference_calls: int = Field(ge=0)
    prediction_calls: int = Field(ge=0)
    matched: int = Field(ge=0)
    scores: StrictScores
    over_budget: int = Field(ge=0)


class Baselines(Record):
    """What the references alone earn: a scoring that does not give 1, low, low, 0 here measures something else."""

    seed: int
    copy_ceiling: StrictScores = Field(description="the references themselves")
    argument_swap: StrictScores = Field(description="every call with arguments of the same tool's call of another task")
    family_template: StrictScores = Field(description="the reference of another task of the family")
    empty: StrictScores = Field(description="no prediction at all")


class StrictReport(Document):
    """How well a file of predictions follows a file of references, argument by argument."""

    mode: Literal["strict"] = "strict"
    references: str
    predictions: str
    encoder: str
    encoder_digest: Sha256
    tools: str = Field(description="where the tools' schemas are from")
    tools_digest: Sha256
    rules_digest: Sha256 | None = Field(default=None, description="of the rules of arguments that a file stated")
    inferred: tuple[str, ...] = Field(description="tools whose schemas were inferred from the references")
    gate: float
    budget: Budget = Budget()
    total: StrictGroup
    by_kind: tuple[StrictGroup, ...]
    by_family: tuple[StrictGroup, ...]
    baselines: Baselines
    tasks: tuple[StrictTask, ...]
    without_prediction: tuple[str, ...] = Field(description="ids that count 0")
    without_reference: tuple[str, ...] = Field(description="ids of predictions that are no reference's")
    oddities: tuple[str, ...] = ()
