"""Grains and pits: find, count and measure what stands above or below the ground."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks_lib.instruments.analysis._field import AnalysisError, Mask, as_image, finite_number, pixel_size, usable

Labels = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Grain:
    """One grain or pit.

    Attributes
    ----------
    label : int
        Its number in the label image, from 1.
    pixels : int
    area_m2, diameter_m : float
        Projected area, and the diameter of the disc of that area.
    center_m : (float, float)
        Centre of the area (x, y) from the lower left corner of the frame, metres.
    box_m : (float, float, float, float)
        Bounding box (x₀, y₀, x₁, y₁) from the lower left corner, metres, rims of the pixels.
    height_m : float
        Highest (grain) or deepest (pit) sample against the mean ground; not negative.
    mean_height_m : float
        Mean of its samples against the mean ground; not negative.
    volume_m3 : float
        Sum of the heights against the mean ground times the pixel area.
    at_rim : bool
        Whether it touches the rim of the frame or samples that do not count, so that a part of it is not seen.
    """

    label: int
    pixels: int
    area_m2: float
    diameter_m: float
    center_m: tuple[float, float]
    box_m: tuple[float, float, float, float]
    height_m: float
    mean_height_m: float
    volume_m3: float
    at_rim: bool


@dataclass(frozen=True, eq=False, slots=True)
class Segmentation:
    """All grains or pits of an image.

    Attributes
    ----------
    labels : integer array (lines, points)
        0 on the ground.
    grains : tuple of Grain
        By label.
    polarity : {"grain", "pit"}
    threshold_m : float
        Height at which ground and grains part, in the heights of the image.
    ground_m : float
        Mean height of the ground: all samples that count on its side of the threshold.
    class_height_m : float
        Mean height of all samples beyond the threshold against the ground; not negative. The depth of a pit array.
    coverage : float
        Share of the samples that count which belong to a grain.
    """

    labels: Labels
    grains: tuple[Grain, ...]
    polarity: Literal["grain", "pit"]
    threshold_m: float
    ground_m: float
    class_height_m: float
    coverage: float

    @property
    def count(self) -> int:
        """Number of grains, those at the rim included."""
        return len(self.grains)

    @property
    def count_inside(self) -> int:
        """Number of grains that are seen whole."""
        return sum(not grain.at_rim for grain in self.grains)


def segment(
    z: ArrayLike,
    pixel_m: tuple[float, float],
    polarity: Literal["grain", "pit"] = "grain",
    *,
    threshold_m: float | None = None,
    min_pixels: int = 1,
    split: bool = False,
    where: ArrayLike | None = None,
) -> Segmentation:
    """Part a levelled image into ground and grains (or pits) by height, and measure each.

    Samples beyond the threshold that touch by a side are one grain. Without a threshold it is Otsu's, which always
    finds two classes: on a featureless image it counts noise, which `class_height_m` and the areas tell.

    Parameters
    ----------
    z : array of shape (lines, points)
        Levelled heights in metres; NaN belongs to nothing.
    pixel_m : (float, float)
        Distance of neighbouring samples along x and y, in metres.
    polarity : {"grain", "pit"}
        Whether to look above or below the threshold.
    threshold_m : float, optional
        In the heights of `z`.
    min_pixels : int
        Smallest grain that counts.
    split : bool
        Cut grains that touch at their necks: watershed of the distance to the ground, one basin for each maximum
        that stands out by a pixel.
    where : boolean array, optional
        Samples that count.

    Returns
    -------
    Segmentation
        Labels, table and counts; no grain is an answer, not an error.

    Raises
    ------
    AnalysisError
        If no sample counts, or the image has one height only and no threshold is given.

    Notes
    -----
    Sources: Otsu, IEEE Trans. Syst. Man Cybern. 9 (1979) 62; scikit-image's `threshold_otsu`, `label`, `watershed`.
    """
    from skimage.measure import label

    image = as_image(z)
    dx, dy = pixel_size(pixel_m)
    keep = usable(image, where)
    if polarity not in ("grain", "pit"):
        raise AnalysisError(f"look for grain or pit; {polarity!r} is neither")
    if min_pixels < 1:
        raise AnalysisError(f"the smallest grain has at least 1 pixel; {min_pixels} were asked for")
    threshold = _otsu(image, keep) if threshold_m is None else finite_number(threshold_m, "a threshold in m")
    sign = 1.0 if polarity == "grain" else -1.0
    beyond = keep & (sign * image > sign * threshold)
    ground = keep & ~beyond
    base = float(image[ground].mean()) if ground.any() else threshold
    labels = _split(beyond, dx, dy) if split else label(beyond, connectivity=1)  # type: ignore[no-untyped-call]
    grains, numbers = _measure(labels, sign * (image - base), keep, dx, dy, min_pixels)
    return Segmentation(
        labels=numbers,
        grains=grains,
        polarity=polarity,
        threshold_m=threshold,
        ground_m=base,
        class_height_m=float((sign * (image[beyond] - base)).mean()) if beyond.any() else 0.0,
        coverage=float(np.count_nonzero(numbers) / np.count_nonzero(keep)),
    )


def _otsu(image: NDArray[np.float64], keep: Mask) -> float:
    from skimage.filters import threshold_otsu

    if np.ptp(image[keep]) == 0:
        raise AnalysisError("the image has one height only, so Otsu's threshold does not exist: name a threshold")
    return float(threshold_otsu(image[keep]))  # type: ignore[no-untyped-call]


def _split(beyond: Mask, dx: float, dy: float) -> Labels:
    from scipy.ndimage import distance_transform_edt
    from skimage.measure import label
    from skimage.morphology import h_maxima
    from skimage.segmentation import watershed

    # The rim of the frame is no ground: a grain cut by it is not thinner there.
    depth = distance_transform_edt(np.pad(beyond, 1, mode="edge"), sampling=(dy, dx))[1:-1, 1:-1] / min(dx, dy)
    peaks = h_maxima(depth, 1.0)  # type: ignore[no-untyped-call]
    seeds = label((peaks > 0) & beyond, connectivity=2)  # type: ignore[no-untyped-call]
    split: Labels = watershed(-depth, seeds, mask=beyond)  # type: ignore[no-untyped-call]
    # A grain too thin to stand out by a pixel has no seed; it stays one grain.
    rest = label(beyond & (split == 0), connectivity=1)  # type: ignore[no-untyped-call]
    return np.where(rest > 0, rest + split.max(), split).astype(np.int32)


def _measure(
    labels: Labels, above: NDArray[np.float64], keep: Mask, dx: float, dy: float, min_pixels: int
) -> tuple[tuple[Grain, ...], Labels]:
    from scipy.ndimage import binary_dilation
    from skimage.measure import regionprops

    unseen = np.pad(~keep, 1, constant_values=True)
    beside_unseen = binary_dilation(unseen)[1:-1, 1:-1]
    numbers = np.zeros(labels.shape, np.int32)
    grains: list[Grain] = []
    for region in regionprops(labels):  # type: ignore[no-untyped-call]
        if region.area < min_pixels:
            continue
        number = len(grains) + 1
        lines, columns = region.coords[:, 0], region.coords[:, 1]
        numbers[lines, columns] = number
        heights = above[lines, columns]
        bottom, left, top, right = region.bbox
        area = region.area * dx * dy
        grains.append(
            Grain(
                label=number,
                pixels=int(region.area),
                area_m2=float(area),
                diameter_m=float(np.sqrt(4 * area / np.pi)),
                center_m=(float((columns.mean() + 0.5) * dx), float((lines.mean() + 0.5) * dy)),
                box_m=(left * dx, bottom * dy, right * dx, top * dy),
                height_m=float(heights.max()),
                mean_height_m=float(heights.mean()),
                volume_m3=float(heights.sum() * dx * dy),
                at_rim=bool(beside_unseen[lines, columns].any()),
            )
        )
    return tuple(grains), numbers
