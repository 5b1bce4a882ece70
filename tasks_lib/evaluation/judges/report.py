"""What a panel of judges says: opinions, judgements, and their summary, with what is VOID beside what is judged."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from tasks_lib.evaluation.judges.kinship import Kinship
from tasks_lib.records import Document, Record, Usage
from tasks_lib.records.identifiers import Sha256


class Metric(StrEnum):
    """What is judged."""

    TASK_COMPLETION = "task_completion"
    INFORMATION_GROUNDING = "information_grounding"


class Opinion(Record):
    """What one judge says of one trajectory."""

    judge: str
    value: float | None = Field(default=None, ge=0, le=1, description="None: the judge failed, `void` says why")
    parts: dict[str, float] = Field(default_factory=dict, description="the numbers as the judge gave them")
    why: str = ""
    asked: int = Field(default=0, ge=0, description="replies that were asked for")
    usage: Usage = Usage()
    void: str = ""


class Judgement(Record):
    """What the panel says of one trajectory."""

    task: str
    family: str
    metric: Metric
    value: float | None = Field(default=None, ge=0, le=1, description="None: VOID")
    missing: bool = Field(default=False, description="there is no prediction: nothing was done, no judge was asked")
    digest: Sha256 | None = Field(default=None, description="of what the judges were shown")
    cut: bool = Field(default=False, description="the trajectory was longer than what the judges were shown")
    opinions: tuple[Opinion, ...] = ()

    @property
    def void(self) -> str:
        """Which judges failed and why; empty where none did."""
        return "; ".join(f"{one.judge}: {one.void}" for one in self.opinions if one.void)


class JudgedBy(Record):
    """One judge of the panel, and what it says in the mean."""

    judge: str
    model: str
    kinship: Kinship
    opinions: int = Field(ge=0)
    failed: int = Field(ge=0)
    mean: float | None


class MetricSummary(Record):
    """One metric over all tasks of the references.

    A VOID is neither 0 nor left out: `value` is None until every task has a number, `low` and `high` say between what
    it lies whatever the missing judgements would have been, and `judged_mean` is that of the others.
    """

    metric: Metric
    tasks: int = Field(ge=0)
    judged: int = Field(ge=0)
    void: int = Field(ge=0)
    missing: int = Field(ge=0, description="tasks without a prediction, judged 0")
    value: float | None
    low: float | None
    high: float | None
    judged_mean: float | None
    judges: tuple[JudgedBy, ...] = ()


class JudgeReport(Document):
    """What a panel says of a file of predictions."""

    references: str
    predictions: str
    contestant: str = ""
    longest_digest: int = Field(ge=0, description="characters")
    trimmed: bool = Field(description="highest and lowest opinion are left out")
    metrics: tuple[MetricSummary, ...]
    judgements: tuple[Judgement, ...]
    oddities: tuple[str, ...] = ()
