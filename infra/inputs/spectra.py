"""Photoelectron spectra with a known truth: Gaussian lines, a Shirley background, counting noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Curve = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Line:
    """A Gaussian line: centre in eV (or degrees), height in counts, full width at half maximum as `centre`."""

    centre: float
    height: float
    fwhm: float

    @property
    def area(self) -> float:
        """Return the area, counts times the unit of `centre`."""
        return self.height * self.fwhm * float(np.sqrt(np.pi / np.log(2.0))) / 2.0


def axis(start: float, stop: float, step: float) -> Curve:
    """Return an even axis from `start` to `stop`, both included, rounded to 1e-4 so that it prints without a tail."""
    points = round((stop - start) / step) + 1
    return np.round(start + step * np.arange(points), 4)


def profile(x: Curve, lines: Sequence[Line]) -> Curve:
    """Return the sum of the lines at `x`, counts."""
    total = np.zeros_like(x)
    for line in lines:
        total += line.height * np.exp(-4.0 * np.log(2.0) * ((x - line.centre) / line.fwhm) ** 2)
    return total


def shirley(x: Curve, signal: Curve, low: float, high: float) -> Curve:
    """Return the background that Shirley's rule gives for a noise-free `signal`.

    At each energy the background rises in proportion to the peak area on its low binding-energy side, from inelastic
    losses of those electrons (D. A. Shirley, Phys. Rev. B 5, 4709 (1972)).

    Parameters
    ----------
    x : Curve, shape (n,)
        Binding energy, rising, eV.
    signal : Curve, shape (n,)
        Peaks without background, counts.
    low, high : float
        Background at the first and at the last point, counts.
    """
    steps = 0.5 * (signal[1:] + signal[:-1]) * np.diff(x)
    rising = np.concatenate(([0.0], np.cumsum(steps)))
    return low + (high - low) * rising / rising[-1]


def count(expected: Curve, seed: int) -> NDArray[np.int64]:
    """Draw Poisson counts around `expected`; the same seed gives the same counts."""
    return np.random.default_rng(seed).poisson(expected)


def two_columns(x: Curve, counts: NDArray[np.int64], header: Sequence[str], digits: int = 2) -> bytes:
    """Write a spectrum as text: `header` lines behind ``#``, then energy and counts separated by a tab."""
    lines = [f"# {line}" for line in header]
    lines += [f"{energy:.{digits}f}\t{value}" for energy, value in zip(x, counts, strict=True)]
    return ("\n".join(lines) + "\n").encode("utf-8")
