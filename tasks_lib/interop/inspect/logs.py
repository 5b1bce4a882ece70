"""Runs as logs of Inspect AI (``.eval``), written and read by the package itself."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from inspect_ai.event import ModelEvent
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalMetric,
    EvalPlan,
    EvalPlanStep,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    read_eval_log,
    write_eval_log,
)
from inspect_ai.model import ChatCompletionChoice, GenerateConfig, ModelOutput, ModelUsage
from inspect_ai.scorer import Score

from tasks_lib.interop._faults import fault
from tasks_lib.interop.importing import Foreign
from tasks_lib.interop.inspect._container import check, settle
from tasks_lib.interop.inspect._messages import OURS, told_end, told_in, told_stage, told_step
from tasks_lib.interop.trajectory import Trajectory
from tasks_lib.records import Outcome, RunManifest, Step, Usage
from tasks_lib.store import Store

# Bytes of pictures after which a player's log goes on in another file: the package holds a whole log in memory.
LARGEST_LOG = 192 * 2**20
LARGEST_FILE = 1024 * 2**20
_LONGEST_CLAIM = 2_000


def export_inspect(store: Store, manifest: RunManifest, found: Iterable[Trajectory], out: Path) -> list[Path]:
    """Write a log for each player, ``<run>_<player>.eval``; the same trajectories give the same bytes.

    Parameters
    ----------
    store : Store
        Holds the screenshots.
    manifest : RunManifest
        Of the run.
    found : iterable of Trajectory
    out : Path
        A folder.

    Returns
    -------
    list of Path

    Raises
    ------
    ConfigurationError
        If a log is there already.
    """
    players: dict[str, list[Trajectory]] = {}
    for trajectory in found:
        players.setdefault(trajectory.label, []).append(trajectory)
    written = []
    for label in sorted(players):
        for number, part in enumerate(_parts(players[label]), start=1):
            name = f"{manifest.run_id}_{label}" + (f"_part-{number}" if number > 1 else "")
            path = out / f"{name}.eval"
            if path.exists():
                raise fault(str(path), "is there already", "give another --out, or remove it")
            out.mkdir(parents=True, exist_ok=True)
            _write(_log(store, manifest, part, name), path)
            written.append(path)
    return written


def _parts(trajectories: Sequence[Trajectory]) -> Iterator[list[Trajectory]]:
    part: list[Trajectory] = []
    size = 0
    for trajectory in trajectories:
        heavy = sum(
            step.observation.screenshot.size
            for play in trajectory.plays
            for step in play.steps
            if step.observation.screenshot
        )
        if part and size + heavy > LARGEST_LOG:
            yield part
            part, size = [], 0
        part.append(trajectory)
        size += heavy
    if part:
        yield part


def _write(log: EvalLog, path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="matassay-inspect-") as folder:
        raw = Path(folder) / "log.eval"
        write_eval_log(log, str(raw), format="eval")
        whole = Path(folder) / "whole.eval"
        settle(raw, whole)
        path.write_bytes(whole.read_bytes())


def _id(*parts: str) -> str:
    """Derive what Inspect draws at random; it takes any text of 22 letters and digits."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8")).hexdigest()[:22]


def _log(store: Store, manifest: RunManifest, found: Sequence[Trajectory], name: str) -> EvalLog:
    first = found[0]
    model = f"matassay/{first.spec.model or first.label}"
    samples = [_sample(store, trajectory, model) for trajectory in found]
    created = manifest.created.isoformat()
    names = list(dict.fromkeys(str(sample.id) for sample in samples))
    usage = _sum(step for trajectory in found for play in trajectory.plays for step in play.steps)
    return EvalLog(
        status="success",
        eval=EvalSpec(
            eval_id=_id("eval", name),
            run_id=_id("run", manifest.run_id),
            task_id=_id("task", name),
            created=created,
            task=f"matassay/{manifest.benchmark}",
            task_version=manifest.task_set_digest[:12],
            dataset=EvalDataset(name=manifest.benchmark, samples=len(names), sample_ids=names, shuffled=False),
            model=model,
            config=EvalConfig(epochs=max(trajectory.spec.trial for trajectory in found)),
            packages={"matassay": version("matassay")},
            metadata={OURS: {"run": manifest.run_id, "player": first.label, "hints": first.hints}},
        ),
        plan=EvalPlan(name="plan", steps=[EvalPlanStep(solver=first.label)]),
        results=_results(found),
        stats=EvalStats(
            started_at=min(str(sample.started_at) for sample in samples),
            completed_at=max(str(sample.completed_at) for sample in samples),
            model_usage={} if usage is None else {model: usage},
        ),
        samples=samples,
    )


def _sample(store: Store, trajectory: Trajectory, model: str) -> EvalSample:
    spec = trajectory.spec
    messages: list[Any] = []
    events: list[Any] = []
    worked = 0.0
    for play in trajectory.plays:
        key = f"{spec.id}-{play.stage}"
        opening = [told_stage(play, key)]
        messages += opening
        before: Step | None = None
        for step in play.steps:
            seen, said = told_step(step, before, store.get_blob, key=key, model=model)
            messages += [seen, said]
            events.append(_event(step, [*opening, seen], said, model, worked, _id("event", trajectory.run, said.id)))
            opening, before, worked = [], step, worked + _seconds(step)
        messages += told_end(play, store.get_blob, key)
    steps = [step for play in trajectory.plays for step in play.steps]
    started = steps[0].started
    usage = _sum(steps)
    instruction = "\n\n".join(play.brief.instruction.strip() for play in trajectory.plays)
    return EvalSample(
        id=spec.task_id,
        epoch=spec.trial,
        input=instruction or spec.task_id,
        target="",
        messages=messages,
        events=events,
        output=ModelOutput(model=model, completion=steps[-1].reply),
        scores=_scores(trajectory),
        metadata={
            OURS: {
                "task": spec.task_id,
                "task_digest": spec.task_digest,
                "domain": trajectory.domain,
                "episode": spec.id,
                "run": trajectory.run,
                "player": trajectory.label,
                "trial": spec.trial,
                "seed": spec.seed,
                "outcome": trajectory.outcome,
            }
        },
        model_usage={} if usage is None else {model: usage},
        started_at=started.isoformat(),
        completed_at=(steps[-1].started + timedelta(seconds=_seconds(steps[-1]))).isoformat(),
        total_time=worked,
        working_time=worked,
        uuid=_id("sample", trajectory.run, spec.id),
        error=_error(trajectory),
    )


def _event(step: Step, seen: list[Any], said: Any, model: str, worked: float, identity: str) -> ModelEvent:
    """Return a turn for the viewer's transcript; every agent counts as a model that was asked once a step."""
    choice = ChatCompletionChoice(message=said, stop_reason="stop")
    return ModelEvent(
        uuid=identity,
        timestamp=step.started,
        working_start=worked,
        model=model,
        input=seen,
        tools=[],
        tool_choice="none",
        config=GenerateConfig(),
        output=ModelOutput(model=model, choices=[choice], usage=_usage(step.usage), time=step.model_seconds),
        completed=step.started + timedelta(seconds=step.model_seconds),
        working_time=step.model_seconds,
    )


def _seconds(step: Step) -> float:
    return step.model_seconds + step.action_seconds + step.settle_seconds


def _error(trajectory: Trajectory) -> Any:
    if trajectory.outcome is not Outcome.VOID:
        return None
    return EvalError(message=trajectory.void, traceback=trajectory.void, traceback_ansi=trajectory.void)


def _scores(trajectory: Trajectory) -> dict[str, Score] | None:
    if trajectory.share is None:
        return None
    told = "\n".join(
        f"- {one.criterion}: {one.points if one.passed else 0} of {one.points}" for one in trajectory.judged
    )
    points = f"{trajectory.earned} of {trajectory.points} points"
    return {
        "passed": Score(value="C" if trajectory.outcome is Outcome.PASS else "I", answer=points, explanation=told),
        "share": Score(value=trajectory.share, answer=points, explanation=told),
    }


def _results(found: Sequence[Trajectory]) -> EvalResults:
    """Return means over what was judged; VOID is an error of a sample here and in no mean."""
    shares = [trajectory.share for trajectory in found if trajectory.share is not None]
    passed = [float(share == 1.0) for share in shares]
    scores = [
        EvalScore(
            name=name,
            scorer=name,
            scored_samples=len(values),
            unscored_samples=len(found) - len(values),
            metrics={metric: EvalMetric(name=metric, value=sum(values) / len(values))},
        )
        for name, metric, values in (("passed", "accuracy", passed), ("share", "mean", shares))
        if values
    ]
    return EvalResults(total_samples=len(found), completed_samples=len(shares), scores=scores)


def _sum(steps: Iterable[Step]) -> ModelUsage | None:
    """Add up what the endpoints told; None where they told nothing: missing is not 0."""
    total: ModelUsage | None = None
    for step in steps:
        usage = _usage(step.usage)
        if usage is not None:
            total = usage if total is None else total + usage
    return total


def _usage(usage: Usage) -> ModelUsage | None:
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    cached = usage.cached_tokens
    # Inspect counts what a cache gave apart from the rest of the input.
    return ModelUsage(
        input_tokens=max(0, (usage.input_tokens or 0) - (cached or 0)),
        output_tokens=usage.output_tokens or 0,
        total_tokens=(usage.input_tokens or 0) + (usage.output_tokens or 0),
        input_tokens_cache_read=cached,
        total_cost=usage.cost,
    )


def read_inspect(path: Path, *, task: str | None = None, player: str | None = None) -> Iterator[Foreign]:
    """Read a log: of `export_inspect`, of our ``@task`` face, or of another solver whose replies are in blocks.

    Parameters
    ----------
    path : Path
        An ``.eval`` file.
    task, player : str, optional
        Override what the log says.

    Raises
    ------
    ConfigurationError
        If it is no such log; the message names the sample and the message.
    """
    if not path.is_file() or path.stat().st_size > LARGEST_FILE:
        raise fault(str(path), f"is no file of at most {LARGEST_FILE} bytes", "give an .eval file")
    check(path)
    try:
        log = read_eval_log(str(path.resolve()), resolve_attachments=True, format="eval")
    except Exception as error:  # the package raises whatever its parsers raise
        rule = f"is no log of Inspect AI ({type(error).__name__}: {error})"
        raise fault(str(path), rule, "give a whole one") from error
    return (_foreign(sample, log, path, task, player) for sample in log.samples or ())


def _foreign(sample: EvalSample, log: EvalLog, path: Path, task: str | None, player: str | None) -> Foreign:
    place = f"{path}, sample {str(sample.id)[:100]!r}"
    ours = (sample.metadata or {}).get(OURS)
    about = ours if isinstance(ours, dict) else {}
    return Foreign(
        place=place,
        task_id=task or str(about.get("task") or sample.id),
        player=player or str(about.get("player") or log.eval.model),
        trial=sample.epoch,
        plays=told_in(sample.messages, place),
        digest=str(about.get("task_digest") or ""),
        claim={"scores": {str(name)[:100]: _claim(score.value) for name, score in (sample.scores or {}).items()}},
    )


def _claim(value: Any) -> Any:
    text = value if isinstance(value, str | int | float) else repr(value)
    return text[:_LONGEST_CLAIM] if isinstance(text, str) else text
