"""Pitch of a grating or grid by Fourier transform, finer than a bin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tasks_lib.instruments.analysis._field import AnalysisError, as_image, pixel_size, scanned_lines, without_spread
from tasks_lib.instruments.analysis.levelling import PLANE, level
from tasks_lib.instruments.frame import Samples

#: Share of the strongest peak's power that a second one needs, to be a second period and not noise.
_SECOND_PERIOD = 0.05
#: Fewer periods than this in the frame, and the window's main lobe reaches down to what levelling left.
_LEAST_PERIODS = 2.0
#: Distance of samples of the continuous transform, in bins, at which rounding takes over.
_FINEST = 1e-4


@dataclass(frozen=True, slots=True)
class Pitch:
    """Period of a pattern.

    Attributes
    ----------
    pitch_m : float
        Length of the lattice vector nearest to the x axis; of a grating, the distance of its lines.
    angle_deg : float
        Direction of that vector against x, -90 to 90; of a grating, the normal of its lines.
    second_pitch_m, second_angle_deg : float or None
        The same for the other lattice vector, angle in 0 to 180; None for a grating.
    bin_m : float
        Change of the pitch by one bin of the transform: the resolution that the interpolation goes beyond.
    periods : float
        Periods of `pitch_m` in the frame.
    """

    pitch_m: float
    angle_deg: float
    second_pitch_m: float | None
    second_angle_deg: float | None
    bin_m: float
    periods: float


def grid_pitch(z: ArrayLike, pixel_m: tuple[float, float]) -> Pitch:
    """Measure the pitch of a grid or grating.

    The image is levelled by a plane and weighted by a Hann window. The strongest peak of its two-dimensional
    transform, and the strongest one at 30° or more from it, are moved to the maximum of the continuous
    (discrete-time) transform, so the frequencies f₁, f₂ are not bound to bins. The lattice vectors a_i are
    the columns of (f₁ f₂)⁻ᵀ, a_i · f_j = δ_ij; a grating has the one pitch 1 / |f₁|.

    Parameters
    ----------
    z : array of shape (lines, points)
        Heights in any unit. Of an unfinished frame, the longest run of finite lines is used.
    pixel_m : (float, float)
        Distance of neighbouring samples along x and y, in metres.

    Returns
    -------
    Pitch
        Pitches in metres, directions in degrees.

    Raises
    ------
    AnalysisError
        If the image is flat, smaller than 8 × 8, or holds fewer than two periods.

    Notes
    -----
    The strongest peaks are taken for the fundamentals. That holds for pits, bumps and lines that fill between about a
    fifth and four fifths of the period. Source: Dai, Koenders, Pohlenz, Dziomba, Danzebrink, Meas. Sci. Technol. 16
    (2005) 1241 (evaluation of gratings by Fourier transform).
    """
    whole = as_image(z, least=(8, 8))
    dx, dy = pixel_size(pixel_m)
    image = whole[scanned_lines(whole)]
    if min(image.shape) < 8:
        raise AnalysisError(f"{image.shape[0]} whole lines are too few for a pitch: scan at least 8")
    flat = level(image, PLANE).z
    if without_spread(image) or float(np.ptp(flat)) <= 1e-12 * float(np.ptp(image)):
        raise AnalysisError("the image is flat after levelling, so it has no pitch: check the contact and the sample")
    lines, points = image.shape
    weighted = flat * np.outer(np.hanning(lines), np.hanning(points))
    power = np.abs(np.fft.fft2(weighted)) ** 2
    # In cycles per sample; half of the plane mirrors the other.
    fx, fy = np.meshgrid(np.fft.fftfreq(points), np.fft.fftfreq(lines))
    usable = ((fx > 0) | ((fx == 0) & (fy > 0))) & (np.hypot(fx * points, fy * lines) >= _LEAST_PERIODS)
    first = _peak(weighted, power, usable, fx, fy)
    one = np.array([first[0] / dx, first[1] / dy])
    cosine = np.abs(fx / dx * one[0] + fy / dy * one[1])
    lengths = np.hypot(fx / dx, fy / dy) * float(np.hypot(*one))
    apart = usable & (cosine <= math.cos(math.radians(30)) * lengths)
    bin_of = 1 / math.hypot(points * dx * one[0], lines * dy * one[1])
    if apart.any() and float(power[apart].max()) >= _SECOND_PERIOD * float(power[usable].max()):
        second = _peak(weighted, power, apart, fx, fy)
        reciprocal = np.column_stack([one, [second[0] / dx, second[1] / dy]])
        vectors = [_upright(vector) for vector in np.linalg.inv(reciprocal)]
        (pitch, angle), (other, turned) = sorted(vectors, key=lambda vector: min(vector[1], 180 - vector[1]))
        nearest = angle if angle <= 90 else angle - 180
        return Pitch(pitch, nearest, other, turned, pitch * bin_of, 1 / bin_of)
    pitch = 1 / float(np.hypot(*one))
    angle = math.degrees(math.atan2(one[1], one[0]))
    return Pitch(pitch, angle, None, None, pitch * bin_of, 1 / bin_of)


def _upright(vector: Samples) -> tuple[float, float]:
    """Return length and direction in 0 to 180 degrees; a lattice vector has no head."""
    return float(np.hypot(*vector)), math.degrees(math.atan2(vector[1], vector[0])) % 180


def _peak(weighted: Samples, power: Samples, allowed: Samples, fx: Samples, fy: Samples) -> tuple[float, float]:
    """Return the frequency (x, y) in cycles per sample where the continuous transform is largest near a bin."""
    if not allowed.any():
        raise AnalysisError(f"the frame holds fewer than {_LEAST_PERIODS:g} periods of any pattern: scan a larger area")
    lines, points = weighted.shape
    at = np.unravel_index(int(np.argmax(np.where(allowed, power, -1.0))), power.shape)
    start = np.array([fx[at] * points, fy[at] * lines])
    scale = float(power[at])
    if scale <= 0:
        raise AnalysisError("the image has no periodic part: check the contact and the sample")
    column, row = np.arange(points) / points, np.arange(lines) / lines
    centre, reach = start.copy(), 0.5
    # A parabola through 3 × 3 values, at a quarter of the distance once its summit lies amid them.
    for _ in range(30):
        beside = reach * np.array([-1.0, 0.0, 1.0])
        wave_x = np.exp(-2j * np.pi * np.outer(column, centre[0] + beside))
        wave_y = np.exp(-2j * np.pi * np.outer(centre[1] + beside, row))
        values = np.abs(wave_y @ weighted @ wave_x) ** 2 / scale
        step = _summit(values)
        centre = np.clip(centre + reach * step, start - 1, start + 1)
        if float(np.abs(step).max()) <= 0.5:
            reach /= 4
        if reach < _FINEST:
            break
    return float(centre[0]) / points, float(centre[1]) / lines


def _summit(values: Samples) -> Samples:
    """Return the summit (x, y) of the quadratic surface through 3 × 3 values a unit apart, at most a unit away."""
    slope = np.array([values[:, 2].sum() - values[:, 0].sum(), values[2].sum() - values[0].sum()]) / 6
    bend_x = (values[:, 0] - 2 * values[:, 1] + values[:, 2]).sum() / 3
    bend_y = (values[0] - 2 * values[1] + values[2]).sum() / 3
    twist = (values[2, 2] + values[0, 0] - values[2, 0] - values[0, 2]) / 4
    bend = np.array([[bend_x, twist], [twist, bend_y]])
    if not (bend_x < 0 and bend_y < 0 and np.linalg.det(bend) > 0):
        highest = np.unravel_index(int(np.argmax(values)), values.shape)
        return np.array([highest[1] - 1.0, highest[0] - 1.0])
    summit: Samples = np.clip(-np.linalg.solve(bend, slope), -1, 1)
    return summit
