"""PID calibration: a search of gains between frames with those of before and fresh frames with the best."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field

from tasks_lib.instruments.experiments.procedure import ExperimentError, FrameOrder, Procedure, check, taken, use
from tasks_lib.instruments.experiments.report import Finding, FrameUse, Report, Series, mean_of
from tasks_lib.instruments.frame import Frame, Gains
from tasks_lib.instruments.protocol import Value
from tasks_lib.instruments.tuning.box import GainBox
from tasks_lib.instruments.tuning.objective import Objective, Tracking, tracking
from tasks_lib.instruments.tuning.search import Search

# The published search was content with this similarity.
THRESHOLD = 0.8


@dataclass(frozen=True)
class PidCalibration:
    """Search gains, and measure what they are worth.

    Attributes
    ----------
    strategy : str
        Name of one of `STRATEGIES`.
    budget : int
        Scans of the search.
    seed : int
        Of the search.
    box : GainBox
    objective : Objective
    repeats : int
        Fresh frames before and after, at least two: their scatter is the uncertainty.
    """

    strategy: str = "ramp-gp"
    budget: int = 20
    seed: int = 0
    box: GainBox = field(default_factory=GainBox)
    objective: Objective = Objective.TRACKING
    repeats: int = 3
    name: str = "pid-calibration"
    leaves: frozenset[str] = frozenset({"p", "i", "d"})
    same_place: bool = False

    def plan(self) -> tuple[FrameOrder, ...]:
        """Return the frames with the present gains; the search decides on the next."""
        return tuple(
            FrameOrder(name=f"before-{number}", purpose="the gains of before") for number in range(1, self.repeats + 1)
        )

    def steps(self) -> Procedure:
        """Measure, search, verify."""
        from tasks_lib.instruments.tuning.strategies import STRATEGIES

        if self.strategy not in STRATEGIES:
            raise ExperimentError(f"there is no strategy {self.strategy!r}; take one of {', '.join(STRATEGIES)}")
        uses: list[FrameUse] = []
        before: list[Tracking] = []
        for order in self.plan():
            frame = yield from taken(order)
            uses.append(use(order, frame))
            before.append(_judged(frame, order.name))
        search = Search(STRATEGIES[self.strategy], self.box, seed=self.seed, budget=self.budget)
        while search.generation:
            scores: list[float | None] = []
            for gains in search.generation:
                order = FrameOrder(
                    name=f"trial-{len(search.trials) + len(scores) + 1}",
                    purpose=f"P {gains.p}, I {gains.i}, D {gains.d}",
                    values=_values(gains),
                )
                # Not refused when not valid: that gains lose the surface is what a search has to learn.
                frame = yield order
                uses.append(use(order, frame))
                scores.append(tracking(frame).score(self.objective))
            search.tell(scores)
        best = search.best
        if best is None:
            raise ExperimentError(f"none of {len(search.trials)} frames of the search could be judged: approach again")
        after = yield from self._verify(best.gains, uses)
        return self._report(best.gains, search, before, after, tuple(uses))

    def _verify(self, gains: Gains, uses: list[FrameUse]) -> Generator[FrameOrder, Frame, list[Tracking]]:
        found = []
        values = _values(gains)
        for number in range(1, self.repeats + 1):
            order = FrameOrder(name=f"after-{number}", purpose="the best gains on fresh noise", values=values)
            frame = yield from taken(order)
            uses.append(use(order, frame))
            found.append(_judged(frame, order.name))
            values = {}
        return found

    def _report(
        self, gains: Gains, search: Search, before: list[Tracking], after: list[Tracking], uses: tuple[FrameUse, ...]
    ) -> Report:
        basis = f"scatter of {self.repeats} frames"
        similar = [_known(one.ssim_levelled) for one in after]
        reached = math.fsum(similar) / len(similar) >= THRESHOLD
        return Report(
            experiment=self.name,
            quantities=(
                mean_of("similarity after", similar, "1", basis),
                mean_of("error after", [_known(one.error_share) for one in after], "1", basis + "; by the setpoint"),
                mean_of("similarity before", [_known(one.ssim_levelled) for one in before], "1", basis),
            ),
            findings=(
                Finding(
                    name="threshold reached", value=reached,
                    basis=f"mean similarity of the levelled images at least {THRESHOLD:g}",
                ),
                Finding(
                    name="stable loop", value=all(_known(one.ringing) * 100 < 2 for one in after),
                    basis="ringing below 2 % of the setpoint in every fresh frame",
                ),
                Finding(name="gains", value=f"P {gains.p}, I {gains.i}, D {gains.d}", basis=self.strategy),
            ),
            frames=uses,
            series=(
                Series(
                    name="search",
                    columns=("scan", "P", "I", "D", "score"),
                    rows=tuple(
                        (
                            float(one.number + 1), float(one.gains.p), float(one.gains.i), float(one.gains.d),
                            "void" if one.score is None else one.score,
                        )
                        for one in search.trials
                    ),
                ),
            ),
        )  # fmt: skip


def _values(gains: Gains) -> dict[str, Value]:
    return dict(gains.model_dump())


def _judged(frame: Frame, name: str) -> Tracking:
    check(frame, name)
    found = tracking(frame)
    if found.problems:
        raise ExperimentError(f"frame {name} ({frame.source}) cannot be judged: {'; '.join(found.problems)}")
    return found


def _known(value: float | None) -> float:
    # `_judged` let only complete judgements pass.
    assert value is not None  # noqa: S101
    return value
