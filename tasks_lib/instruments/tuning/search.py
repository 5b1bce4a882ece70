"""A search as generations of gains to try and scores to hear; the same seed and scores give the same search."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from typing import Protocol

from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.tuning.box import GainBox
from tasks_lib.records import Record
from tasks_lib.records.errors import ConfigurationError

# What a frame counts for that could not be judged. Scores beyond ±10, as of a loop whose error is many times its
# setpoint, are told as ±10: no frame that could be judged counts for less than one that could not.
WORST = -10.0
MAX_SEED = 2**32 - 1

# Yields a generation, never an empty one, and is sent its scores: higher is better, and always finite.
Generations = Generator[Sequence[Gains], Sequence[float], None]


class Strategy(Protocol):
    """Makes the generations of one search within a budget of scans."""

    def __call__(self, box: GainBox, *, seed: int, budget: int) -> Generations:
        """Begin a search; equal arguments and equal scores give equal generations."""
        ...


class Trial(Record):
    """One scan of a search: its number and generation, both from 0, the gains, and the score, None where void."""

    number: int
    generation: int
    gains: Gains
    score: float | None


class Search:
    """A strategy at work: take `generation`, scan it, `tell` the scores, until `generation` is empty.

    A search that was cut off goes on by telling the recorded scores to a new one with the same arguments.

    Parameters
    ----------
    strategy : Strategy
    box : GainBox
    seed : int
        0 to `MAX_SEED`.
    budget : int
        Scans that the search may use, counted alike for all strategies.

    Attributes
    ----------
    generation : tuple of Gains
        What is to be scanned next; empty where the budget is used up or the strategy has nothing more to try.
    trials : list of Trial
        What was scanned, in order.
    """

    def __init__(self, strategy: Strategy, box: GainBox, *, seed: int, budget: int) -> None:
        if budget < 1:
            msg = f"a search needs one scan at least, not {budget}"
            raise ConfigurationError(msg)
        if not 0 <= seed <= MAX_SEED:
            msg = f"the seed of a search lies between 0 and {MAX_SEED}, not at {seed}"
            raise ConfigurationError(msg)
        self._budget = budget
        self._generations = strategy(box, seed=seed, budget=budget)
        self._count = 0
        self.trials: list[Trial] = []
        self.generation: tuple[Gains, ...] = tuple(next(self._generations))[:budget]

    def tell(self, scores: Sequence[float | None]) -> None:
        """Hand over the scores of `generation`, one for each, None for a frame that could not be judged.

        Raises
        ------
        ValueError
            If there are more or fewer scores than gains; none was heard then.
        """
        if len(scores) != len(self.generation):
            msg = f"{len(scores)} scores for {len(self.generation)} gains: tell one for each"
            raise ValueError(msg)
        for gains, score in zip(self.generation, scores, strict=True):
            known = None if score is None or not math.isfinite(score) else float(score)
            self.trials.append(Trial(number=len(self.trials), generation=self._count, gains=gains, score=known))
        told = self.trials[len(self.trials) - len(scores) :]
        heard = [WORST if one.score is None else min(max(one.score, WORST), -WORST) for one in told]
        self._count += 1
        left = self._budget - len(self.trials)
        # A generation that the budget cut short is the last: its strategy is not asked again.
        try:
            self.generation = tuple(self._generations.send(heard))[:left] if left else ()
        except StopIteration:
            self.generation = ()

    def replay(self, recorded: Sequence[Trial]) -> int:
        """Tell whole generations that were scanned before, and return how many scans of the next one are known.

        Raises
        ------
        ConfigurationError
            If the recorded gains are not those that this search tries: it has another strategy, box, seed or budget.
        """
        at = 0
        while self.generation:
            part = recorded[at : at + len(self.generation)]
            for gains, trial in zip(self.generation, part, strict=False):
                if gains != trial.gains:
                    msg = (
                        f"scan {trial.number} was made with {trial.gains!r} and this search tries {gains!r} there:"
                        " it goes on only with the strategy, the box, the seed and the budget that it began with"
                    )
                    raise ConfigurationError(msg)
            if len(part) < len(self.generation):
                return len(part)
            self.tell([one.score for one in part])
            at += len(part)
        return 0

    @property
    def best(self) -> Trial | None:
        """The trial with the highest score, the earliest of equals; None where none could be judged."""
        judged = [one for one in self.trials if one.score is not None]
        return max(judged, key=lambda one: (one.score, -one.number), default=None)
