"""Micrographs with a known truth: lattices, particle fields, terraces and rough films, and the files that hold them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, TiffImagePlugin

Field = NDArray[np.float64]  # shape (height, width), row 0 at the top

_IMAGE_DESCRIPTION, _X_RESOLUTION, _Y_RESOLUTION, _RESOLUTION_UNIT = 270, 282, 283, 296


@dataclass(frozen=True, slots=True)
class Disc:
    """A round particle or hole: middle and radius in pixels, height over the ground in the units of the field."""

    x: float
    y: float
    radius: float
    height: float


def pixels(width: int, height: int) -> tuple[Field, Field]:
    """Return x and y of the pixels' middles, in pixels, each of shape (height, width)."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    return x, y


def fringes(width: int, height: int, period: float, degrees: float, amplitude: float, phase: float = 0.0) -> Field:
    """Return plane waves of a period in pixels; `degrees` is the direction of the wave, from x towards y."""
    x, y = pixels(width, height)
    along = x * np.cos(np.radians(degrees)) + y * np.sin(np.radians(degrees))
    return amplitude * np.cos(2.0 * np.pi * along / period + phase)


def discs(width: int, height: int, these: Sequence[Disc]) -> Field:
    """Return discs on a ground of 0; a pixel belongs to a disc where its middle does, the last disc wins."""
    x, y = pixels(width, height)
    field = np.zeros((height, width))
    for disc in these:
        field[(x - disc.x) ** 2 + (y - disc.y) ** 2 <= disc.radius**2] = disc.height
    return field


def scattered(
    count: int, size: int, radii: tuple[float, float], height: float, seed: int, *, gap: float = 4.0
) -> tuple[Disc, ...]:
    """Return discs that neither touch each other, by `gap` pixels at least, nor the edge of a square picture."""
    random = np.random.default_rng(seed)
    found: list[Disc] = []
    while len(found) < count:
        radius = float(np.round(random.uniform(*radii), 2))
        x, y = (float(np.round(at, 2)) for at in random.uniform(radius + gap, size - 1 - radius - gap, 2))
        if all(np.hypot(x - disc.x, y - disc.y) > radius + disc.radius + gap for disc in found):
            found.append(Disc(x, y, radius, height))
    return tuple(found)


def noise(width: int, height: int, sigma: float, seed: int, *, smooth: float = 0.0) -> Field:
    """Return normal noise of standard deviation `sigma`, smoothed over `smooth` pixels before it is scaled."""
    field = np.random.default_rng(seed).standard_normal((height, width))
    if smooth:
        fx, fy = np.meshgrid(np.fft.fftfreq(width), np.fft.fftfreq(height))
        field = np.fft.ifft2(np.fft.fft2(field) * np.exp(-2.0 * (np.pi * smooth) ** 2 * (fx**2 + fy**2))).real
    field -= field.mean()
    scaled: Field = sigma * field / field.std()
    return scaled


def levels(field: Field, kind: type[np.uint8] | type[np.uint16]) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Return a field as whole grey levels, cut at the ends of the type."""
    top = np.iinfo(kind).max
    return np.clip(np.rint(field), 0, top).astype(kind)


def tiff(
    picture: NDArray[np.uint8] | NDArray[np.uint16],
    pixel: float | None = None,
    unit: str = "nm",
    shown: tuple[float, float] | None = None,
) -> bytes:
    """Return a grey TIFF as ImageJ writes it.

    Parameters
    ----------
    picture : ndarray
        Grey levels.
    pixel : float, optional
        Edge of a pixel in `unit`; without it the file has no calibration.
    shown : tuple of float, optional
        Grey levels that are shown black and white.
    """
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    if pixel is not None or shown is not None:
        said = ["ImageJ=1.53t"]
        if pixel is not None:
            said.append(f"unit={unit}")
            tags[_X_RESOLUTION] = tags[_Y_RESOLUTION] = TiffImagePlugin.IFDRational(1.0 / pixel)
            tags[_RESOLUTION_UNIT] = 1
        if shown is not None:
            said += [f"min={shown[0]:.1f}", f"max={shown[1]:.1f}"]
        tags[_IMAGE_DESCRIPTION] = "\n".join(said) + "\n"
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "TIFF", tiffinfo=tags)
    return stream.getvalue()


def png(picture: NDArray[np.uint8]) -> bytes:
    """Return a grey PNG picture, which has no calibration."""
    stream = io.BytesIO()
    # Not packed: the same bytes whichever zlib Pillow came with.
    Image.fromarray(picture).save(stream, "PNG", compress_level=0)
    return stream.getvalue()


def gsf(field: Field, pixel: float, title: str, xy_unit: str = "m", z_unit: str = "m") -> bytes:
    """Return a Gwyddion Simple Field: a header of lines, then 32-bit floats of the base units.

    Parameters
    ----------
    field : Field
        Values in `z_unit`.
    pixel : float
        Edge of a pixel in `xy_unit`.
    """
    height, width = field.shape
    head = (
        "Gwyddion Simple Field 1.0\n"
        f"XRes = {width}\nYRes = {height}\n"
        f"XReal = {width * pixel:.9g}\nYReal = {height * pixel:.9g}\n"
        f"XYUnits = {xy_unit}\nZUnits = {z_unit}\nTitle = {title}\n"
    ).encode()
    # The data begin at a multiple of four; one to four NUL bytes stand between.
    return head + b"\0" * (4 - len(head) % 4) + field.astype("<f4").tobytes()
