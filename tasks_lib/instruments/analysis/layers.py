"""How many layers a flake of graphene or graphite has, and how far its thickness spreads."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tasks_lib.instruments.analysis._field import (
    AnalysisError,
    Mask,
    as_image,
    finite_number,
    pixel_size,
    usable,
    whole,
)
from tasks_lib.instruments.analysis.grains import Grain, segment
from tasks_lib.instruments.analysis.levelling import PLANE, Levelling, ground_mask, level

#: Distance of neighbouring layers of graphite, c / 2 at room temperature: Baskin and Meyer, Phys. Rev. 100 (1955) 544.
GRAPHENE_LAYER_M = 0.3354e-9


@dataclass(frozen=True, slots=True)
class LayerCount:
    """Thickness of a flake over its substrate, in metres and in layers.

    Attributes
    ----------
    thickness_m : float
        Median height of the flake over the median height of the substrate.
    low_m, high_m : float
        10th and 90th percentile: steps within the flake and folds as well as noise.
    uncertainty_m : float
        Standard error of the median from the scatter of the line medians; NaN with fewer than two lines.
    layers : int
        ``(thickness_m - first_layer_offset_m) / layer_m`` rounded, at least 0.
    exact_layers : float
        The same, not rounded: far from a whole number means an offset, a fold or a wrong z calibration.
    low_layers, high_layers : int
        Layers at `low_m` and `high_m`.
    layer_m, first_layer_offset_m : float
        What was assumed.
    samples : int
        Samples of the flake.
    """

    thickness_m: float
    low_m: float
    high_m: float
    uncertainty_m: float
    layers: int
    exact_layers: float
    low_layers: int
    high_layers: int
    layer_m: float
    first_layer_offset_m: float
    samples: int


@dataclass(frozen=True, eq=False, slots=True)
class Flake:
    """A flake on its substrate: where it lies, its samples, and its layers."""

    grain: Grain
    mask: Mask
    count: LayerCount


def count_layers(
    z: ArrayLike,
    flake: ArrayLike,
    substrate: ArrayLike,
    levelling: Levelling = PLANE,
    *,
    layer_m: float = GRAPHENE_LAYER_M,
    first_layer_offset_m: float = 0.0,
) -> LayerCount:
    """Count the layers of a flake against the substrate beside it.

    The image is levelled with the substrate as reference, so that neither tilt nor the flake itself goes into the
    thickness: max - min of a raw line would be tilt for the most part.

    Parameters
    ----------
    z : array of shape (lines, points)
        Heights in metres, not levelled.
    flake, substrate : boolean arrays of the shape of `z`
        Samples of each, edges left out; disjoint.
    levelling : Levelling
        Background to fit to the substrate.
    layer_m : float
        Height of one layer, metres.
    first_layer_offset_m : float
        What the first layer measures beyond `layer_m` (water, different adhesion; 0 to about 0.7 nm on SiO₂:
        Nemes-Incze et al., Carbon 46 (2008) 1435). Unknown unless measured on the same sample.

    Returns
    -------
    LayerCount
        Median, spread, layers.

    Raises
    ------
    AnalysisError
        If a mask is empty, both overlap, or the substrate does not determine the background.
    """
    image = as_image(z)
    if not 1e-12 <= layer_m <= 1e-6:
        raise AnalysisError(f"the height of a layer lies between 1e-12 and 1e-06 m; it is {layer_m} m")
    finite_number(first_layer_offset_m, "the offset of the first layer in m")
    on = usable(image, flake, what="the flake")
    off = usable(image, substrate, what="the substrate")
    if (on & off).any():
        raise AnalysisError(f"{np.count_nonzero(on & off)} samples are flake and substrate at once: part the masks")
    flat = level(image, levelling, off).z
    known = on & np.isfinite(flat)
    if not known.any():
        raise AnalysisError("no line of the flake has substrate to level it by: level by a plane instead")
    base = float(np.median(flat[off & np.isfinite(flat)]))
    heights = flat[known] - base
    low, middle, high = (float(one) for one in np.percentile(heights, [10, 50, 90]))
    medians = np.array([np.median(row[use]) for row, use in zip(flat, known, strict=True) if use.any()])
    error = 1.2533 * float(medians.std(ddof=1)) / math.sqrt(medians.size) if medians.size > 1 else math.nan

    def layers_at(thickness: float) -> int:
        return max(0, math.floor((thickness - first_layer_offset_m) / layer_m + 0.5))

    return LayerCount(
        thickness_m=middle,
        low_m=low,
        high_m=high,
        uncertainty_m=error,
        layers=layers_at(middle),
        exact_layers=(middle - first_layer_offset_m) / layer_m,
        low_layers=layers_at(low),
        high_layers=layers_at(high),
        layer_m=layer_m,
        first_layer_offset_m=first_layer_offset_m,
        samples=heights.size,
    )


def find_flakes(
    z: ArrayLike,
    pixel_m: tuple[float, float],
    levelling: Levelling = PLANE,
    *,
    threshold_m: float | None = None,
    min_pixels: int = 25,
    guard: int = 1,
    layer_m: float = GRAPHENE_LAYER_M,
    first_layer_offset_m: float = 0.0,
) -> tuple[Flake, ...]:
    """Find the flakes of an image and count the layers of each.

    The substrate is the ground of the image (`ground_mask`). Flakes are what stands higher than the threshold after
    a 3 × 3 median, connected, and large enough.

    Parameters
    ----------
    z : array of shape (lines, points)
        Heights in metres, not levelled; most of the flat area must be substrate.
    pixel_m : (float, float)
        Distance of neighbouring samples along x and y, in metres.
    levelling : Levelling
        Shape of the substrate.
    threshold_m : float, optional
        Height over the substrate; without it, half a layer, or four times the substrate's noise where that is more.
    min_pixels : int
        Smallest flake that counts.
    guard : int
        Samples left out at the rim of each flake and round it.
    layer_m, first_layer_offset_m : float
        As in `count_layers`.

    Returns
    -------
    tuple of Flake
        Thinnest first; empty where nothing stands out. Flakes that the guard leaves nothing of are left out.
    """
    from scipy.ndimage import binary_dilation, binary_erosion, median_filter

    image = as_image(z, least=(3, 3))
    pixel_size(pixel_m)
    guard = whole(guard, 0, max(image.shape), "the guard of a flake in samples")
    ground = ground_mask(image, levelling)
    flat = level(image, levelling, ground).z
    finite = np.isfinite(flat)
    base = float(np.median(flat[ground]))
    smooth = median_filter(np.where(finite, flat - base, 0.0), size=3)
    noise = 1.4826 * float(np.median(np.abs(smooth[ground])))
    threshold = max(layer_m / 2, 4 * noise) if threshold_m is None else threshold_m
    found = segment(np.where(finite, smooth, np.nan), pixel_m, threshold_m=threshold, min_pixels=min_pixels)
    near = binary_dilation(smooth > threshold, iterations=guard) if guard else smooth > threshold
    substrate = ground & ~near
    flakes: list[Flake] = []
    for grain in found.grains:
        mask = found.labels == grain.label
        core = binary_erosion(mask, iterations=guard, border_value=1) if guard else mask
        if core.any():
            count = count_layers(
                image, core, substrate, levelling, layer_m=layer_m, first_layer_offset_m=first_layer_offset_m
            )
            flakes.append(Flake(grain, mask, count))
    return tuple(sorted(flakes, key=lambda one: (one.count.thickness_m, one.grain.label)))
