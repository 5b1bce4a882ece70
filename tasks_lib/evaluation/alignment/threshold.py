"""Which threshold of similarity agrees best with people who said of pairs of calls whether they mean the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError

from tasks_lib.evaluation.alignment.embedding import embed
from tasks_lib.evaluation.alignment.embedding_cache import EmbeddingCache
from tasks_lib.evaluation.alignment.encoders import Encoder
from tasks_lib.evaluation.alignment.scoring import TAU_STRONG, TAU_WEAK
from tasks_lib.evaluation.alignment.similarity import SCALE, cosines
from tasks_lib.evaluation.alignment.trajectories import canonical_text
from tasks_lib.records import Document, Json, Record, load_json
from tasks_lib.records.errors import ConfigurationError

# A resample is a row of as many numbers as there are pairs.
_MOST_PAIRS = 10_000
_MOST_RESAMPLES = 100_000
_CURVE = tuple(round(0.01 * step, 2) for step in range(101))
_CONFIDENCE = 0.95


class LabelledPair(Record):
    """Arguments of two calls of one tool, and what a person said of them."""

    tool: str = ""
    reference: Json
    prediction: Json
    same: bool = Field(description="a person takes the second call for the first")


class CurvePoint(Record):
    """Agreement with people at one threshold."""

    tau: float
    agreement: float = Field(description="share of pairs where similarity >= tau is what the person said")
    accepted: float = Field(description="share of pairs with similarity >= tau")


class PairSimilarity(Record):
    """One pair's cosine beside its label."""

    tool: str
    similarity: float
    same: bool


class ThresholdSweep(Document):
    """The threshold that agrees best with people, and how sure that is."""

    encoder: str
    pairs: int = Field(ge=2)
    same: int = Field(ge=0, description="pairs that a person took for the same")
    tau: float = Field(description="middle of the widest range of best thresholds")
    low: float = Field(description="that range begins here")
    high: float = Field(description="and ends here")
    agreement: float = Field(description="at tau, on the pairs that tau was chosen by: too high")
    held_out: float | None = Field(description="mean agreement on the pairs that a resample leaves out")
    interval: tuple[float, float] = Field(description="95 % percentile interval of the bootstrapped optimum")
    resamples: int
    seed: int
    published: tuple[CurvePoint, ...] = Field(description="at the published thresholds")
    curve: tuple[CurvePoint, ...]
    similarities: tuple[PairSimilarity, ...]


def read_labelled_pairs(path: Path) -> tuple[LabelledPair, ...]:
    """Read labelled pairs of calls.

    Parameters
    ----------
    path : Path
        JSON: a list of objects with ``reference`` and ``prediction`` (arguments), ``same`` (true or false) and, if
        wanted, ``tool``.

    Returns
    -------
    tuple of LabelledPair
        In the order of the file.

    Raises
    ------
    ConfigurationError
        If the file is no such list.
    OSError
        If the file cannot be read.
    """
    try:
        return TypeAdapter(tuple[LabelledPair, ...]).validate_python(load_json(path.read_bytes()))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        msg = f"{path}: [{place}]: a labelled pair has reference, prediction and same: {first['msg']}: correct it"
        raise ConfigurationError(msg) from error
    except ValueError as error:
        msg = f"{path}: labelled pairs are a JSON list in UTF-8: {error}: write it anew"
        raise ConfigurationError(msg) from error


def check_pairs(pairs: Sequence[LabelledPair]) -> None:
    """Refuse pairs that tell no threshold, before anything is encoded for them.

    Raises
    ------
    ConfigurationError
        If they are too few or too many, or all labelled alike.
    """
    if not 2 <= len(pairs) <= _MOST_PAIRS:
        msg = f"a sweep takes 2 to {_MOST_PAIRS} labelled pairs, got {len(pairs)}: label more, or take a part"
        raise ConfigurationError(msg)
    if len({pair.same for pair in pairs}) == 1:
        said = "same" if pairs[0].same else "not the same"
        msg = f"all {len(pairs)} pairs are labelled {said}, which tells no threshold: label pairs of both kinds"
        raise ConfigurationError(msg)


def sweep_threshold(
    pairs: Sequence[LabelledPair],
    encoder: Encoder,
    *,
    cache: EmbeddingCache | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> ThresholdSweep:
    """Find the threshold whose decisions agree best with people's.

    Every threshold in [0, 1] counts, not a grid: between two neighbouring similarities all decide alike. Where several
    such ranges agree best, the widest is taken (of equal ones the lowest), and of it the middle.

    Parameters
    ----------
    pairs : sequence of LabelledPair
        At least two, with both labels among them.
    encoder : Encoder
        Embeds the arguments.
    cache : EmbeddingCache, optional
        Where vectors are kept.
    resamples, seed : int, optional
        Of the bootstrap over pairs.

    Returns
    -------
    ThresholdSweep
        The same for the same arguments.

    Raises
    ------
    ConfigurationError
        If pairs are too few or too many, all alike, or the number of resamples is out of range.
    """
    check_pairs(pairs)
    if not 1 <= resamples <= _MOST_RESAMPLES:
        msg = f"a bootstrap has 1 to {_MOST_RESAMPLES} resamples, got {resamples}: give another number"
        raise ConfigurationError(msg)
    texts = [(canonical_text(pair.reference), canonical_text(pair.prediction)) for pair in pairs]
    embedding = embed((text for both in texts for text in both), encoder, cache)
    found = np.array([cosines(embedding.rows([one]), embedding.rows([other]))[0, 0] for one, other in texts])
    labels = np.array([pair.same for pair in pairs])
    cuts = _Cuts(found, labels)
    best = cuts.best(np.ones(len(pairs), dtype=np.int64))
    optima, held_out = _bootstrap(cuts, resamples, seed)
    ends = np.quantile(optima, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2])
    return ThresholdSweep(
        encoder=encoder.name,
        pairs=len(pairs),
        same=int(labels.sum()),
        tau=best.tau,
        low=best.low,
        high=best.high,
        agreement=_point(found, labels, best.tau).agreement,
        held_out=held_out,
        interval=(float(ends[0]), float(ends[1])),
        resamples=resamples,
        seed=seed,
        published=tuple(_point(found, labels, tau) for tau in (TAU_WEAK, TAU_STRONG)),
        curve=tuple(_point(found, labels, tau) for tau in _CURVE),
        similarities=tuple(
            PairSimilarity(tool=pair.tool, similarity=float(value), same=pair.same)
            for pair, value in zip(pairs, found, strict=True)
        ),
    )


@dataclass(frozen=True, slots=True)
class _Range:
    low: float
    high: float

    @property
    def tau(self) -> float:
        return (self.low + self.high) / 2


class _Cuts:
    """All ways to part pairs by a threshold in [0, 1]: cut c accepts the pairs from c on in the order of similarity."""

    def __init__(self, similarities: NDArray[np.float64], labels: NDArray[np.bool_]) -> None:
        self.order = np.argsort(similarities, kind="stable")
        self.sorted = similarities[self.order]
        self.labels = labels[self.order]
        # A threshold t belongs to cut c where edges[c] < t <= edges[c + 1]; a range may be empty. The first edge lies
        # below 0 by the least difference of two cosines, so that a threshold of 0 belongs to a cut as well.
        below = -1.0 / SCALE
        self.edges = np.concatenate([[below], np.clip(self.sorted, below, 1.0), [1.0]])

    def right(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the summed weight of the pairs that each cut decides rightly; `weights` in the order of the sort."""
        refused = np.concatenate([[0], np.cumsum(weights * ~self.labels)])
        accepted = np.concatenate([np.cumsum((weights * self.labels)[::-1])[::-1], [0]])
        total: NDArray[np.int64] = refused + accepted
        return total

    def best(self, weights: NDArray[np.int64]) -> _Range:
        """Return the widest run of neighbouring cuts that are right most often."""
        right = self.right(weights)
        real = np.flatnonzero(np.diff(self.edges) > 0)
        top = real[right[real] == right[real].max()]
        # Cuts between two of `top` that have no width part nothing.
        breaks = np.flatnonzero(self.edges[top[1:]] > self.edges[top[:-1] + 1]) + 1
        ends = [(float(self.edges[run[0]]), float(self.edges[run[-1] + 1])) for run in np.split(top, breaks)]
        runs = [_Range(max(0.0, low), high) for low, high in ends]
        return max(runs, key=lambda run: (run.high - run.low, -run.low))


def _bootstrap(cuts: _Cuts, resamples: int, seed: int) -> tuple[list[float], float | None]:
    """Draw pairs with replacement; return the optima, and the mean agreement on pairs that were not drawn."""
    draw = np.random.default_rng(seed)
    n = len(cuts.labels)
    optima, outside = [], []
    for _ in range(resamples):
        weights = np.bincount(draw.integers(0, n, size=n), minlength=n)
        tau = cuts.best(weights).tau
        optima.append(tau)
        left = weights == 0
        if left.any():
            outside.append(float(np.mean((cuts.sorted[left] >= tau) == cuts.labels[left])))
    return optima, float(np.mean(outside)) if outside else None


def _point(similarities: NDArray[np.float64], labels: NDArray[np.bool_], tau: float) -> CurvePoint:
    accepted = similarities >= tau
    return CurvePoint(tau=tau, agreement=float((accepted == labels).mean()), accepted=float(accepted.mean()))
