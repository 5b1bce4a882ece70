"""What the page of an episode shows, as plain values for its template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tasks_lib.records import (
    BlobRef,
    CriterionRecord,
    Evidence,
    HandoffRecord,
    Modality,
    Observation,
    Step,
)
from tasks_lib.reporting._files import ReportFiles, Shown
from tasks_lib.reporting._marks import Mark, Point, follow, inside
from tasks_lib.reporting._read import AttemptTrace, EpisodeTrace, StageTrace, stage_of
from tasks_lib.reporting._text import Redact, cap, paragraphs, value_text, wanted_text
from tasks_lib.taskdefs.transcript import fences

# A page holds this much text of the agent in full; what comes after is cut short, so that no page grows without end.
_PAGE_CHARACTERS = 3_000_000
_TEXT, _SHORT = 16_000, 400
_SCRIPTS = frozenset({"python", "veusz"})
_SCRIPTED = frozenset({Modality.CODE, Modality.FIGURE})


@dataclass(frozen=True)
class Screen:
    """A screenshot with what was done on it."""

    href: str | None
    problem: str
    width: int
    height: int
    marks: tuple[Mark, ...]
    outside: tuple[Mark, ...]
    focus: str

    @property
    def words(self) -> str:
        """What stands in for the picture."""
        seen = f"Screen, window in front: {self.focus}" if self.focus else "Screen"
        return "; ".join([seen, *(mark.words for mark in self.marks)])


@dataclass(frozen=True)
class StepView:
    """A step as it is shown."""

    step: Step
    anchor: str
    screen: Screen | None
    aside: bool
    reply: str
    script: str
    script_language: str
    reasoning: str
    feedback: str


@dataclass(frozen=True)
class StageView:
    """A stage as it is shown."""

    id: str
    attempt: int
    modality: Modality | None
    instruction: tuple[str, ...]
    hints: tuple[str, ...]
    trace: StageTrace
    steps: tuple[StepView, ...]
    final: Screen | None
    files: tuple[Shown, ...]
    other_files: tuple[Shown, ...]
    handed: tuple[tuple[HandoffRecord, Shown | None], ...]

    @property
    def totals(self) -> dict[str, float | None]:
        """Sums over the steps; tokens that were never counted stay None."""
        steps = [view.step for view in self.steps]
        return {
            "wasted": sum(step.wasted for step in steps),
            "input_tokens": _sum([step.usage.input_tokens for step in steps]),
            "output_tokens": _sum([step.usage.output_tokens for step in steps]),
            "cost": _sum([step.usage.cost for step in steps]),
            "model_seconds": sum(step.model_seconds for step in steps),
            "action_seconds": sum(step.action_seconds for step in steps),
            "settle_seconds": sum(step.settle_seconds for step in steps),
        }


@dataclass(frozen=True)
class EarlierView:
    """An attempt that does not count any more."""

    attempt: AttemptTrace
    stages: tuple[StageView, ...]


@dataclass(frozen=True)
class CriterionView:
    """A criterion's record as it is shown."""

    record: CriterionRecord
    seen: str
    wanted: str
    purpose: str
    evidence: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class EpisodeView:
    """An episode as it is shown."""

    trace: EpisodeTrace
    title: str
    criteria: tuple[CriterionView, ...]
    stages: tuple[StageView, ...]
    earlier: tuple[EarlierView, ...]


class EpisodeViewer:
    """Turns what is stored of an episode into what its page shows; copies its files on the way."""

    def __init__(self, files: ReportFiles, redact: Redact) -> None:
        self._files = files
        self._redact = redact
        self._room = _PAGE_CHARACTERS

    def view(self, trace: EpisodeTrace) -> EpisodeView:
        """Return the view of an episode."""
        self._room = _PAGE_CHARACTERS
        stages = tuple(self._stage(trace, stage, "") for stage in self._with_unbegun(trace))
        earlier = tuple(
            EarlierView(
                attempt,
                tuple(
                    self._stage(trace, stage, f"a{attempt.number}-")
                    for stage in attempt.stages
                    if not stage.empty and stage not in trace.stages
                ),
            )
            for attempt in trace.earlier
        )
        title = trace.task.title if trace.task else trace.spec.task_id
        return EpisodeView(trace, title, self._criteria(trace, stages), stages, earlier)

    def _with_unbegun(self, trace: EpisodeTrace) -> list[StageTrace]:
        """Add the stages that nothing is stored of: their instruction is shown all the same."""
        begun = {stage.stage_id: stage for stage in trace.stages}
        if trace.task is None:
            return list(trace.stages)
        return [begun.get(stage.id, StageTrace(stage.id, 0)) for stage in trace.task.stages]

    def _stage(self, trace: EpisodeTrace, stage: StageTrace, prefix: str) -> StageView:
        defined = stage_of(trace.task, stage.stage_id)
        evidence = stage.evidence
        handed = [record for record in trace.handoffs if record.stage == stage.stage_id and not prefix]
        modality = defined.modality if defined else trace.spec.modality
        collected = self._collected(evidence)
        asked_for = {entry.path for entry in defined.deliverables} if defined else {shown.path for shown in collected}
        return StageView(
            id=stage.stage_id,
            attempt=stage.attempt,
            modality=modality,
            instruction=tuple(paragraphs(defined.instruction)) if defined else (),
            hints=defined.hints if defined else (),
            trace=stage,
            steps=self._steps(stage, modality, f"{prefix}{stage.stage_id}-"),
            final=self._screen(evidence.final, []) if evidence else None,
            files=tuple(shown for shown in collected if shown.path in asked_for or shown.thumbnail),
            other_files=tuple(shown for shown in collected if shown.path not in asked_for and not shown.thumbnail),
            handed=tuple((record, self._handed(record)) for record in handed),
        )

    def _collected(self, evidence: Evidence | None) -> tuple[Shown, ...]:
        return tuple(self._files.file(entry.path, entry.blob) for entry in (evidence.files if evidence else ()))

    def _handed(self, record: HandoffRecord) -> Shown | None:
        return self._files.file(record.as_path, record.blob) if record.blob is not None else None

    def _steps(self, stage: StageTrace, modality: Modality | None, prefix: str) -> tuple[StepView, ...]:
        views = []
        pointer: Point | None = None
        for step in stage.steps:
            marks, after = follow(step.actions, pointer)
            reply = self._redact(step.reply)
            script = next((block for block in fences(reply) if block.language in _SCRIPTS), None)
            wanted = script is not None and modality in _SCRIPTED
            views.append(
                StepView(
                    step=step,
                    anchor=f"{prefix}{step.index}",
                    screen=self._screen(step.observation, marks),
                    # A script does not look at the screen: the picture is there for who wants it.
                    aside=modality in _SCRIPTED,
                    reply=self._cut(reply),
                    script=self._cut(script.body) if script is not None and wanted else "",
                    script_language=script.language if script is not None and wanted else "",
                    reasoning=self._cut(step.reasoning),
                    feedback=self._cut(step.feedback),
                )
            )
            pointer = after
        return tuple(views)

    def _screen(self, seen: Observation, marks: Sequence[Mark]) -> Screen | None:
        if seen.screenshot is None:
            return None
        href, problem = self._files.screen(seen.screenshot)
        width, height = seen.width or 1440, seen.height or 900
        focus = next((window.title for window in seen.windows if window.focused), "")
        return Screen(
            href=href,
            problem=problem,
            width=width,
            height=height,
            marks=tuple(mark for mark in marks if inside(mark, width, height)),
            outside=tuple(mark for mark in marks if not inside(mark, width, height)),
            focus=focus,
        )

    def _criteria(self, trace: EpisodeTrace, stages: Sequence[StageView]) -> tuple[CriterionView, ...]:
        if trace.verdict is None:
            return ()
        places = _places(stages)
        purposes = {criterion.id: criterion.why for criterion in trace.task.criteria} if trace.task else {}
        return tuple(
            CriterionView(
                record,
                seen=value_text(record.seen, self._redact),
                wanted=wanted_text(record.wanted, self._redact),
                purpose=purposes.get(record.id, ""),
                evidence=tuple(places.get(digest, (f"blob {digest[:12]}", None)) for digest in record.evidence),
            )
            for record in trace.verdict.criteria
        )

    def _cut(self, text: str) -> str:
        clean = self._redact(text)
        shown = cap(clean, _TEXT if self._room > 0 else _SHORT)
        self._room -= len(shown)
        return shown


def _places(stages: Sequence[StageView]) -> dict[str, tuple[str, str | None]]:
    """Say of every digest what it is called and where it is shown."""
    places: dict[str, tuple[str, str | None]] = {}
    for stage in stages:
        evidence = stage.trace.evidence
        if evidence is None:
            continue
        shown = {entry.path: entry.href for entry in (*stage.files, *stage.other_files)}
        places.update({entry.blob.sha256: (entry.path, shown[entry.path]) for entry in evidence.files})
        final: BlobRef | None = evidence.final.screenshot
        if final is not None and stage.final is not None:
            places[final.sha256] = ("final screen", stage.final.href)
    return places


def _sum(values: Sequence[Any]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
