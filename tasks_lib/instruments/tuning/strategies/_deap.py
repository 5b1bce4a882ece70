"""What DEAP needs: individuals with a fitness, and the global random generators for the moment that it draws."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from deap.base import Fitness


class Highest(Fitness):  # type: ignore[misc]
    """The higher the better."""

    weights = (1.0,)


class Individual(list[float]):
    """A point of the unit cube with its fitness."""

    def __init__(self, values: Iterable[float]) -> None:
        super().__init__(values)
        self.fitness = Highest()


class GlobalRandom:
    """A stream of random numbers that is put in place of the global ones of `random` and numpy while DEAP draws.

    So searches that take turns, in one thread or in several, do not disturb each other, nor anybody who draws before
    or after them.
    """

    _borrowed = threading.Lock()

    def __init__(self, seed: int) -> None:
        source = np.random.default_rng(seed)
        self._python: Any = random.Random(int(source.integers(2**63))).getstate()  # noqa: S311
        self._numpy: Any = np.random.RandomState(int(source.integers(2**32))).get_state()

    @contextmanager
    def here(self) -> Iterator[None]:
        """Put the stream in place of the global generators."""
        with self._borrowed:
            python, legacy = random.getstate(), np.random.get_state()
            random.setstate(self._python)
            np.random.set_state(self._numpy)
            try:
                yield
            finally:
                self._python, self._numpy = random.getstate(), np.random.get_state()
                random.setstate(python)
                np.random.set_state(legacy)
