"""Reading text from a screenshot: a small protocol, and RapidOCR as the default behind it."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from PIL import Image

from tasks_lib.records.errors import EvaluatorError


@dataclass(frozen=True, slots=True)
class Line:
    """A piece of text on a picture, with its box in pixels and the engine's confidence in [0, 1]."""

    text: str
    x: float
    y: float
    width: float
    height: float
    confidence: float


class OcrEngine(Protocol):
    """What reads text from an RGB picture, height × width × 3, 8 bits a channel."""

    name: str

    def read(self, pixels: np.ndarray[Any, Any]) -> list[Line]:
        """Return the lines of text, in any order."""
        ...


class RapidOcr:
    """RapidOCR (PP-OCR models on ONNX Runtime) with the weights of its wheel; about 600 MB once loaded."""

    name = "rapidocr"

    def __init__(self) -> None:
        import logging

        from rapidocr import RapidOCR

        logging.getLogger("RapidOCR").setLevel(logging.ERROR)
        self._engine = RapidOCR(params={"Global.log_level": "error", "Global.use_cls": False})

    def read(self, pixels: np.ndarray[Any, Any]) -> list[Line]:
        """Return the lines of text that RapidOCR finds."""
        found: Any = self._engine(pixels[..., ::-1])  # the engine takes blue first
        if found.boxes is None or found.txts is None:
            return []
        lines = []
        for box, text, score in zip(found.boxes, found.txts, found.scores, strict=True):
            (left, top), (right, bottom) = np.min(box, axis=0), np.max(box, axis=0)
            lines.append(
                Line(text, float(left), float(top), float(right - left), float(bottom - top), round(float(score), 3))
            )
        return lines


_FACTORIES: dict[str, Callable[[], OcrEngine]] = {"rapidocr": RapidOcr}
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


@lru_cache(maxsize=16)
def _lines(png: bytes, region: tuple[int, int, int, int] | None, engine: str) -> tuple[Line, ...]:
    try:
        picture = Image.open(io.BytesIO(png), formats=("PNG", "WEBP")).convert("RGB")
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        msg = f"the final screenshot cannot be decoded: {error}"
        raise EvaluatorError(msg) from error
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
