"""A run: what was asked for, fixed before the first episode starts, and the table that it ends in."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from tasks_lib.records._document import Document, JsonValue, MaybeFloat, Record, Text, UtcTime
from tasks_lib.records.identifiers import EpisodeId, RunId, Sha256, Slug
from tasks_lib.records.machine import MachineSettings
from tasks_lib.records.outcome import FailureClass, Outcome, VoidReason
from tasks_lib.records.spending import Account
from tasks_lib.records.task import Modality


class EpisodeSpec(Record):
    """One cell of the run: a task, an agent, a trial."""

    id: EpisodeId
    task_id: Slug
    task_digest: Sha256
    agent: Slug
    model: Slug | None = None
    trial: int = Field(default=1, ge=1)
    seed: int = Field(ge=0)
    modality: Modality | None = Field(description="None: the task file could not be read")
    variant: Slug | None = Field(default=None, description="near miss that the oracle plays, for proofs")


class RunManifest(Document):
    """``manifest.json``: written once, before the first episode."""

    run_id: RunId
    benchmark: Text
    created: UtcTime
    seed: int = Field(ge=0)
    episodes: tuple[EpisodeSpec, ...] = Field(min_length=1)
    task_set_digest: Sha256
    machine: MachineSettings
    versions: dict[Text, Text] = Field(default_factory=dict)
    settings: dict[Text, JsonValue] = Field(default_factory=dict, description="what the agents were given, no secrets")
    command: tuple[Text, ...] = Field(default=(), description="the command line, for the resume hint")

    @model_validator(mode="after")
    def _episodes_differ(self) -> RunManifest:
        first: dict[str, int] = {}
        for position, spec in enumerate(self.episodes):
            if spec.id in first:
                places = f"positions {first[spec.id]} and {position}"
                msg = f"episode id {spec.id!r} stands twice, at {places}: rename a task or an agent"
                raise ValueError(msg)
            first[spec.id] = position
        return self


class Failure(Record):
    """What kind of failure a FAIL was, and the counts that decided."""

    kind: FailureClass
    stage: Slug = Field(description="the first stage with a criterion that failed: the class is read from it")
    why: Text


class EpisodeResult(Record):
    """A row of the run's table."""

    id: EpisodeId
    task_id: Slug
    agent: Slug
    trial: int = Field(ge=1)
    modality: Modality | None = Field(description="None: the task file could not be read")
    domain: Slug
    outcome: Outcome | None = Field(description="None: not done yet")
    void_reason: VoidReason | None = None
    points: int = Field(ge=0)
    earned: int = Field(ge=0)
    steps: int | None = Field(default=None, ge=0)
    self_ended: bool | None = Field(default=None, description="the agent ended the episode itself")
    seconds: MaybeFloat = Field(default=None, description="machine, set-up and steps of the attempt that counts, s")
    attempt: int = Field(default=0, ge=0)
    message: Text = ""
    failure: Failure | None = Field(default=None, description="of a FAIL; None where its trajectory is not known")


class AgentRow(Record):
    """Figures of one agent over a group of episodes."""

    agent: Slug
    kind: Literal["all", "modality", "domain"] = Field(
        default="all", description="what `group` names; a domain may be called like a modality"
    )
    group: Text = Field(description="'all' or a modality or a domain")
    episodes: int = Field(ge=0, description="episodes that are done: PASS, FAIL and VOID; every denominator")
    pending: int = Field(default=0, ge=0, description="episodes that are not done yet; in no denominator")
    passed: int = Field(ge=0)
    void: int = Field(ge=0)
    score: MaybeFloat = Field(description="earned points / points, VOID counts 0, in [0, 1]")
    strict_rate: MaybeFloat = Field(description="PASS / all episodes")
    strict_interval: tuple[float, float] | None = Field(default=None, description="Wilson 95 %")
    conditional_rate: MaybeFloat = Field(description="PASS / episodes that are not VOID")
    steps: MaybeFloat = Field(description="mean steps of episodes that are not VOID")
    steps_star: MaybeFloat = Field(description="mean steps of passed episodes (Steps*)")
    false_termination_rate: MaybeFloat = Field(description="FTR: not passed / ended by the agent itself")
    failures: dict[FailureClass, int] = Field(default_factory=dict, description="FAIL episodes of each class, if any")


class RunSummary(Document):
    """``summary.json``: the aggregate, written anew whenever episodes were redone."""

    run_id: RunId
    benchmark: Text
    written: UtcTime
    episodes: tuple[EpisodeResult, ...]
    rows: tuple[AgentRow, ...]
    done: int = Field(ge=0)
    void: int = Field(ge=0)
    pending: int = Field(ge=0)
    accounts: tuple[Account, ...] = Field(default=(), description="budgets of the run and of its night, what is spent")
