"""A panel of judges over a file of predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from statistics import fmean

from tasks_lib.evaluation.alignment import Trajectory, TrajectoryFile
from tasks_lib.evaluation.judges.asking import TRIES, Judge, ask
from tasks_lib.evaluation.judges.digests import LONGEST_DIGEST, Digest, make_digest
from tasks_lib.evaluation.judges.kinship import kinship
from tasks_lib.evaluation.judges.report import (
    JudgedBy,
    Judgement,
    JudgeReport,
    Metric,
    MetricSummary,
    Opinion,
)
from tasks_lib.evaluation.judges.rubrics import RUBRICS
from tasks_lib.models import Redactor
from tasks_lib.records.errors import ConfigurationError

# From so many on, the highest and the lowest opinion are left out.
_TRIMMED_FROM = 3


@dataclass(frozen=True)
class Panel:
    """Who judges, and within which limits.

    Attributes
    ----------
    judges : tuple of Judge
        At least one; the published panel has four.
    contestant : str
        The model whose work is judged, as its endpoint knows it; empty where nobody says.
    longest_digest : int
        Characters of what a judge is shown.
    tries : int
        Replies that a judge is asked for before it has failed.
    at_once : int
        Judges that are asked at a time.
    hide : Redactor
        Takes secrets out of what judges are shown and of what they say.
    """

    judges: tuple[Judge, ...]
    contestant: str = ""
    longest_digest: int = LONGEST_DIGEST
    tries: int = TRIES
    at_once: int = 4
    hide: Redactor = field(default_factory=Redactor)

    def __post_init__(self) -> None:
        names = [judge.name for judge in self.judges]
        if not names or len(set(names)) < len(names):
            msg = f"a panel has judges of different names, got {', '.join(names) or 'none'}: name each judge once"
            raise ConfigurationError(msg)


def judge_files(
    references: TrajectoryFile,
    predictions: TrajectoryFile,
    panel: Panel,
    metrics: Sequence[Metric] = tuple(Metric),
    on_judged: Callable[[Judgement], None] = lambda _: None,
) -> JudgeReport:
    """Have a panel judge a file of predictions.

    Every task of the references counts. Without a prediction it is 0 and nobody is asked; where a judge fails it is
    VOID for that metric, however many others have answered.

    Parameters
    ----------
    references : TrajectoryFile
        Their questions are what the tasks asked for; where one has none, the prediction's is taken.
    predictions : TrajectoryFile
        With results and final replies.
    panel : Panel
        Who judges.
    metrics : sequence of Metric, optional
        What about.
    on_judged : callable, optional
        Told of each judgement, in the order of tasks and metrics.

    Raises
    ------
    ConfigurationError
        If an id stands twice in one of the files.
    """
    for file in (references, predictions):
        if file.repeated:
            twice = ", ".join(file.repeated[:5])
            msg = f"{file.name}: an id stands once in a file that is judged, {twice} comes twice: remove one"
            raise ConfigurationError(msg)
    judgements: list[Judgement] = []
    with ThreadPoolExecutor(max_workers=panel.at_once) as pool:
        try:
            for pending in [
                _Pending.begin(reference, predictions.trajectories.get(key), metric, panel, pool)
                for key, reference in sorted(references.trajectories.items())
                for metric in metrics
            ]:
                judgements.append(pending.wait())
                on_judged(judgements[-1])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    unknown = sorted(predictions.trajectories.keys() - references.trajectories.keys())
    return JudgeReport(
        references=references.name,
        predictions=predictions.name,
        contestant=panel.contestant,
        longest_digest=panel.longest_digest,
        trimmed=len(panel.judges) >= _TRIMMED_FROM,
        metrics=tuple(_summary(metric, judgements, panel) for metric in metrics),
        judgements=tuple(judgements),
        oddities=(
            *(f"{file.name}: {oddity}" for file in (references, predictions) for oddity in file.oddities),
            *(f"{predictions.name}: {key!r} is no task of the references and is not judged" for key in unknown),
            *_without_question(references, predictions),
        ),
    )


def _without_question(references: TrajectoryFile, predictions: TrajectoryFile) -> Iterator[str]:
    for key, reference in sorted(references.trajectories.items()):
        prediction = predictions.trajectories.get(key)
        if prediction is not None and not (reference.question or prediction.question):
            yield f"{references.name}: {key!r} has no question, so judges were not told what the task is: add it"


@dataclass(frozen=True)
class _Pending:
    """A judgement for which judges are being asked."""

    reference: Trajectory
    metric: Metric
    digest: Digest | None
    opinions: tuple[Future[Opinion], ...]

    @classmethod
    def begin(
        cls,
        reference: Trajectory,
        prediction: Trajectory | None,
        metric: Metric,
        panel: Panel,
        pool: ThreadPoolExecutor,
    ) -> _Pending:
        if prediction is None:
            return cls(reference, metric, None, ())
        digest = make_digest(
            prediction,
            question=reference.question or prediction.question,
            reference=reference if RUBRICS[metric].needs_reference else None,
            hide=panel.hide,
            longest=panel.longest_digest,
        )
        asked = tuple(
            pool.submit(ask, judge, reference.id, metric, digest, tries=panel.tries, hide=panel.hide)
            for judge in panel.judges
        )
        return cls(reference, metric, digest, asked)

    def wait(self) -> Judgement:
        opinions = tuple(future.result() for future in self.opinions)
        values = [one.value for one in opinions if one.value is not None]
        value: float | None = 0.0
        if self.digest is not None:
            value = _trimmed_mean(values) if len(values) == len(opinions) else None
        return Judgement(
            task=self.reference.id,
            family=self.reference.family,
            metric=self.metric,
            value=value,
            missing=self.digest is None,
            digest=self.digest.sha256 if self.digest else None,
            cut=self.digest.cut if self.digest else False,
            opinions=opinions,
        )


def _trimmed_mean(values: Sequence[float]) -> float:
    return fmean(sorted(values)[1:-1] if len(values) >= _TRIMMED_FROM else values)


def _summary(metric: Metric, judgements: Sequence[Judgement], panel: Panel) -> MetricSummary:
    mine = [one for one in judgements if one.metric is metric]
    values = [one.value for one in mine if one.value is not None]
    void = len(mine) - len(values)
    mean = fmean(values) if values else None
    return MetricSummary(
        metric=metric,
        tasks=len(mine),
        judged=len(values),
        void=void,
        missing=sum(one.missing for one in mine),
        value=None if void else mean,
        low=sum(values) / len(mine) if mine else None,
        high=(sum(values) + void) / len(mine) if mine else None,
        judged_mean=mean,
        judges=tuple(_judged_by(mine, panel)),
    )


def _judged_by(judgements: Sequence[Judgement], panel: Panel) -> Iterator[JudgedBy]:
    for judge in panel.judges:
        own = [opinion for one in judgements for opinion in one.opinions if opinion.judge == judge.name]
        values = [opinion.value for opinion in own if opinion.value is not None]
        yield JudgedBy(
            judge=judge.name,
            model=judge.model,
            kinship=kinship(judge.model, panel.contestant),
            opinions=len(values),
            failed=len(own) - len(values),
            mean=fmean(values) if values else None,
        )
