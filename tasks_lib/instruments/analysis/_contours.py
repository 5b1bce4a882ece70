"""Closed outlines of a hollow at a height: area, second moments, and symmetry of the radius."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tasks_lib.instruments.analysis._field import AnalysisError
from tasks_lib.instruments.frame import Samples

_ANGLES = 720
_LEAST_AREA_PIXELS = 12


@dataclass(frozen=True, eq=False)
class Outline:
    """A closed polygon: vertices (x, y) in metres, first one not repeated, in the order of rising angle."""

    vertices: Samples

    @cached_property
    def _moments(self) -> tuple[float, Samples, Samples]:
        # Green's theorem on the vertices, about their mean so that no digits are lost to the place in the frame.
        origin = self.vertices.mean(axis=0)
        x, y = (self.vertices - origin).T
        x1, y1 = np.roll(x, -1), np.roll(y, -1)
        cross = x * y1 - x1 * y
        area = float(cross.sum()) / 2
        centre = np.array([((x + x1) * cross).sum(), ((y + y1) * cross).sum()]) / (6 * area)
        xx = ((x * x + x * x1 + x1 * x1) * cross).sum() / (12 * area) - centre[0] ** 2
        yy = ((y * y + y * y1 + y1 * y1) * cross).sum() / (12 * area) - centre[1] ** 2
        xy = ((x * y1 + 2 * x * y + 2 * x1 * y1 + x1 * y) * cross).sum() / (24 * area) - centre[0] * centre[1]
        return area, centre + origin, np.array([[xx, xy], [xy, yy]])

    @property
    def area(self) -> float:
        return abs(self._moments[0])

    @property
    def center(self) -> tuple[float, float]:
        x, y = self._moments[1]
        return float(x), float(y)

    @cached_property
    def _axes(self) -> tuple[Samples, Samples]:
        values, vectors = np.linalg.eigh(self._moments[2])
        return values, vectors

    @property
    def aspect(self) -> float:
        short, long = self._axes[0]
        return math.sqrt(float(long / short))

    @property
    def long_axis_deg(self) -> float:
        x, y = self._axes[1][:, 1]
        return math.degrees(math.atan2(y, x)) % 180

    @cached_property
    def _spectrum(self) -> NDArray[np.complex128]:
        """Complex Fourier coefficients of r(θ) after stretching to unit second moments along the own axes."""
        values, vectors = self._axes
        # Symmetric square root: an outline of aspect 1 keeps its orientation.
        stretch = vectors @ np.diag(values**-0.5) @ vectors.T
        x, y = stretch @ (self.vertices - self._moments[1]).T
        dense = 16
        share = np.arange(dense) / dense
        x = (x[:, None] * (1 - share) + np.roll(x, -1)[:, None] * share).ravel()
        y = (y[:, None] * (1 - share) + np.roll(y, -1)[:, None] * share).ravel()
        angle, radius = np.arctan2(y, x), np.hypot(x, y)
        order = np.argsort(angle, kind="stable")
        even = np.linspace(-np.pi, np.pi, _ANGLES, endpoint=False)
        around = np.interp(even, angle[order], radius[order], period=2 * np.pi)
        spectrum: NDArray[np.complex128] = np.fft.rfft(around) / _ANGLES
        return spectrum

    def harmonic(self, fold: int) -> float:
        """Return the amplitude of the part of r(θ) with `fold` periods in a turn, relative to the mean radius."""
        return 2 * float(abs(self._spectrum[fold]) / abs(self._spectrum[0]))

    def corner_deg(self, fold: int) -> float:
        """Return the direction in 0 … 360 / `fold` in which r(θ) of that symmetry is largest."""
        # The samples start at -π, which shifts the phase by fold · π.
        phase = np.angle(self._spectrum[fold] * np.exp(1j * np.pi * fold))
        return math.degrees(-phase / fold) % (360 / fold)


def regular_polygon(corners: int) -> Outline:
    """Make a regular polygon about the origin."""
    angle = 2 * np.pi * np.arange(corners) / corners
    ends = np.column_stack([np.cos(angle), np.sin(angle)])
    share = np.linspace(0, 1, 64, endpoint=False)[:, None]
    sides = [start * (1 - share) + end * share for start, end in zip(ends, np.roll(ends, -1, axis=0), strict=True)]
    return Outline(np.concatenate(sides))


def outline_around(flat: Samples, apex: tuple[int, int], height: float, pixel_m: tuple[float, float]) -> Outline:
    """Return the closed outline at a height that runs round the deepest sample.

    Raises
    ------
    AnalysisError
        If the outline is cut by the rim of the frame or by samples without a value, or holds too few samples.
    """
    from skimage.measure import find_contours, points_in_poly

    dx, dy = pixel_m
    found = find_contours(flat, height)  # type: ignore[no-untyped-call]
    rings = [one for one in found if len(one) > 3 and np.array_equal(one[0], one[-1])]
    around = [ring for ring in rings if points_in_poly([apex], ring)[0]]  # type: ignore[no-untyped-call]
    if not around:
        raise AnalysisError(
            f"no closed outline runs round the deepest sample (line {apex[0]}, column {apex[1]}) at {height:.3g} m: "
            "the imprint is cut by the rim of the frame or by lines not scanned, or is one sample wide; centre it"
        )
    outer = max((Outline((ring[:-1, ::-1] + 0.5) * (dx, dy)) for ring in around), key=lambda one: one.area)
    if outer.area < _LEAST_AREA_PIXELS * dx * dy:
        raise AnalysisError(
            f"the outline at {height:.3g} m holds {outer.area / (dx * dy):.1f} pixels; symmetry needs at least "
            f"{_LEAST_AREA_PIXELS}: scan a smaller area"
        )
    return outer
