"""What a task is: one YAML file that reads as prose, and what its stages, criteria and proofs consist of."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, model_validator

from tasks_lib.records._document import Document, JsonValue, Record, Text
from tasks_lib.records.identifiers import RelativePath, Sha256, Slug


class Modality(StrEnum):
    """How the agent works in a stage."""

    GUI = "gui"
    FIGURE = "figure"
    CODE = "code"
    MIXED = "mixed"


class Difficulty(StrEnum):
    """Three levels; for GUI and mixed tasks they follow the points (1-3 easy, 4 medium, 5 and more hard)."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class InputFile(Record):
    """A file that lies in the work folder before the agent starts."""

    path: RelativePath = Field(description="where the agent finds it, relative to the work folder")
    source: RelativePath = Field(description="where the task keeps it, relative to the task's folder")
    sha256: Sha256


class Launch(Record):
    """Start a desktop program and wait until its window is there."""

    launch: Annotated[str, Field(min_length=1)] = Field(description="program name, looked up on the machine's PATH")
    arguments: tuple[Text, ...] = ()
    window: Text = Field(description="the window's title contains this text")
    maximise: bool = True
    seconds: float = Field(default=60.0, gt=0, le=600, description="limit for the window to appear, s")
    with_hints: bool | None = Field(
        default=None, description="true: only in runs with hints, false: only in runs without; none: in both"
    )


class Keys(Record):
    """Press keys in the focused window, for instance to leave a first-start dialog."""

    keys: tuple[Text, ...] = Field(min_length=1, description="each a key or a chord such as 'ctrl+o'")
    with_hints: bool | None = Field(
        default=None, description="true: only in runs with hints, false: only in runs without; none: in both"
    )


SetupStep = Launch | Keys


class Deliverable(Record):
    """A file that the agent is asked to leave behind; `collect` gathers it."""

    path: RelativePath
    what: Text = Field(description="what the file holds, in the words of the field")


class GetterCall(Record):
    """What a criterion reads: a getter by name, and its arguments."""

    getter: Slug
    path: RelativePath | None = Field(default=None, description="the collected file that is read, if any")
    arguments: dict[Text, JsonValue] = Field(default_factory=dict)


class MetricCall(Record):
    """How a criterion compares what it read: a metric by name, what is wanted, or the gold file that says it."""

    metric: Slug
    want: JsonValue = None
    gold: RelativePath | None = Field(default=None, description="file relative to the task's gold/ folder")
    tolerance: float | None = Field(default=None, ge=0, description="absolute, in `unit`")
    relative: float | None = Field(default=None, ge=0, description="relative tolerance, a fraction of the value wanted")
    unit: Text | None = Field(default=None, description="unit of `want` and of `tolerance`, such as eV or nm")
    arguments: dict[Text, JsonValue] = Field(default_factory=dict)


class Criterion(Record):
    """One thing that is true or false of the final state, worth `points`."""

    id: Slug
    points: int = Field(ge=1, le=10)
    stage: Slug = Field(default="main", description="the stage whose evidence is read")
    kind: Literal["result", "hand-off"] = Field(
        default="result", description="a hand-off criterion judges what one stage gave the next, not the final result"
    )
    reads: GetterCall
    compares: MetricCall
    given: bool = Field(default=False, description="the instruction states the value wanted, on purpose")
    why: Text = Field(min_length=10, description="one sentence: why this is a criterion")


class Budget(Record):
    """Limits that are enforced from outside the agent."""

    steps: int = Field(default=50, ge=1, le=500, description="replies of the agent")
    seconds: float = Field(default=1800.0, gt=0, description="wall clock of the act phase, s")
    tokens: int | None = Field(default=None, gt=0, description="tokens in and out of all model calls")


class Artifact(Record):
    """What a stage hands to the next: a deliverable of this stage and where the next stage finds it."""

    path: RelativePath = Field(description="the deliverable of this stage")
    as_path: RelativePath = Field(description="where the next stage finds it in its own work folder")


class Stage(Record):
    """One machine, one program, one agent episode; a plain task has a single stage named ``main``."""

    id: Slug
    modality: Modality
    instruction: Text = Field(min_length=20)
    hints: tuple[Text, ...] = ()
    inputs: tuple[InputFile, ...] = ()
    setup: tuple[SetupStep, ...] = ()
    deliverables: tuple[Deliverable, ...] = Field(min_length=1)
    hands_over: tuple[Artifact, ...] = ()
    budget: Budget = Budget()
    endpoints: tuple[Slug, ...] = Field(default=(), description="loopback services the machine may reach, by name")
    environment: Slug | None = Field(
        default=None, description="Python environment of the agent's scripts, by name; none: the harness's own"
    )

    def setup_for(self, *, hints: bool) -> tuple[SetupStep, ...]:
        """Return the set-up steps of a run with hints, or of one without."""
        return tuple(step for step in self.setup if step.with_hints is None or step.with_hints is hints)

    @property
    def needs_desktop(self) -> bool:
        """Whether the stage needs an X display with a window manager; figures need one to render."""
        return self.modality is not Modality.CODE


class NearMiss(Record):
    """A solution that is nearly right and must fail: the oracle's transcript with some text replaced."""

    id: Slug
    what: Text = Field(min_length=10, description="the mistake, in one sentence")
    kind: Slug | None = Field(default=None, description="the kind of mistake, such as unit, polymorph or page")
    replace: dict[Text, Text] = Field(min_length=1, description="text of the oracle's transcript -> text instead of it")
    fails: tuple[Slug, ...] = Field(min_length=1, description="criteria that must not be met")


class Task(Document):
    """A benchmark task as read from its ``task.yaml``."""

    id: Slug
    title: Text
    suite: Slug
    domain: Slug
    modality: Modality
    difficulty: Difficulty
    difficulty_why: Text | None = Field(default=None, description="one sentence: what makes it so difficult")
    stages: tuple[Stage, ...] = Field(min_length=1)
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    near_misses: tuple[NearMiss, ...] = ()
    tags: tuple[Slug, ...] = ()

    @property
    def points(self) -> int:
        """Points that can be earned."""
        return sum(criterion.points for criterion in self.criteria)

    @property
    def needs_desktop(self) -> bool:
        """Whether any stage needs a desktop."""
        return any(stage.needs_desktop for stage in self.stages)

    def stage(self, stage_id: str) -> Stage:
        """Return the stage of that name; KeyError where there is none."""
        for stage in self.stages:
            if stage.id == stage_id:
                return stage
        raise KeyError(stage_id)

    @model_validator(mode="after")
    def _stages_fit_modality(self) -> Task:
        if self.modality is Modality.MIXED:
            if len(self.stages) < 2:
                msg = f"a mixed task has two stages or more, {self.id} has {len(self.stages)}: add one"
                raise ValueError(msg)
        elif len(self.stages) != 1 or self.stages[0].modality is not self.modality:
            found = [stage.modality.value for stage in self.stages]
            msg = f"a {self.modality} task has one stage of that modality, {self.id} has {found}: mend `modality`"
            raise ValueError(msg)
        return self
