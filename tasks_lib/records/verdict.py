"""What an episode was worth and why: a record per criterion, a hand-off's check, or the reason for a VOID."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from tasks_lib.records._document import Document, JsonValue, Record, Text, UtcTime
from tasks_lib.records.identifiers import EpisodeId, RelativePath, Sha256, Slug
from tasks_lib.records.outcome import Outcome, Phase, VoidReason
from tasks_lib.records.trajectory import BlobRef


class CriterionRecord(Record):
    """What was seen, what was wanted, and why that passes or does not."""

    id: Slug
    kind: Literal["result", "hand-off"] = "result"
    stage: Slug = "main"
    points: int = Field(ge=1)
    passed: bool
    seen: JsonValue = None
    wanted: JsonValue = None
    why: Text = Field(description="one sentence: rule, value, verdict")
    evidence: tuple[Sha256, ...] = Field(default=(), description="blobs that the value was read from")

    @property
    def earned(self) -> int:
        """Points earned."""
        return self.points if self.passed else 0


class Verdict(Document):
    """``verdict.json``: depends on task, gold and evidence alone, so the same evidence gives the same bytes."""

    task_id: Slug
    task_digest: Sha256
    outcome: Literal[Outcome.PASS, Outcome.FAIL]
    points: int = Field(ge=1, description="points that could be earned")
    earned: int = Field(ge=0)
    criteria: tuple[CriterionRecord, ...]
    evidence_digests: dict[Text, Sha256] = Field(default_factory=dict, description="stage -> its evidence.json")

    @property
    def score(self) -> float:
        """Earned share of the points, in [0, 1]."""
        return self.earned / self.points

    @model_validator(mode="after")
    def _sums_agree(self) -> Verdict:
        points = sum(record.points for record in self.criteria)
        earned = sum(record.earned for record in self.criteria)
        if (points, earned) != (self.points, self.earned):
            msg = f"points of the criteria sum to {earned} of {points}, the verdict says {self.earned} of {self.points}"
            raise ValueError(msg)
        if (self.outcome is Outcome.PASS) != (earned == points):
            msg = f"{self.outcome} with {earned} of {points} points: PASS means all of them"
            raise ValueError(msg)
        return self


class VoidRecord(Document):
    """``void.json``: what broke around the agent."""

    reason: VoidReason
    phase: Phase
    stage: Slug = "main"
    exception: Text = Field(description="class name")
    message: Text
    when: UtcTime


class HandoffRecord(Document):
    """One artifact that a stage gave the next; the check itself is a criterion of kind ``hand-off``."""

    episode_id: EpisodeId
    stage: Slug
    to_stage: Slug
    path: RelativePath = Field(description="the deliverable of the giving stage")
    as_path: RelativePath = Field(description="where the taking stage finds it")
    blob: BlobRef | None = Field(default=None, description="None: the stage left no such file")
    checks: tuple[CriterionRecord, ...] = ()
