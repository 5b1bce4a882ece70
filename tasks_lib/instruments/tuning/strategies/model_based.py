"""Searches that keep a model of what they saw: CMA-ES, TPE, and a Gaussian process with expected improvement."""

from __future__ import annotations

import warnings

import numpy as np

from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.tuning.box import GainBox, Unit
from tasks_lib.instruments.tuning.extra import require_packages
from tasks_lib.instruments.tuning.search import Generations
from tasks_lib.instruments.tuning.strategies.sampling import sobol_points

_INITIAL = 10
_RAMP_STEPS = 6
_CANDIDATES = 2048
# Deviation of candidates round the best place, by the edge of the box: beside those all over it, and in the polish.
_NEAR, _POLISH = 0.08, 0.05


def cma_es(box: GainBox, *, seed: int, budget: int) -> Generations:
    """Search by DEAP's CMA-ES from the middle of the box, sigma 0.3 of its edges, five children a generation."""
    require_packages("deap")
    from deap import cma

    from tasks_lib.instruments.tuning.strategies._deap import GlobalRandom, Individual

    stream = GlobalRandom(seed)
    strategy = cma.Strategy(centroid=[0.5] * len(box.free), sigma=0.3, lambda_=5)
    while True:
        with stream.here():
            children = strategy.generate(Individual)
        for one in children:
            one[:] = np.clip(one, 0.0, 1.0).tolist()
        scores = yield [box.gains(one) for one in children]
        for one, score in zip(children, scores, strict=True):
            one.fitness.values = (score,)
        strategy.update(children)


def tpe(box: GainBox, *, seed: int, budget: int) -> Generations:
    """Search by Optuna's tree-structured Parzen estimator, all gains together, ten random scans first."""
    require_packages("optuna")
    import optuna

    # Only now: importing optuna sets its own level.
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=_INITIAL)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for _ in range(budget):
        trial = study.ask()
        ends = {name: getattr(box, name) for name in ("p", "i", "d")}
        chosen = {
            name: trial.suggest_int(name, low, high) if name in box.free else low for name, (low, high) in ends.items()
        }
        (score,) = yield [Gains(**chosen)]
        study.tell(trial, score)


def gp_ei(box: GainBox, *, seed: int, budget: int) -> Generations:
    """Search by a Gaussian process (Matern 5/2, noise fitted) and expected improvement, ten Sobol scans first.

    Source of the criterion: D. R. Jones, M. Schonlau and W. J. Welch, J. Global Optim. 13, 455 (1998).
    """
    points = list(sobol_points(len(box.free), min(_INITIAL, budget), seed))
    yield from _by_expected_improvement(box, points, seed=seed, budget=budget)


def ramp_gp(box: GainBox, *, seed: int, budget: int) -> Generations:
    """Search as `gp_ei` does, after a ramp of I instead of Sobol points: where an operator would look first.

    Six geometric steps of I between a fifteenth of its range and the top, P at its lowest and D in the middle: the
    loops of these instruments are integral-dominated, P shrinks the stable range and D widens it. The last third of
    the budget stays near the best place of the model: a stable loop has a cliff not far off, and an improvement that
    is expected beyond it costs scans that the top, which is narrow where steps are thin, needs.
    """
    unit = np.full((_RAMP_STEPS, len(box.free)), 0.5)
    if (axis := box.axis("i")) is not None:
        unit[:, axis] = np.geomspace(1 / 15, 1.0, _RAMP_STEPS)
    if (axis := box.axis("p")) is not None:
        unit[:, axis] = 0.0
    yield from _by_expected_improvement(box, list(unit), seed=seed, budget=budget, polish=budget // 3)


def _by_expected_improvement(
    box: GainBox, first: list[Unit], *, seed: int, budget: int, polish: int = 0
) -> Generations:
    """Scan `first`, then where most is expected; the last `polish` scans near the best place only."""
    draw = np.random.default_rng(seed)
    tried: list[Gains] = []
    scores: list[float] = []
    for point in first[:budget]:
        gains = box.gains(point)
        scores += yield [gains]
        tried.append(gains)
    while len(tried) < budget:
        places = np.array([box.unit(one) for one in tried])
        near = _POLISH if budget - len(tried) <= polish else None
        gains = box.gains(_most_promising(places, np.array(scores), draw, near))
        if gains in tried:
            # The model is sure of a place that was scanned: another look elsewhere tells more than the same again.
            best = places[int(np.argmax(scores))]
            other = draw.random(len(box.free)) if near is None else draw.normal(best, near)
            gains = box.gains(np.clip(other, 0.0, 1.0))
        scores += yield [gains]
        tried.append(gains)


def _most_promising(places: Unit, scores: Unit, draw: np.random.Generator, near: float | None = None) -> Unit:
    """Return the candidate of highest expected improvement over the best score so far.

    Candidates lie all over the unit cube, or with a deviation of `near` round the best place of the model.
    """
    require_packages("sklearn")
    from scipy.stats import norm
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
    from threadpoolctl import threadpool_limits

    count = places.shape[1]
    kernel = ConstantKernel(1.0, (0.05, 20.0)) * Matern(np.full(count, 0.3), (0.03, 3.0), nu=2.5)
    kernel += WhiteKernel(1e-2, (1e-5, 0.3))
    # A void frame says that its place is bad and not how bad; far outliers would flatten all the rest.
    floor = np.median(scores) - 3 * (np.percentile(scores, 90) - np.median(scores)) - 0.1
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    # The matrices are tiny: threads would only wait for each other, and round otherwise on another machine.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(places, np.maximum(scores, floor))
        known = model.predict(places)
        width = _NEAR if near is None else near
        close = np.clip(places[np.argmax(known)] + draw.normal(0.0, width, (_CANDIDATES // 4, count)), 0.0, 1.0)
        candidates = close if near is not None else np.vstack([draw.random((_CANDIDATES, count)), close])
        mean, spread = model.predict(candidates, return_std=True)
    gain = mean - known.max()
    spread = np.maximum(spread, 1e-9)
    improvement = gain * norm.cdf(gain / spread) + spread * norm.pdf(gain / spread)
    return np.asarray(candidates[int(np.argmax(improvement))])
