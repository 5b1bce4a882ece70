"""Take the tilt and bow of the sample and the drift between lines out of an image, and say how that was done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from tasks_lib.instruments.analysis._field import AnalysisError, Mask, as_image, pixel_size, usable, whole
from tasks_lib.instruments.frame import Samples

MAX_DEGREE = 8


@dataclass(frozen=True, slots=True)
class Levelling:
    """What is subtracted from an image before it is measured; results carry it, because they depend on it.

    Attributes
    ----------
    kind : {"none", "plane", "polynomial", "rows"}
        ``plane`` and ``polynomial`` fit all lines at once, ``rows`` fits each line by itself.
    degree : int
        Total degree i + j of the terms xⁱyʲ of a polynomial; degree of the polynomial in x of each line.
    """

    kind: Literal["none", "plane", "polynomial", "rows"]
    degree: int = 1

    def __post_init__(self) -> None:
        if self.kind not in ("none", "plane", "polynomial", "rows"):
            raise AnalysisError(f"a levelling is none, plane, polynomial or rows; it is {self.kind!r}")
        whole(self.degree, 0, MAX_DEGREE, "the degree of a levelling")
        if self.kind in ("none", "plane") and self.degree != 1:
            raise AnalysisError(f"a levelling by {self.kind} has no degree to choose; use polynomial or rows")

    def __str__(self) -> str:
        return self.kind if self.kind in ("none", "plane") else f"{self.kind} of degree {self.degree}"


RAW = Levelling("none")
PLANE = Levelling("plane")
ROWS = Levelling("rows")


@dataclass(frozen=True, eq=False, slots=True)
class Levelled:
    """An image without its background.

    Attributes
    ----------
    z : Samples
        What is left, in the unit of the input; NaN where the input is NaN and on lines that `levelling` could not
        fit because the mask leaves too few of their samples.
    background : Samples
        What was subtracted; ``z + background`` is the input.
    levelling : Levelling
        How it was found.
    reference_samples : int
        Samples that the fit saw: finite and chosen by the mask.
    """

    z: Samples
    background: Samples
    levelling: Levelling
    reference_samples: int


@dataclass(frozen=True, slots=True)
class Tilt:
    """Slope of the least-squares plane along x and y, metres per metre."""

    slope_x: float
    slope_y: float


def level(z: ArrayLike, levelling: Levelling = PLANE, where: ArrayLike | None = None) -> Levelled:
    """Subtract the least-squares background from an image.

    The background is the linear least-squares solution of ``z ≈ Σ c_k φ_k`` over the reference samples, with φ the
    products of Legendre polynomials of x and y on [-1, 1]: they span the same terms xⁱyʲ as the plain powers and stay
    well conditioned. A plane is 1, x, y; a polynomial of degree n has all terms with i + j ≤ n; rows fit 1 … xⁿ to
    every line alone, which also removes what differs from line to line (drift, bow, 1/f noise) and with it all
    that the lines have in common along y.

    Parameters
    ----------
    z : array of shape (lines, points)
        Heights in any unit; NaN marks what was not scanned.
    levelling : Levelling
        Background to subtract.
    where : boolean array of the shape of `z`, optional
        True on the reference samples, for example the substrate beside a flake. All samples are levelled.

    Returns
    -------
    Levelled
        The rest, the background, and how it was made.

    Raises
    ------
    AnalysisError
        If the reference samples do not determine the background.

    Notes
    -----
    Least-squares levelling is the F-operation of ISO 25178-2:2021 for a form that is a polynomial.
    """
    image = as_image(z)
    keep = usable(image, where)
    if levelling.kind == "none":
        background = np.where(np.isfinite(image), 0.0, np.nan)
    elif levelling.kind == "rows":
        background = _row_background(image, keep, levelling.degree)
    else:
        background = _surface_background(image, keep, levelling)
    return Levelled(image - background, background, levelling, int(np.count_nonzero(keep)))


def tilt(z: ArrayLike, pixel_m: tuple[float, float], where: ArrayLike | None = None) -> Tilt:
    """Return the slope of the least-squares plane.

    Parameters
    ----------
    z : array of shape (lines, points)
        Heights in metres.
    pixel_m : (float, float)
        Distance of neighbouring samples along x and y, in metres.
    where : boolean array, optional
        Samples that count.

    Returns
    -------
    Tilt
        dz/dx and dz/dy of the plane, without a unit.
    """
    image = as_image(z, least=(2, 2))
    dx, dy = pixel_size(pixel_m)
    plane = _surface_background(image, usable(image, where), PLANE)
    return Tilt(
        float(plane[0, -1] - plane[0, 0]) / (dx * (image.shape[1] - 1)),
        float(plane[-1, 0] - plane[0, 0]) / (dy * (image.shape[0] - 1)),
    )


def ground_mask(z: ArrayLike, levelling: Levelling = PLANE, *, clip: float = 3.0, rounds: int = 50) -> Mask:
    """Find the flat ground of an image that carries flakes, particles or pits, whatever its tilt.

    The start is the plane of the median slopes along x and y, which steps and features touch little. From there:
    level with the samples taken for ground, find the densest height (centre and σ of the shortest interval that holds
    a quarter of them, read as a Gaussian), keep what lies within `clip` σ of it, until nothing changes.

    Parameters
    ----------
    z : array of shape (lines, points)
        Heights in any unit.
    levelling : Levelling
        Shape of the ground.
    clip : float
        Half width of the ground in units of its σ.
    rounds : int
        Rounds after which the last answer is returned although it still moves.

    Returns
    -------
    boolean array of the shape of `z`
        True on the ground: the largest flat part. On an image that a flake fills for the most part, that is the flake.

    Raises
    ------
    AnalysisError
        If the samples do not determine the ground.
    """
    image = as_image(z, least=(2, 2))
    finite = usable(image, least=3)
    lines, points = image.shape
    steps_x, steps_y = np.diff(image, axis=1), np.diff(image, axis=0)
    slopes = [float(np.nanmedian(one)) if np.isfinite(one).any() else 0.0 for one in (steps_x, steps_y)]
    flat = image - slopes[0] * np.arange(points) - slopes[1] * np.arange(lines)[:, None]
    # Heights that differ by the rounding of the image are one height.
    rounding = 64 * float(np.finfo(np.float64).eps) * float(np.max(np.abs(image[finite])))
    mask = _densest(flat, finite, finite, clip, rounding)
    for _ in range(rounds):
        flat = level(image, levelling, mask).z
        new = _densest(flat, mask, finite, clip, rounding)
        if np.array_equal(new, mask):
            break
        mask = new
    return mask


def _densest(flat: Samples, among: Mask, finite: Mask, clip: float, rounding: float) -> Mask:
    values = np.sort(flat[among & np.isfinite(flat)])
    held = max(2, values.size // 4)
    widths = values[held - 1 :] - values[: values.size - held + 1]
    first = int(np.argmin(widths))
    centre = (values[first] + values[first + held - 1]) / 2
    # A Gaussian holds its densest quarter within ± 0.3186 σ.
    sigma = float(widths[first]) / (2 * 0.3186)
    mask: Mask = finite & (np.abs(flat - centre) <= max(clip * sigma, rounding))
    return mask


def _surface_background(image: Samples, keep: Mask, levelling: Levelling) -> Samples:
    lines, points = image.shape
    along_y = legendre.legvander(_coordinate(lines), levelling.degree)
    along_x = legendre.legvander(_coordinate(points), levelling.degree)
    terms = np.stack(
        [
            np.outer(along_y[:, j], along_x[:, i]).ravel()
            for i in range(levelling.degree + 1)
            for j in range(levelling.degree + 1 - i)
        ],
        axis=1,
    )
    chosen = keep.ravel()
    coefficients, _, rank, _ = np.linalg.lstsq(terms[chosen], image.ravel()[chosen], rcond=None)
    # One line has no slope along y and needs none; a mask that is one line of many leaves it open.
    if rank < terms.shape[1] and rank < np.linalg.matrix_rank(terms):
        raise AnalysisError(
            f"{np.count_nonzero(chosen)} reference samples do not determine a {levelling} with {terms.shape[1]} terms "
            f"over {lines} × {points} samples: widen the mask or lower the degree"
        )
    background: Samples = (terms @ coefficients).reshape(image.shape)
    return background


def _row_background(image: Samples, keep: Mask, degree: int) -> Samples:
    terms = legendre.legvander(_coordinate(image.shape[1]), degree)
    background = np.full(image.shape, np.nan)
    whole = keep.all(axis=1)
    if whole.any() and image.shape[1] > degree:
        coefficients = np.linalg.lstsq(terms, image[whole].T, rcond=None)[0]
        background[whole] = (terms @ coefficients).T
    for line in np.flatnonzero(~whole & (np.count_nonzero(keep, axis=1) > degree)):
        chosen = keep[line]
        background[line] = terms @ np.linalg.lstsq(terms[chosen], image[line, chosen], rcond=None)[0]
    if not np.isfinite(background).any():
        raise AnalysisError(
            f"no line has the {degree + 1} reference samples that rows of degree {degree} need: widen the mask or "
            "lower the degree"
        )
    return background


def _coordinate(count: int) -> Samples:
    return np.linspace(-1.0, 1.0, count) if count > 1 else np.zeros(1)
