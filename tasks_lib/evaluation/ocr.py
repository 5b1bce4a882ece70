"""Reading text from a screenshot: a small protocol, and the engines behind it, of which RapidOCR is the default."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from PIL import Image

from tasks_lib.evaluation._ocr_engines import EasyOcr, Line, OcrEngine, RapidOcr, Tesseract
from tasks_lib.records.errors import EvaluatorError

__all__ = ["EasyOcr", "Line", "OcrEngine", "RapidOcr", "Tesseract", "decode", "engines", "read_screen", "register"]

MOST_PIXELS = 40_000_000
"""A larger screenshot is not decoded."""


_FACTORIES: dict[str, Callable[[], OcrEngine]] = {engine.name: engine for engine in (RapidOcr, Tesseract, EasyOcr)}
_LOADED: dict[str, OcrEngine] = {}
_LOCK = threading.Lock()


def register(name: str, factory: Callable[[], OcrEngine]) -> None:
    """Make an engine known under `name`; it is built when first used."""
    with _LOCK:
        _FACTORIES[name] = factory
        _LOADED.pop(name, None)
    _lines.cache_clear()


def engines() -> tuple[str, ...]:
    """Return the names of the engines, sorted."""
    return tuple(sorted(_FACTORIES))


def read_screen(png: bytes, region: tuple[int, int, int, int] | None = None, engine: str = "rapidocr") -> list[Line]:
    """Read the text of a screenshot, in reading order.

    Parameters
    ----------
    png : bytes
        The screenshot.
    region : (x, y, width, height), optional
        The part that is read, pixels; clipped to the screenshot.
    engine : str
        Name of a registered engine.

    Returns
    -------
    list of Line
        Boxes in pixels of the whole screenshot; lines top to bottom, left to right.

    Raises
    ------
    EvaluatorError
        If the engine or the screenshot is broken.
    """
    return list(_lines(png, region, engine))


def decode(png: bytes) -> Image.Image:
    """Decode a screenshot to RGB; EvaluatorError where it is broken, as our own machine took it."""
    try:
        picture = Image.open(io.BytesIO(png), formats=("PNG", "WEBP"))
        if picture.width * picture.height > MOST_PIXELS:
            msg = f"it has {picture.width} x {picture.height} pixels, more than {MOST_PIXELS}"
            raise ValueError(msg)
        return picture.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        msg = f"the final screenshot cannot be decoded: {error}"
        raise EvaluatorError(msg) from error


@lru_cache(maxsize=16)
def _lines(png: bytes, region: tuple[int, int, int, int] | None, engine: str) -> tuple[Line, ...]:
    picture = decode(png)
    left, top = 0, 0
    if region is not None:
        x, y, width, height = region
        left, top = min(max(x, 0), picture.width), min(max(y, 0), picture.height)
        picture = picture.crop((left, top, min(x + width, picture.width), min(y + height, picture.height)))
    if picture.width < 2 or picture.height < 2:
        return ()
    with _LOCK:  # one picture at a time: the engine uses all cores for one already
        if engine not in _LOADED:
            _LOADED[engine] = _FACTORIES[engine]()
        found = _LOADED[engine].read(np.asarray(picture))
    moved = [Line(n.text, n.x + left, n.y + top, n.width, n.height, n.confidence) for n in found]
    return tuple(_reading_order(moved))


def _reading_order(lines: list[Line]) -> list[Line]:
    ordered: list[list[Line]] = []
    for line in sorted(lines, key=lambda n: (n.y + n.height / 2, n.x, n.text)):
        middle = line.y + line.height / 2
        if ordered and middle <= ordered[-1][0].y + 0.8 * ordered[-1][0].height:
            ordered[-1].append(line)
        else:
            ordered.append([line])
    return [line for row in ordered for line in sorted(row, key=lambda n: (n.x, n.text))]
