"""Areal roughness of ISO 25178-2 after a levelling that the result states."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tasks_lib.instruments.analysis._field import as_image, pixel_size, usable, without_spread
from tasks_lib.instruments.analysis.levelling import PLANE, Levelling, level
from tasks_lib.instruments.frame import Samples


@dataclass(frozen=True, slots=True)
class Roughness:
    """Height and hybrid parameters of an image.

    Attributes
    ----------
    sa_m, sq_m : float
        Arithmetic mean height and root mean square height, metres.
    ssk, sku : float
        Skewness and kurtosis, without a unit (a Gaussian has 0 and 3); NaN where the surface has no spread.
    sdq : float
        Root mean square gradient, metres per metre; NaN where no two neighbours are usable.
    sdr : float
        Developed interfacial area ratio, a fraction (not percent); NaN where no cell of four samples is usable.
    levelling : Levelling
        What was subtracted before.
    samples : int
        Samples that count.
    """

    sa_m: float
    sq_m: float
    ssk: float
    sku: float
    sdq: float
    sdr: float
    levelling: Levelling
    samples: int


def roughness(
    z: ArrayLike,
    pixel_m: tuple[float, float],
    levelling: Levelling = PLANE,
    where: ArrayLike | None = None,
) -> Roughness:
    """Measure the areal roughness parameters of a levelled image.

    With z the heights after `levelling`, and ⟨·⟩ the mean over the samples that count, taken about ⟨z⟩:
    Sa = ⟨|z|⟩, Sq = √⟨z²⟩, Ssk = ⟨z³⟩ / Sq³, Sku = ⟨z⁴⟩ / Sq⁴,
    Sdq = √⟨(∂z/∂x)² + (∂z/∂y)²⟩ with the differences of neighbours as derivatives, and
    Sdr = (A_surface - A_projected) / A_projected with each cell of four samples cut into four triangles that meet at
    the mean height of its corners.

    Parameters
    ----------
    z : array of shape (lines, points)
        Heights in metres; NaN is left out.
    pixel_m : (float, float)
        Distance of neighbouring samples along x and y, in metres.
    levelling : Levelling
        Background to subtract, fitted to the samples that count.
    where : boolean array, optional
        Samples that count; all finite ones without it.

    Returns
    -------
    Roughness
        The parameters, and the levelling that they hold for.

    Raises
    ------
    AnalysisError
        If no sample counts, or they do not determine the levelling.

    Notes
    -----
    Source: ISO 25178-2:2021, height parameters (Sa, Sq, Ssk, Sku) and hybrid parameters (Sdq, Sdr). The standard
    defines Sdq and Sdr for a continuous surface; the discrete forms here are those of Gwyddion (Nečas and Klapetek,
    Cent. Eur. J. Phys. 10 (2012) 181) for the inside of a frame. No S-filter or L-filter is applied: the pixel and the
    frame are the limits.
    """
    dx, dy = pixel_size(pixel_m)
    image = as_image(z)
    levelled = level(image, levelling, where).z
    keep = usable(levelled, where)
    heights = levelled[keep]
    about = heights - heights.mean()
    sq = float(np.sqrt(np.mean(about**2)))
    shape = (math.nan, math.nan)
    # What is left of a plane after levelling is rounding, and rounding has no shape.
    scale = max(float(np.max(np.abs(image[keep]))), float(np.max(np.abs(heights))))
    if not without_spread(heights) and sq > 64 * np.finfo(np.float64).eps * scale:
        unit = about / sq
        shape = (float(np.mean(unit**3)), float(np.mean(unit**4)))
    masked = np.where(keep, levelled, np.nan)
    return Roughness(
        sa_m=float(np.mean(np.abs(about))),
        sq_m=sq,
        ssk=shape[0],
        sku=shape[1],
        sdq=_gradient(masked, dx, dy),
        sdr=_area_ratio(masked, dx, dy),
        levelling=levelling,
        samples=heights.size,
    )


def _gradient(z: Samples, dx: float, dy: float) -> float:
    squares = [(np.diff(z, axis=1) / dx) ** 2, (np.diff(z, axis=0) / dy) ** 2]
    means = [float(one[np.isfinite(one)].mean()) for one in squares if np.isfinite(one).any()]
    return math.sqrt(math.fsum(means)) if means else math.nan


def _area_ratio(z: Samples, dx: float, dy: float) -> float:
    corner, right, up, across = z[:-1, :-1], z[:-1, 1:], z[1:, :-1], z[1:, 1:]
    centre = (corner + right + up + across) / 4
    total = np.zeros_like(centre)
    for first, second, along, beside in (
        (corner, right, dx, dy),
        (up, across, dx, dy),
        (corner, up, dy, dx),
        (right, across, dy, dx),
    ):
        slope = ((second - first) / along) ** 2 + ((centre - (first + second) / 2) / (beside / 2)) ** 2
        # √(1 + s) - 1 without the cancellation that would swallow the ratio of a smooth surface.
        total += slope / (1 + np.sqrt(1 + slope)) / 4
    inside = total[np.isfinite(total)]
    return float(inside.mean()) if inside.size else math.nan
