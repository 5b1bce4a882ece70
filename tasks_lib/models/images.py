"""Screenshots as a model sees them, and the way back from its pixels to the screen's."""

from __future__ import annotations

import io
import math
import struct
import zlib
from dataclasses import dataclass

from PIL import Image

from tasks_lib.models.settings import ImageSettings

MOST_PIXELS = 64_000_000


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture made ready for a model: the file, and its size in pixels."""

    data: bytes
    media_type: str
    width: int
    height: int


def shown_size(width: int, height: int, settings: ImageSettings) -> tuple[int, int]:
    """Return the size at which a model sees a screen, pixels.

    The longer side is brought down to ``max_long_edge``, the ratio kept, and both sides are cut to a multiple of
    ``multiple_of``: 1920 x 1080 with 1456 and 8 gives 1456 x 816.
    """
    longest = max(width, height)
    limit = settings.max_long_edge
    step = settings.multiple_of
    if limit is not None and longest > limit:
        # Integers all the way: a float ratio would turn an exact 819 into 818.
        width, height = width * limit // longest, height * limit // longest
    return max(step, width // step * step), max(step, height // step * step)


def fit_picture(png: bytes, settings: ImageSettings) -> Picture:
    """Bring a screenshot to the size and the format that a model takes.

    Parameters
    ----------
    png : bytes
        The screenshot, a PNG file.
    settings : ImageSettings
        What the model takes.

    Returns
    -------
    Picture
        The very same bytes where nothing had to change.

    Raises
    ------
    ValueError
        If the file is no PNG, broken, or of more than 64 million pixels.
    """
    try:
        return _fit(png, settings)
    except (OSError, SyntaxError, EOFError, struct.error, zlib.error, Image.DecompressionBombError) as error:
        msg = f"the picture cannot be read ({type(error).__name__}: {error})"
        raise ValueError(msg) from error


def _fit(png: bytes, settings: ImageSettings) -> Picture:
    with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
        if image.width * image.height > MOST_PIXELS:
            msg = f"the picture has {image.width} x {image.height} pixels, at most {MOST_PIXELS} are read"
            raise ValueError(msg)
        image.load()
        width, height = shown_size(image.width, image.height, settings)
        if (width, height) == image.size and settings.format == "png":
            return Picture(png, "image/png", width, height)
        picture = image.convert("RGB")
        if (width, height) != image.size:
            picture = picture.resize((width, height), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    if settings.format == "png":
        picture.save(out, "PNG", compress_level=3)
    elif settings.format == "jpeg":
        picture.save(out, "JPEG", quality=settings.quality)
    else:
        picture.save(out, "WEBP", lossless=True, quality=20)
    return Picture(out.getvalue(), f"image/{settings.format}", width, height)


def to_screen(x: float, y: float, shown: tuple[int, int], screen: tuple[int, int]) -> tuple[int, int]:
    """Map a pixel of the picture that a model saw to the pixel of the screen under its centre.

    Parameters
    ----------
    x, y : float
        Position in the picture, pixels, origin top left; rounded to the nearest pixel where the sizes are equal.
    shown, screen : tuple of int
        Width and height of the picture and of the screen, pixels.

    Returns
    -------
    tuple of int
        Position on the screen, pixels.

    Raises
    ------
    ValueError
        If the position is outside the picture or not finite.
    """
    if not (math.isfinite(x) and math.isfinite(y)) or not (-0.5 <= x < shown[0] and -0.5 <= y < shown[1]):
        place = f"x 0 to {shown[0] - 1}, y 0 to {shown[1] - 1}"
        msg = f"({x:g}, {y:g}) is outside the picture: {place}"
        raise ValueError(msg)
    return _axis(x, shown[0], screen[0]), _axis(y, shown[1], screen[1])


def _axis(value: float, shown: int, screen: int) -> int:
    if shown == screen:
        return min(math.floor(value + 0.5), screen - 1)
    # A pixel is an area: its centre is at value + 1/2.
    return min(max(math.floor((value + 0.5) * screen / shown), 0), screen - 1)
