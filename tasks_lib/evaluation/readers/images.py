"""Pictures: what format they really are, how large, and whether there is anything on them; Pillow decodes."""

from __future__ import annotations

import base64
import io
import warnings

import numpy as np
from PIL import Image, UnidentifiedImageError

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.records import Json

FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "GIF", "WEBP")
MOST_PIXELS = 60_000_000
"""A larger picture is not decoded, pixels."""
MARK_TOLERANCE = 100
"""How far a channel of a mark may be from its colour, of 255: edges of small marks are mixed with what is behind."""
LEVEL_GAP = 0.02
"""Bands of marks that are apart by more are two, as a share of the height."""
INK_STEP = 16
"""A pixel is ink where a channel is further than this from the commonest colour, of 255."""


def _open(data: bytes) -> Image.Image:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            picture = Image.open(io.BytesIO(data), formats=FORMATS)
            if picture.width * picture.height > MOST_PIXELS:
                size = f"{picture.width} x {picture.height} pixels"
                msg = f"the picture has {size}, more than the {MOST_PIXELS} that are read"
                raise Unreadable(msg)
            picture.load()
    except (Unreadable, MemoryError):
        raise
    except Exception as error:
        kinds = ", ".join(FORMATS)
        why = "it is truncated or broken" if not isinstance(error, UnidentifiedImageError) else f"it is none of {kinds}"
        msg = f"the file is no readable picture: {why}"
        raise Unreadable(msg) from error
    return picture


def _on_white(picture: Image.Image) -> Image.Image:
    coloured = picture.convert("RGBA")
    white = Image.new("RGBA", coloured.size, "white")
    return Image.alpha_composite(white, coloured).convert("RGB")


def read_image(data: bytes) -> dict[str, Json]:
    """Decode a picture and say what is on it.

    Returns
    -------
    dict
        ``format``, ``width`` and ``height`` (px), ``dpi`` (dots per inch or null), ``colours`` (number of distinct
        colours in steps of 8), ``ink`` (share of pixels that differ from the commonest colour).

    Raises
    ------
    Unreadable
        If it is no picture, is broken, or has too many pixels.
    """
    picture = _open(data)
    dpi = picture.info.get("dpi", (None,))[0]
    pixels = np.asarray(_on_white(picture))
    coarse = pixels.astype(np.uint32) >> 3
    codes = (coarse[..., 0] << 10) | (coarse[..., 1] << 5) | coarse[..., 2]
    counts = np.bincount(codes.ravel(), minlength=1 << 15)
    common = int(counts.argmax())
    background = pixels[codes == common][0].astype(np.int16)
    ink = (np.abs(pixels.astype(np.int16) - background).max(axis=-1) > INK_STEP).mean()
    return {
        "format": str(picture.format),
        "width": picture.width,
        "height": picture.height,
        "dpi": None if dpi is None else round(float(dpi), 2),
        "colours": int((counts > 0).sum()),
        "ink": round(float(ink), 6),
    }


def read_grey(data: bytes, side: int = 512) -> dict[str, Json]:
    """Return the picture in grey, scaled so that its longer side has `side` pixels, for comparison."""
    picture = _on_white(_open(data)).convert("L")
    factor = side / max(picture.size)
    size = (max(8, round(picture.width * factor)), max(8, round(picture.height * factor)))
    small = picture.resize(size, Image.Resampling.BOX)
    return {"width": size[0], "height": size[1], "grey": base64.b64encode(small.tobytes()).decode("ascii")}


def read_marks(data: bytes, colour: list[int], low: float, high: float) -> dict[str, Json]:
    """Find what was drawn in one colour on a picture of a plot.

    Parameters
    ----------
    data : bytes
        The picture.
    colour : list of int
        Red, green and blue, 0 to 255. A pixel counts where no channel is further from it than `MARK_TOLERANCE`.
    low, high : float
        Only pixels between these shares of the width count, 0 at the left edge.

    Returns
    -------
    dict
        ``highest``: ``[x, y]`` of the highest pixel (the leftmost column of several) as shares of width and height, y
        from the bottom, null where there is none. ``levels``: heights of the bands that the pixels make, rising, as
        shares of the height; bands are apart by more than `LEVEL_GAP` of the height, and the height of a band is the
        median of its pixels.

    Raises
    ------
    Unreadable
        If it is no picture.
    """
    pixels = np.asarray(_on_white(_open(data))).astype(np.int16)
    height, width = pixels.shape[:2]
    alike = np.abs(pixels - np.array(colour, dtype=np.int16)).max(axis=-1) <= MARK_TOLERANCE
    shares = (np.arange(width) + 0.5) / width
    alike &= (shares >= low) & (shares <= high)
    rows, columns = np.nonzero(alike)
    if rows.size == 0:
        return {"highest": None, "levels": []}
    first = columns[rows == rows.min()].min()
    up = np.sort((height - rows - 0.5) / height)
    bands = np.split(up, np.flatnonzero(np.diff(up) > LEVEL_GAP) + 1)
    return {
        "highest": [float(shares[first]), float(up[-1])],
        "levels": [round(float(np.median(band)), 5) for band in bands],
    }


def read_pixels(data: bytes, most: int = 4_000_000) -> dict[str, Json]:
    """Return the picture as it is, red, green, blue and opacity, for comparison pixel by pixel.

    Raises
    ------
    Unreadable
        If it is no picture or has more than `most` pixels.
    """
    picture = _open(data)
    if picture.width * picture.height > most:
        msg = f"the picture has {picture.width} x {picture.height} pixels, more than the {most} that are compared"
        raise Unreadable(msg)
    pixels = base64.b64encode(picture.convert("RGBA").tobytes()).decode("ascii")
    return {"width": picture.width, "height": picture.height, "pixels": pixels}
