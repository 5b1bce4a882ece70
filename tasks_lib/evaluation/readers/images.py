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
