"""The box of integer gains that a search may move in, and its map to the unit cube."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import model_validator

from tasks_lib.instruments.frame import Gains
from tasks_lib.records import Record

Unit = NDArray[np.float64]
# The instruments hold gains in 32 bits.
_LARGEST_GAIN = 2**31 - 1


class GainBox(Record):
    """Lowest and highest gain of each term, both included; a term whose two ends are one is not searched.

    The preset ends are those of the published search, for the gains of Nanosurf's classic programs.
    """

    p: tuple[int, int] = (0, 500)
    i: tuple[int, int] = (500, 9000)
    d: tuple[int, int] = (0, 100)

    @model_validator(mode="after")
    def _ordered(self) -> GainBox:
        for name in ("p", "i", "d"):
            low, high = getattr(self, name)
            if not 0 <= low <= high <= _LARGEST_GAIN:
                msg = f"the {name} gains of a box go from low to high, 0 to {_LARGEST_GAIN}, not {low} to {high}"
                raise ValueError(msg)
        if not self.free:
            msg = "a box needs one gain at least whose two ends differ"
            raise ValueError(msg)
        return self

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the terms that are searched, in the order of the axes of the unit cube."""
        return tuple(name for name in ("p", "i", "d") if getattr(self, name)[0] < getattr(self, name)[1])

    def gains(self, unit: ArrayLike) -> Gains:
        """Return the gains at a point of the unit cube, shape (free,); what lies outside is brought to the wall."""
        at = dict(zip(self.free, np.clip(np.asarray(unit, dtype=float), 0.0, 1.0), strict=True))
        ends = {name: getattr(self, name) for name in ("p", "i", "d")}
        return Gains(**{name: round(low + at.get(name, 0.0) * (high - low)) for name, (low, high) in ends.items()})

    def unit(self, gains: Gains) -> Unit:
        """Return the point of the unit cube, shape (free,), that gains stand at."""
        ends = [getattr(self, name) for name in self.free]
        terms = [getattr(gains, name) for name in self.free]
        return np.array([(term - low) / (high - low) for term, (low, high) in zip(terms, ends, strict=True)])

    def axis(self, name: str) -> int | None:
        """Return the axis of a term in the unit cube, or None where it is not searched."""
        return self.free.index(name) if name in self.free else None
