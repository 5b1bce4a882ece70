"""Which indenter left an imprint: its depth, its section, and its symmetry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from tasks_lib.instruments.analysis._contours import Outline, outline_around, regular_polygon
from tasks_lib.instruments.analysis._field import AnalysisError, as_image, pixel_size, usable
from tasks_lib.instruments.analysis.levelling import PLANE, level
from tasks_lib.instruments.frame import Samples


class Indenter(StrEnum):
    """Shapes of indenters."""

    VICKERS = "Vickers"
    BERKOVICH = "Berkovich"
    KNOOP = "Knoop"
    CUBE_CORNER = "cube corner"
    SPHERE = "sphere"


#: Projected area over depth² of ideal tips: 4 tan² 68° (Vickers), 3√3 tan² 65.27° (Berkovich), 3√3 tan² 35.264° (cube
#: corner); Knoop ½ · 30.514 · 4.290 from its edge angles 172.5° and 130°. ISO 14577-2:2015 and ISO 4545-1:2017.
AREA_OVER_DEPTH2: Mapping[Indenter, float] = MappingProxyType(
    {
        Indenter.VICKERS: 4 * math.tan(math.radians(68)) ** 2,
        Indenter.BERKOVICH: 3 * math.sqrt(3) * math.tan(math.radians(65.27)) ** 2,
        Indenter.KNOOP: 2 * math.tan(math.radians(86.25)) * math.tan(math.radians(65)),
        Indenter.CUBE_CORNER: 3 * math.sqrt(3) * math.tan(math.radians(35.2644)) ** 2,
    }
)
_KNOOP_ASPECT = math.tan(math.radians(86.25)) / math.tan(math.radians(65))
_THREE = regular_polygon(3).harmonic(3)
_FOUR = regular_polygon(4).harmonic(4)

#: Features of the ideal tips: three-fold and four-fold part of the outline, ln aspect, exponent of A ∝ ηⁿ, ln A/h².
_IDEAL: Mapping[Indenter, tuple[float, float, float, float, float | None]] = MappingProxyType(
    {
        Indenter.VICKERS: (0.0, _FOUR, 0.0, 2.0, math.log(AREA_OVER_DEPTH2[Indenter.VICKERS])),
        Indenter.BERKOVICH: (_THREE, 0.0, 0.0, 2.0, math.log(AREA_OVER_DEPTH2[Indenter.BERKOVICH])),
        Indenter.KNOOP: (0.0, _FOUR, math.log(_KNOOP_ASPECT), 2.0, math.log(AREA_OVER_DEPTH2[Indenter.KNOOP])),
        Indenter.CUBE_CORNER: (_THREE, 0.0, 0.0, 2.0, math.log(AREA_OVER_DEPTH2[Indenter.CUBE_CORNER])),
        Indenter.SPHERE: (0.0, 0.0, 0.0, 1.0, None),
    }
)
#: How far real imprints stray from the ideal: rounded edges, scanner stretch, rounded tip, elastic recovery (which
#: makes imprints shallower than the tip by up to a factor of two).
_SPREAD = (0.06, 0.035, 0.2, 0.25, 0.5)
#: Misfit beyond which no ideal shape describes the imprint: five features, three spreads each, would be 45.
_WORST = 30.0
#: Heights over the deepest point, as shares of the depth, at which the outline is taken: above the rounded tip and
#: below the rim with its pile-up.
_SECTIONS = (0.35, 0.45, 0.55, 0.65, 0.75)


@dataclass(frozen=True, slots=True)
class Indent:
    """An imprint and the indenter that it speaks for.

    Attributes
    ----------
    depth_m : float
        Deepest sample under the reference plane.
    depth_uncertainty_m : float
        Standard deviation of the reference samples about their plane (roughness, pile-up that reaches there), and half
        the largest difference of the deepest sample to its neighbours (the true tip lies between samples), in
        quadrature.
    area_m2 : float
        Projected area at a twentieth of the depth below the reference plane, or at three times the scatter of the
        reference samples where that is deeper.
    area_over_depth2 : float
        A / h² from the slope of the sections, (d√A / dη)² with η the height over the deepest sample. For a pyramid that
        is A / h² at every depth, and neither a rounded tip nor the place of the samples by it goes into it. Elastic
        recovery raises it.
    exponent : float
        n of A ∝ ηⁿ over the sections: 2 for pyramids, 1 for a sphere.
    aspect : float
        Length over width of the outline, from its second moments; 7.1 for Knoop, 1 for the others.
    three_fold, four_fold : float
        Relative amplitude of the third and fourth harmonic of the outline's radius r(θ) after it was stretched to
        aspect 1: a triangle has 0.275 and 0, a square (and a rhombus) 0 and 0.139, a circle 0 and 0.
    orientation_deg : float
        Direction of a corner against x; of the long axis where the aspect exceeds 2. NaN for a round imprint.
    center_m : (float, float)
        Centre of the outline (x, y) from the lower left corner of the frame.
    shape : Indenter or None
        Nearest ideal shape; None where even that is far (misfit above 30).
    runner_up : Indenter
        Second nearest.
    margin : float
        Misfit of the runner-up minus misfit of the nearest: 2 ln of the odds between them. Below about 6 (odds of 20)
        the answer is not safe.
    misfits : mapping of Indenter to float
        Sum of the squared distances of the features from the ideal, in units of what real imprints stray.
    """

    depth_m: float
    depth_uncertainty_m: float
    area_m2: float
    area_over_depth2: float
    exponent: float
    aspect: float
    three_fold: float
    four_fold: float
    orientation_deg: float
    center_m: tuple[float, float]
    shape: Indenter | None
    runner_up: Indenter
    margin: float
    misfits: Mapping[Indenter, float]


def analyse_indent(
    z: ArrayLike, pixel_m: tuple[float, float], where: ArrayLike | None = None, *, border: float = 0.1
) -> Indent:
    """Measure an imprint and name the indenter.

    The image is levelled by the plane of its border. Round the deepest sample, the outline of the imprint is taken at
    five heights between 35 % and 75 % of the depth. Their areas, aspect and symmetry are compared with those of the
    ideal tips; the misfit is Σ ((feature - ideal) / spread)².

    Parameters
    ----------
    z : array of shape (lines, points)
        Heights in metres, not levelled, with one imprint that lies in the frame whole.
    pixel_m : (float, float)
        Distance of neighbouring samples along x and y, in metres.
    where : boolean array, optional
        Reference samples of the unharmed surface, instead of the border.
    border : float
        Width of the border as a share of the frame at each side, up to 0.4.

    Returns
    -------
    Indent
        Depth, section, symmetry, nearest shape and margin.

    Raises
    ------
    AnalysisError
        If nothing stands out of the noise of the border by five times, the imprint is smaller than the sections need,
        or the rim of the frame cuts it.

    Notes
    -----
    Symmetry tells triangles from squares, the aspect tells Knoop from Vickers, A/h² tells the cube corner from
    Berkovich, and the exponent tells the sphere from all. A/h² alone cannot tell Vickers from Berkovich: both were made
    to have 24.5. Source of the geometry: Fischer-Cripps, Nanoindentation, 3rd ed. (2011), chapter 1 and 2.
    """
    image = as_image(z, least=(8, 8))
    dx, dy = pixel_size(pixel_m)
    reference = usable(image, _border(image, border) if where is None else where, what="the reference surface")
    flat = level(image, PLANE, reference).z
    flat = flat - float(flat[reference].mean())
    noise = float(flat[reference].std())
    bottom = np.unravel_index(int(np.nanargmin(flat)), flat.shape)
    depth = -float(flat[bottom])
    if not depth > 5 * noise or depth <= 1e-12 * float(np.ptp(image[np.isfinite(image)])):
        raise AnalysisError(
            f"the deepest sample lies {depth:.3g} m under the reference plane, whose samples scatter by {noise:.3g} m; "
            "an imprint is five times deeper: centre the frame on one"
        )
    apex = (int(bottom[0]), int(bottom[1]))
    outlines = [outline_around(flat, apex, (share - 1) * depth, (dx, dy)) for share in _SECTIONS]
    heights = np.array(_SECTIONS) * depth
    areas = np.array([one.area for one in outlines])
    exponent = float(np.polyfit(np.log(heights), np.log(areas), 1)[0])
    ratio = float(np.polyfit(heights, np.sqrt(areas), 1)[0]) ** 2
    aspect = float(np.median([one.aspect for one in outlines]))
    three, four = (float(np.median([one.harmonic(fold) for one in outlines])) for fold in (3, 4))
    features = (three, four, math.log(aspect), exponent, math.log(ratio))
    misfits = {shape: _misfit(features, ideal) for shape, ideal in _IDEAL.items()}
    nearest, second, *_ = sorted(misfits, key=lambda shape: (misfits[shape], shape))
    top = outlines[-1]
    return Indent(
        depth_m=depth,
        depth_uncertainty_m=math.hypot(noise, _between_samples(flat, apex)),
        area_m2=outline_around(flat, apex, -max(0.05 * depth, 3 * noise), (dx, dy)).area,
        area_over_depth2=ratio,
        exponent=exponent,
        aspect=aspect,
        three_fold=three,
        four_fold=four,
        orientation_deg=_orientation(top, aspect, three, four),
        center_m=top.center,
        shape=nearest if misfits[nearest] <= _WORST else None,
        runner_up=second,
        margin=misfits[second] - misfits[nearest],
        misfits=misfits,
    )


def _between_samples(flat: Samples, apex: tuple[int, int]) -> float:
    line, column = apex
    near = flat[max(0, line - 1) : line + 2, max(0, column - 1) : column + 2]
    return float(np.nanmax(near) - flat[apex]) / 2


def _misfit(features: tuple[float, ...], ideal: tuple[float | None, ...]) -> float:
    return math.fsum(
        ((feature - wanted) / spread) ** 2
        for feature, wanted, spread in zip(features, ideal, _SPREAD, strict=True)
        if wanted is not None
    )


def _border(image: Samples, share: float) -> Samples:
    if not 0 < share <= 0.4:
        raise AnalysisError(f"the border is a share of the frame above 0 and up to 0.4; it is {share}")
    lines, points = image.shape
    wide, high = max(1, round(share * points)), max(1, round(share * lines))
    mask = np.ones(image.shape, bool)
    mask[high : lines - high, wide : points - wide] = False
    return mask


def _orientation(outline: Outline, aspect: float, three: float, four: float) -> float:
    if aspect > 2:
        return outline.long_axis_deg
    fold, amplitude, ideal = (3, three, _THREE) if three / _THREE > four / _FOUR else (4, four, _FOUR)
    return outline.corner_deg(fold) if amplitude > ideal / 2 else math.nan
