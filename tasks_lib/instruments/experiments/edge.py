"""Where the one straight edge of a stepped surface runs, on whatever tilt and bow."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks_lib.instruments.analysis import AnalysisError, Mask, two_level_fit
from tasks_lib.instruments.experiments.procedure import ExperimentError
from tasks_lib.instruments.frame import Samples

# The search runs on block means of about this many a side: the noise is less there, and an edge is long.
_COARSE = 32
_ANGLES = 36
_PLACES = 41
_ROUNDS = 4
# An edge whose height is below so many standard errors is none.
_CLEAR = 5.0

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Edge:
    """A straight edge: the places where ``x cos(angle) + y sin(angle) == offset_m``.

    Attributes
    ----------
    angle_deg : float
        Direction in which the surface steps, against x of the frame, in (-90, 90].
    offset_m : float
        Distance from the centre of the frame along that direction.
    height_m : float
        Rise along the direction; negative where it steps down.
    """

    angle_deg: float
    offset_m: float
    height_m: float

    def distance(self, x_m: Numbers, y_m: Numbers) -> Numbers:
        """Return how far places (from the centre of the frame) lie beyond the edge, metres."""
        turn = math.radians(self.angle_deg)
        return np.asarray(x_m * math.cos(turn) + y_m * math.sin(turn) - self.offset_m)

    def nearest(self) -> tuple[float, float]:
        """Return the place of the edge that is nearest to the centre of the frame, from that centre."""
        turn = math.radians(self.angle_deg)
        return self.offset_m * math.cos(turn), self.offset_m * math.sin(turn)


def places(shape: tuple[int, ...], pixel_m: tuple[float, float]) -> tuple[Numbers, Numbers]:
    """Return x and y of the samples from the centre of the frame, shapes (1, points) and (lines, 1)."""
    lines, points = shape
    x = (np.arange(points) + 0.5 - points / 2) * pixel_m[0]
    y = (np.arange(lines) + 0.5 - lines / 2) * pixel_m[1]
    return np.asarray(x[None, :]), np.asarray(y[:, None])


def find_edge(z: Samples, pixel_m: tuple[float, float], name: str) -> Edge:
    """Find the straight step that explains an image best.

    For every angle and place of a grid, z = Σ c_ij xⁱyʲ (i + j ≤ 2) + h · [beyond the edge] is fitted by least squares;
    the best is refined on finer grids. A matched filter of this kind uses all samples at once, so single layers
    are found in noise that hides them in any one line.

    Parameters
    ----------
    z : array of shape (lines, points)
        Heights in metres, not levelled.
    pixel_m : (float, float)
        Distance of neighbouring samples along x and y, in metres.
    name : str
        Of the frame, for the message.

    Raises
    ------
    ExperimentError
        If no step stands out by five standard errors.
    """
    coarse, pixel = _binned(z, pixel_m)
    x, y = places(coarse.shape, pixel)
    x, y = (np.broadcast_to(one, coarse.shape).ravel() for one in (x, y))
    reach = 0.45 * math.hypot(float(np.ptp(x)), float(np.ptp(y)))
    scale = max(float(np.abs(x).max()), float(np.abs(y).max()))
    terms = np.stack([(x / scale) ** i * (y / scale) ** j for i in range(3) for j in range(3 - i)], axis=1)
    basis = np.linalg.qr(terms)[0]
    rest = coarse.ravel() - basis @ (basis.T @ coarse.ravel())
    soft = max(pixel) / 2
    angle, offset = 0.0, 0.0
    angles = np.linspace(-math.pi / 2, math.pi / 2, _ANGLES, endpoint=False)
    offsets = np.linspace(-reach, reach, _PLACES)
    for _ in range(_ROUNDS):
        angle, offset = _best(x, y, basis, rest, angles, offsets, soft)
        half_angle, half_offset = angles[1] - angles[0], offsets[1] - offsets[0]
        angles = angle + np.linspace(-half_angle, half_angle, 9)
        offsets = offset + np.linspace(-half_offset, half_offset, 9)
    return _normal(z, pixel_m, angle, offset, name)


def _binned(z: Samples, pixel_m: tuple[float, float]) -> tuple[Samples, tuple[float, float]]:
    lines, points = z.shape
    by_y, by_x = max(1, lines // _COARSE), max(1, points // _COARSE)
    rows, columns = lines // by_y, points // by_x
    low, left = (lines - rows * by_y) // 2, (points - columns * by_x) // 2
    part = z[low : low + rows * by_y, left : left + columns * by_x]
    mean: Samples = part.reshape(rows, by_y, columns, by_x).mean(axis=(1, 3))
    return mean, (pixel_m[0] * by_x, pixel_m[1] * by_y)


def _best(
    x: Numbers, y: Numbers, basis: Numbers, rest: Numbers, angles: Numbers, offsets: Numbers, soft: float
) -> tuple[float, float]:
    """Return the angle and the offset whose step takes most out of `rest`."""
    best, found = -1.0, (0.0, 0.0)
    for angle in angles:
        along = x * math.cos(angle) + y * math.sin(angle)
        steps = np.clip((along[:, None] - offsets) / soft, -1.0, 1.0)
        left = steps - basis @ (basis.T @ steps)
        power = np.einsum("ij,ij->j", left, left)
        # A step at the very rim is told from the background by a few samples, and fits their noise.
        usable = power > 0.02 * x.size
        taken = np.where(usable, (rest @ left) ** 2 / np.where(usable, power, 1.0), -1.0)
        at = int(np.argmax(taken))
        if taken[at] > best:
            best, found = float(taken[at]), (float(angle), float(offsets[at]))
    return found


def _normal(z: Samples, pixel_m: tuple[float, float], angle: float, offset: float, name: str) -> Edge:
    degrees = math.degrees(angle)
    if not -90 < degrees <= 90:
        degrees, offset = degrees - math.copysign(180, degrees), -offset
    guess = Edge(degrees, offset, math.nan)
    upper, lower = terraces(guess, z.shape, pixel_m, guard_m=2 * max(pixel_m))
    try:
        found = two_level_fit(z, upper, lower, degree=2)
    except AnalysisError as error:
        raise ExperimentError(f"frame {name} holds no step: {error}") from error
    if not abs(found.height) > _CLEAR * found.uncertainty:
        raise ExperimentError(
            f"frame {name} holds no clear step: the best is {found.height:.3g} ± {found.uncertainty:.2g} m high; "
            "move the scan across an edge, or tune the gains"
        )
    return Edge(degrees, offset, found.height)


def terraces(edge: Edge, shape: tuple[int, ...], pixel_m: tuple[float, float], guard_m: float) -> tuple[Mask, Mask]:
    """Return the samples beyond and before an edge, `guard_m` left out at each side."""
    distance = edge.distance(*places(shape, pixel_m))
    return distance > guard_m, distance < -guard_m
