"""What thoughtless predictions earn in strict mode and by the published metrics, on the same references."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pydantic import Field

from tasks_lib.evaluation.alignment.embedding_cache import EmbeddingCache
from tasks_lib.evaluation.alignment.encoders import Encoder
from tasks_lib.evaluation.alignment.files import TrajectoryFile
from tasks_lib.evaluation.alignment.report import Scores
from tasks_lib.evaluation.alignment.scoring import score_files
from tasks_lib.evaluation.alignment.strict.baselines import Predictions, argument_swap, copies, family_template
from tasks_lib.evaluation.alignment.strict.files import score_strictly
from tasks_lib.evaluation.alignment.strict.report import StrictScores
from tasks_lib.evaluation.alignment.strict.snapshot import ToolSnapshot
from tasks_lib.evaluation.alignment.strict.stated import ArgumentRules
from tasks_lib.evaluation.alignment.trajectories import Call, Trajectory
from tasks_lib.records import Document, Record
from tasks_lib.records.identifiers import Sha256

_FEW = 20


class Strategy(Record):
    """One way to predict without looking, and what it earns."""

    name: str
    what: str
    strict: StrictScores
    published: Scores
    published_average: float | None = Field(description="mean of six numbers; None: no task was scored")


class BaselineStudy(Document):
    """All strategies on one file of references."""

    references: str
    tasks: int = Field(ge=0)
    steps: int = Field(ge=0)
    calls: int = Field(ge=0)
    encoder: str
    encoder_digest: Sha256
    tools_digest: Sha256
    rules_digest: Sha256 | None = None
    seed: int
    strategies: tuple[Strategy, ...]


def baseline_study(
    references: TrajectoryFile,
    encoder: Encoder,
    *,
    tools: ToolSnapshot | None = None,
    rules: ArgumentRules | None = None,
    cache: EmbeddingCache | None = None,
    seed: int = 0,
) -> BaselineStudy:
    """Score predictions made of the references alone, both ways.

    Parameters
    ----------
    references : TrajectoryFile
        From `read_trajectories` or `synthetic_references`.
    encoder : Encoder
        Of both modes.
    tools : ToolSnapshot, optional
        Schemas of the tools, for strict mode.
    rules : ArgumentRules, optional
        From `read_rules`, for strict mode.
    cache : EmbeddingCache, optional
        Where vectors are kept.
    seed : int, optional
        Decides whose arguments and whose reference are taken.

    Returns
    -------
    BaselineStudy
        Strategies from the copy to nothing at all.

    Raises
    ------
    ConfigurationError
        As `score_strictly`.
    """
    given = list(references.trajectories.values())
    strategies = _strategies(given, seed)
    files = [TrajectoryFile(name, predictions) for name, (_, predictions) in strategies.items()]
    strict = score_strictly(references, files, encoder, tools=tools, rules=rules, cache=cache, seed=seed)
    published = score_files(references, files, encoder, cache=cache)
    return BaselineStudy(
        references=references.name,
        tasks=len(given),
        steps=sum(len(one.steps) for one in given),
        calls=sum(len(one.calls) for one in given),
        encoder=encoder.name,
        encoder_digest=encoder.digest,
        tools_digest=strict[0].tools_digest,
        rules_digest=strict[0].rules_digest,
        seed=seed,
        strategies=tuple(
            Strategy(
                name=name,
                what=what,
                strict=ours.total.scores,
                published=theirs.total.scores,
                published_average=theirs.average,
            )
            for (name, (what, _)), ours, theirs in zip(strategies.items(), strict, published, strict=True)
        ),
    )


def _strategies(given: Sequence[Trajectory], seed: int) -> Mapping[str, tuple[str, Predictions]]:
    copied, swapped = copies(given), argument_swap(given, seed)
    few = dict(sorted(swapped.items())[:_FEW])
    return {
        "copy": ("the reference", copied),
        "argument swap": ("right tools, arguments of another task", swapped),
        "family template": ("the reference of another task of the family", family_template(given, seed)),
        "few swapped": (f"argument swap, {_FEW} tasks handed in", few),
        "few copied": (f"the reference, {_FEW} tasks handed in", dict(sorted(copied.items())[:_FEW])),
        "no arguments": ("right tools, arguments {}", _each(copied, _without_arguments)),
        "one step": ("the reference, all calls in one step", _each(copied, _merged)),
        "one by one": ("the reference, one call a step", _each(copied, _serial)),
        "reversed": ("the reference, steps from the last to the first", _each(copied, _reversed)),
        "twice": ("the reference, every call twice", _each(copied, _twice)),
        "first call": ("the first call of the reference alone", _each(copied, _first)),
        "empty": ("no prediction", {}),
    }


def _each(predictions: Predictions, change: Callable[[Trajectory], tuple[tuple[Call, ...], ...]]) -> Predictions:
    return {key: replace(one, steps=change(one)) for key, one in predictions.items()}


def _without_arguments(one: Trajectory) -> tuple[tuple[Call, ...], ...]:
    return tuple(tuple(replace(call, arguments={}, text="{}") for call in step) for step in one.steps)


def _merged(one: Trajectory) -> tuple[tuple[Call, ...], ...]:
    return (one.calls,)


def _serial(one: Trajectory) -> tuple[tuple[Call, ...], ...]:
    return tuple((call,) for call in one.calls)


def _reversed(one: Trajectory) -> tuple[tuple[Call, ...], ...]:
    return one.steps[::-1]


def _twice(one: Trajectory) -> tuple[tuple[Call, ...], ...]:
    return tuple((*step, *step) for step in one.steps)


def _first(one: Trajectory) -> tuple[tuple[Call, ...], ...]:
    return (one.calls[:1],)
