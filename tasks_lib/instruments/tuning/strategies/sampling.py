"""Searches that learn nothing: the yardsticks of all others."""

from __future__ import annotations

import math
import warnings

import numpy as np

from tasks_lib.instruments.tuning.box import GainBox, Unit
from tasks_lib.instruments.tuning.search import Generations


def random(box: GainBox, *, seed: int, budget: int) -> Generations:
    """Draw every scan evenly from the box."""
    draw = np.random.default_rng(seed)
    for _ in range(budget):
        yield [box.gains(draw.random(len(box.free)))]


def sobol(box: GainBox, *, seed: int, budget: int) -> Generations:
    """Fill the box with scrambled Sobol points."""
    for point in sobol_points(len(box.free), budget, seed):
        yield [box.gains(point)]


def sobol_points(dimensions: int, count: int, seed: int) -> Unit:
    """Return scrambled Sobol points in the unit cube, shape (count, dimensions)."""
    from scipy.stats import qmc

    sequence = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(seed))
    with warnings.catch_warnings():
        # Counts that are no power of two lose the balance of the sequence; a budget is what it is.
        warnings.simplefilter("ignore", UserWarning)
        return np.asarray(sequence.random_base2(max(1, math.ceil(math.log2(count)))))[:count]
