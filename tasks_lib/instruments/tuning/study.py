"""The study that compares search strategies on the twin: the same scenes, budget and seeds for all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product

import numpy as np

from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.tuning.box import GainBox
from tasks_lib.instruments.tuning.objective import Objective, Tracking, tracking
from tasks_lib.instruments.tuning.scenes import scene
from tasks_lib.instruments.tuning.search import Search
from tasks_lib.instruments.tuning.strategies import STRATEGIES
from tasks_lib.records import Record

# The published threshold of the similarity of trace and retrace.
THRESHOLD = 0.8
_FRESH_FRAMES = 3
# Seeds of searches are small numbers; fresh noise comes from far away.
_FRESH_SEED = 1_000_000


class StudyCase(Record):
    """One search of a study."""

    scene: str
    strategy: str
    objective: Objective
    seed: int
    budget: int


class StudyRow(Record):
    """What came of one search.

    Attributes
    ----------
    scans : int
        Scans that were used.
    first_hit : int or None
        Scans until one reached the threshold of the levelled similarity; None where none did.
    pick : Gains or None
        The gains of the highest score; None where no frame could be judged.
    stable : bool
        Whether they make a stable loop by the equations of the twin, which no strategy is told.
    fresh_ssim : float or None
        Levelled similarity of the pick, mean of three frames with other noise.
    fresh_error : float or None
        Root mean square error of the loop there, in units of the setpoint.
    """

    case: StudyCase
    scans: int
    first_hit: int | None
    pick: Gains | None
    stable: bool
    fresh_ssim: float | None
    fresh_error: float | None

    @property
    def reached(self) -> bool:
        """Whether the pick holds the threshold on fresh noise."""
        return self.fresh_ssim is not None and self.fresh_ssim >= THRESHOLD


class StudySummary(Record):
    """All searches of one strategy on one scene, or on all of them."""

    scene: str
    strategy: str
    objective: Objective
    searches: int
    reached: int
    interval: tuple[float, float]
    stable: int
    mean_scans: float
    median_first_hit: float | None
    mean_fresh_ssim: float | None
    mean_fresh_error: float | None


def run_case(case: StudyCase, box: GainBox | None = None) -> StudyRow:
    """Run one search on the twin and measure its pick anew.

    Raises
    ------
    ConfigurationError
        If the scene or the budget is none.
    """
    box = box or GainBox()
    place = scene(case.scene)
    microscope = place.microscope(case.seed)
    search = Search(STRATEGIES[case.strategy], box, seed=case.seed, budget=case.budget)
    first_hit: int | None = None
    while search.generation:
        found = [tracking(place.probe(microscope, gains)) for gains in search.generation]
        for number, one in enumerate(found, start=len(search.trials) + 1):
            if first_hit is None and _at_least(one, THRESHOLD):
                first_hit = number
        search.tell([one.score(case.objective) for one in found])
    best = search.best
    if best is None:
        return StudyRow(
            case=case,
            scans=len(search.trials),
            first_hit=None,
            pick=None,
            stable=False,
            fresh_ssim=None,
            fresh_error=None,
        )
    again = place.microscope(_FRESH_SEED + case.seed)
    fresh = [tracking(place.probe(again, best.gains)) for _ in range(_FRESH_FRAMES)]
    return StudyRow(
        case=case,
        scans=len(search.trials),
        first_hit=first_hit,
        pick=best.gains,
        stable=place.stable(best.gains),
        fresh_ssim=_mean(one.ssim_levelled for one in fresh),
        fresh_error=_mean(one.error_share for one in fresh),
    )


def cases(
    scenes: Sequence[str], strategies: Sequence[tuple[str, Objective]], seeds: int, budget: int
) -> list[StudyCase]:
    """Return the searches of a study in order: seed by seed, so that a study that is cut short is still a fair one."""
    return [
        StudyCase(scene=name, strategy=strategy, objective=objective, seed=seed, budget=budget)
        for seed, name, (strategy, objective) in product(range(seeds), scenes, strategies)
    ]


def run_cases(
    todo: Sequence[StudyCase], *, workers: int = 1, on_row: Callable[[StudyRow], None] | None = None
) -> list[StudyRow]:
    """Run searches in processes of their own, and return their rows in the order of the cases.

    Parameters
    ----------
    todo : sequence of StudyCase
    workers : int
        Processes; 1 runs everything here.
    on_row : callable, optional
        Called with every row when it is there, in no certain order.
    """
    rows: dict[StudyCase, StudyRow] = {}
    for row in _rows(todo, min(workers, os.cpu_count() or 1)):
        rows[row.case] = row
        if on_row is not None:
            on_row(row)
    return [rows[case] for case in todo]


def _rows(todo: Sequence[StudyCase], workers: int) -> Iterator[StudyRow]:
    if workers <= 1:
        yield from map(run_case, todo)
        return
    with ProcessPoolExecutor(workers) as pool:
        waiting = [pool.submit(run_case, case) for case in todo]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def summarise(rows: Iterable[StudyRow]) -> list[StudySummary]:
    """Return one summary for each scene, strategy and objective, and one over all scenes, sorted.

    The interval of the success rate is Wilson's, 95 %.
    """
    groups: dict[tuple[str, str, Objective], list[StudyRow]] = {}
    for row in rows:
        for name in (row.case.scene, "all"):
            groups.setdefault((name, row.case.strategy, row.case.objective), []).append(row)
    order = sorted(groups, key=lambda key: (key[0] == "all", *key))
    return [_summary(key, sorted(groups[key], key=lambda row: (row.case.scene, row.case.seed))) for key in order]


def _summary(key: tuple[str, str, Objective], rows: list[StudyRow]) -> StudySummary:
    from scipy.stats import binomtest

    reached = sum(row.reached for row in rows)
    low, high = binomtest(reached, len(rows)).proportion_ci(method="wilson")
    hits = [row.first_hit for row in rows if row.first_hit is not None]
    return StudySummary(
        scene=key[0],
        strategy=key[1],
        objective=key[2],
        searches=len(rows),
        reached=reached,
        interval=(float(low), float(high)),
        stable=sum(row.stable for row in rows),
        mean_scans=float(np.mean([row.scans for row in rows])),
        median_first_hit=float(np.median(hits)) if hits else None,
        mean_fresh_ssim=_mean(row.fresh_ssim for row in rows),
        mean_fresh_error=_mean(row.fresh_error for row in rows),
    )


def _at_least(found: Tracking, threshold: float) -> bool:
    return found.ssim_levelled is not None and found.ssim_levelled >= threshold


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
