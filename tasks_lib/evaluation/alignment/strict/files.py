"""Whole files in strict mode: what is refused, what is missing, and the baselines beside every score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tasks_lib.evaluation.alignment.embedding_cache import EmbeddingCache
from tasks_lib.evaluation.alignment.encoders import Encoder
from tasks_lib.evaluation.alignment.files import TrajectoryFile
from tasks_lib.evaluation.alignment.report import Budget
from tasks_lib.evaluation.alignment.strict.aggregation import aggregate, groups
from tasks_lib.evaluation.alignment.strict.baselines import Predictions, argument_swap, copies, family_template
from tasks_lib.evaluation.alignment.strict.inference import with_inferred
from tasks_lib.evaluation.alignment.strict.reading import Comparer, ReadTrajectory, read, rules_by_tool
from tasks_lib.evaluation.alignment.strict.report import Baselines, StrictReport, StrictTask
from tasks_lib.evaluation.alignment.strict.rules import ArgumentRule
from tasks_lib.evaluation.alignment.strict.scoring import GATE, NO_BUDGET, missing_task, score_task
from tasks_lib.evaluation.alignment.strict.snapshot import ToolSnapshot
from tasks_lib.evaluation.alignment.strict.stated import ArgumentRules
from tasks_lib.evaluation.alignment.strict.texts import TextSimilarity
from tasks_lib.evaluation.alignment.trajectories import Trajectory
from tasks_lib.records.errors import ConfigurationError

# Of one trajectory; comparing takes time for calls of both sides multiplied.
MOST_CALLS = 1000
_TOLD = 3


def score_strictly(
    references: TrajectoryFile,
    predictions: Sequence[TrajectoryFile],
    encoder: Encoder,
    *,
    tools: ToolSnapshot | None = None,
    rules: ArgumentRules | None = None,
    cache: EmbeddingCache | None = None,
    budget: Budget = NO_BUDGET,
    workspaces: Sequence[str] = (),
    seed: int = 0,
) -> tuple[StrictReport, ...]:
    """Score files of predictions against one file of references, argument by argument.

    Every reference counts: one without a prediction counts 0.

    Parameters
    ----------
    references : TrajectoryFile
        From `read_trajectories`.
    predictions : sequence of TrajectoryFile
        One or several, say one a model.
    encoder : Encoder
        Compares texts of five words and more.
    tools : ToolSnapshot, optional
        Schemas of the tools; those of tools that it lacks are inferred from the references.
    rules : ArgumentRules, optional
        From `read_rules`; they win over what the schemas say.
    cache : EmbeddingCache, optional
        Where vectors are kept.
    budget : Budget, optional
        Who spends more is told.
    workspaces : sequence of str, optional
        Folders of either side; the one in which a side finds its task's picture is known without.
    seed : int, optional
        Of the baselines.

    Returns
    -------
    tuple of StrictReport
        One a file of predictions. The same bytes whatever the batches, the threads and the cache.

    Raises
    ------
    ConfigurationError
        If an id stands twice in a file, a reference has more calls than are scored, or a rule is of a tool or an
        argument that there is not.
    """
    for file in (references, *predictions):
        _refuse_repeats(file)
    given = list(references.trajectories.values())
    _refuse_long(references.name, given)
    scoring = _Scoring.prepare(given, tools, workspaces, rules)
    guesses = _guesses(given, seed)
    asked = [scoring.readable(file.trajectories) for file in (*predictions, *(_file(guess) for guess in guesses))]
    alike = TextSimilarity(scoring.texts(asked), encoder, cache)
    comparer = Comparer(scoring.rules, alike)
    scored = [scoring.score(one, comparer, budget) for one in asked]
    beside = _baselines(scored[len(predictions) :], seed)
    return tuple(
        _report(references, file, tasks, encoder, scoring, budget, beside)
        for file, tasks in zip(predictions, scored, strict=False)
    )


def _guesses(references: Sequence[Trajectory], seed: int) -> list[Predictions]:
    return [copies(references), argument_swap(references, seed), family_template(references, seed), {}]


def _file(predictions: Predictions) -> TrajectoryFile:
    return TrajectoryFile("", predictions)


def _baselines(scored: Sequence[Sequence[StrictTask]], seed: int) -> Baselines:
    copy, swap, template, empty = (aggregate("", tasks).scores for tasks in scored)
    return Baselines(seed=seed, copy_ceiling=copy, argument_swap=swap, family_template=template, empty=empty)


@dataclass(frozen=True)
class _Scoring:
    """What all files of predictions are scored by."""

    references: Sequence[Trajectory]
    tools: ToolSnapshot
    inferred: tuple[str, ...]
    ways: Mapping[str, tuple[ReadTrajectory, ...]]
    rules: Mapping[str, tuple[ArgumentRule, ...]]
    workspaces: Sequence[str]
    rules_digest: str | None

    @classmethod
    def prepare(
        cls,
        references: Sequence[Trajectory],
        tools: ToolSnapshot | None,
        workspaces: Sequence[str],
        stated: ArgumentRules | None,
    ) -> _Scoring:
        every = [way for one in references for way in (one, *one.alternatives)]
        known = with_inferred(tools, (call for way in every for call in way.calls))
        inferred = tuple(tool.name for tool in known.tools if tools is None or tools.tool(tool.name) is None)
        ways = {one.id: tuple(read(way, known, workspaces) for way in (one, *one.alternatives)) for one in references}
        rules = rules_by_tool(known, [way for found in ways.values() for way in found], stated)
        return cls(references, known, inferred, ways, rules, workspaces, stated.digest if stated else None)

    def readable(self, predictions: Predictions) -> dict[str, ReadTrajectory | str]:
        """Read the predictions of the references' tasks; a text says why there is none."""
        found: dict[str, ReadTrajectory | str] = {}
        for one in self.references:
            prediction = predictions.get(one.id)
            if prediction is None:
                found[one.id] = "no prediction"
            elif (number := len(prediction.calls)) > MOST_CALLS:
                found[one.id] = f"{number} calls, at most {MOST_CALLS} are scored"
            else:
                found[one.id] = read(prediction, self.tools, self.workspaces)
        return found

    def texts(self, asked: Iterable[Mapping[str, ReadTrajectory | str]]) -> Iterator[str]:
        """Give every text that will be compared."""
        called = {key: {call.tool for way in ways for call in way.trajectory.calls} for key, ways in self.ways.items()}
        for key, ways in self.ways.items():
            for way in ways:
                yield from way.texts(called[key])
        for predictions in asked:
            for key, prediction in predictions.items():
                if not isinstance(prediction, str):
                    yield from prediction.texts(called[key])

    def score(
        self, predictions: Mapping[str, ReadTrajectory | str], comparer: Comparer, budget: Budget
    ) -> list[StrictTask]:
        """Score the predictions of all references, sorted by id."""
        return [
            missing_task(one, prediction)
            if isinstance(prediction := predictions[one.id], str)
            else score_task(self.ways[one.id], prediction, comparer, budget=budget)
            for one in sorted(self.references, key=lambda one: one.id)
        ]


def _refuse_repeats(file: TrajectoryFile) -> None:
    if file.repeated:
        told = [str(oddity) for oddity in file.oddities if any(repr(key) in oddity.what for key in file.repeated)]
        more = f" and {len(told) - _TOLD} more" if len(told) > _TOLD else ""
        msg = f"{file.name}: an id stands once in a file: {'; '.join(told[:_TOLD])}{more}: keep one of each"
        raise ConfigurationError(msg)


def _refuse_long(name: str, references: Sequence[Trajectory]) -> None:
    for one in references:
        longest = max(len(way.calls) for way in (one, *one.alternatives))
        if longest > MOST_CALLS:
            msg = f"{name}: reference {one.id!r} has {longest} calls, at most {MOST_CALLS} are scored: split the task"
            raise ConfigurationError(msg)


def _report(
    references: TrajectoryFile,
    predictions: TrajectoryFile,
    tasks: Sequence[StrictTask],
    encoder: Encoder,
    scoring: _Scoring,
    budget: Budget,
    beside: Baselines,
) -> StrictReport:
    return StrictReport(
        references=references.name,
        predictions=predictions.name,
        encoder=encoder.name,
        encoder_digest=encoder.digest,
        tools=scoring.tools.source,
        tools_digest=scoring.tools.digest,
        rules_digest=scoring.rules_digest,
        inferred=scoring.inferred,
        gate=GATE,
        budget=budget,
        total=aggregate("all", tasks),
        by_kind=groups(tasks, lambda task: task.kind),
        by_family=groups(tasks, lambda task: task.family),
        baselines=beside,
        tasks=tuple(tasks),
        without_prediction=tuple(task.id for task in tasks if task.missing),
        without_reference=tuple(sorted(predictions.trajectories.keys() - references.trajectories.keys())),
        oddities=tuple(f"{file.name}: {oddity}" for file in (references, predictions) for oddity in file.oddities),
    )
