"""From the store to what a page shows of an episode; broken and missing documents become notes, not errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from tasks_lib.records import (
    Document,
    EpisodeResult,
    EpisodeSpec,
    Evidence,
    HandoffRecord,
    Initialise,
    Outcome,
    Provision,
    Stage,
    Step,
    Task,
    Verdict,
    VoidRecord,
)
from tasks_lib.records.errors import StoreError
from tasks_lib.store import AttemptFolder, EpisodeFolder, RunFolder, Store

D = TypeVar("D", bound=Document)


@dataclass(eq=False)
class StageTrace:
    """What one attempt left of one stage."""

    stage_id: str
    attempt: int
    provision: Provision | None = None
    initialise: Initialise | None = None
    steps: list[Step] = field(default_factory=list)
    evidence: Evidence | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing at all."""
        return not (self.provision or self.initialise or self.steps or self.evidence)


@dataclass
class AttemptTrace:
    """One attempt at an episode."""

    number: int
    void: VoidRecord | None
    stages: list[StageTrace]


@dataclass
class EpisodeTrace:
    """Everything that is stored of an episode.

    Attributes
    ----------
    stages : list of StageTrace
        For each stage the attempt that counts: the newest with evidence, else the newest with anything.
    earlier : list of AttemptTrace
        Attempts that gave no stage that counts or ended VOID, newest first.
    problems : list of str
        Documents that could not be read, each with its place.
    """

    spec: EpisodeSpec
    result: EpisodeResult
    task: Task | None
    verdict: Verdict | None = None
    void: VoidRecord | None = None
    stages: list[StageTrace] = field(default_factory=list)
    earlier: list[AttemptTrace] = field(default_factory=list)
    handoffs: list[HandoffRecord] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> Outcome | None:
        """What the stored documents say, or the summary where they say nothing (a VOID that no disk could take)."""
        if self.verdict is not None:
            return Outcome(self.verdict.outcome)
        return Outcome.VOID if self.void is not None else self.result.outcome


class EpisodeReader:
    """Reads episodes of a run."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run = RunFolder(store, run_id)

    def read(self, spec: EpisodeSpec, result: EpisodeResult, task: Task | None) -> EpisodeTrace:
        """Gather an episode.

        Parameters
        ----------
        spec : EpisodeSpec
            From the manifest.
        result : EpisodeResult
            From the summary.
        task : Task or None
            None where the task cannot be read any more.

        Returns
        -------
        EpisodeTrace
        """
        trace = EpisodeTrace(spec, result, task)
        folder = self._run.episode(spec.id)
        attempts = [self._attempt(folder, number, trace) for number in sorted(folder.attempts(), reverse=True)]
        trace.stages = _that_count(attempts, _stage_ids(task, attempts))
        if trace.verdict is None and attempts:
            trace.void = attempts[0].void
        trace.earlier = [
            attempt
            for attempt in attempts
            if attempt.void is not None or any(s not in trace.stages and not s.empty for s in attempt.stages)
        ]
        if trace.void is not None and trace.earlier and trace.earlier[0].number == attempts[0].number:
            # The newest VOID is the page's headline; its stages are shown as the ones that count.
            trace.earlier = [attempt for attempt in trace.earlier if attempt.number != attempts[0].number]
        trace.handoffs = self._handoffs(folder, trace)
        return trace

    def _attempt(self, folder: EpisodeFolder, number: int, trace: EpisodeTrace) -> AttemptTrace:
        attempt = folder.attempt(number)
        verdict = self._document(attempt.verdict, Verdict, trace.problems)
        if trace.verdict is None:
            trace.verdict = verdict
        void = self._document(attempt.void, VoidRecord, trace.problems) if verdict is None else None
        ids = [stage.id for stage in trace.task.stages] if trace.task else ["main"]
        return AttemptTrace(number, void, [self._stage(attempt, stage_id, trace.problems) for stage_id in ids])

    def _stage(self, attempt: AttemptFolder, stage_id: str, problems: list[str]) -> StageTrace:
        place = attempt.stage(stage_id)
        return StageTrace(
            stage_id,
            attempt.number,
            self._document(place.provision, Provision, problems),
            self._document(place.initialise, Initialise, problems),
            self._steps(place.trajectory, problems),
            self._document(place.evidence, Evidence, problems),
        )

    def _document(self, path: str, model: type[D], problems: list[str]) -> D | None:
        try:
            if not self._store.exists(path):
                return None
            return self._store.read_document(path, model)
        except (FileNotFoundError, StoreError) as error:
            problems.append(f"{path} cannot be read: {error}")
            return None

    def _steps(self, path: str, problems: list[str]) -> list[Step]:
        """Read a trajectory line by line, so that one broken line does not hide the others."""
        try:
            if not self._store.exists(path):
                return []
            lines = self._store.read_bytes(path).split(b"\n")
        except (FileNotFoundError, StoreError) as error:
            problems.append(f"{path} cannot be read: {error}")
            return []
        steps = []
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                steps.append(Step.from_json(line))
            except ValueError as error:
                why = (
                    "is torn: the writer was killed" if number == len(lines) else f"is no step ({type(error).__name__})"
                )
                problems.append(f"{path}, line {number}, {why}; it is left out")
        return steps

    def _handoffs(self, folder: EpisodeFolder, trace: EpisodeTrace) -> list[HandoffRecord]:
        found = []
        for stage in trace.task.stages if trace.task else ():
            for artifact in stage.hands_over:
                record = self._document(folder.handoff_check(stage.id, artifact.as_path), HandoffRecord, trace.problems)
                if record is not None:
                    found.append(record)
        return found


def _stage_ids(task: Task | None, attempts: list[AttemptTrace]) -> list[str]:
    if task is not None:
        return [stage.id for stage in task.stages]
    return sorted({stage.stage_id for attempt in attempts for stage in attempt.stages})


def _that_count(attempts: list[AttemptTrace], stage_ids: list[str]) -> list[StageTrace]:
    counted = []
    for stage_id in stage_ids:
        traces = [stage for attempt in attempts for stage in attempt.stages if stage.stage_id == stage_id]
        judged = [trace for trace in traces if trace.evidence is not None]
        begun = [trace for trace in traces if not trace.empty]
        counted += (judged or begun)[:1]
    return counted


def stage_of(task: Task | None, stage_id: str) -> Stage | None:
    """Return a task's stage of that name, or None."""
    return next((stage for stage in task.stages if stage.id == stage_id), None) if task else None
