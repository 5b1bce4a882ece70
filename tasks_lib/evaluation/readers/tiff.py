"""TIFF as a measurement: calibration, display range and what ImageJ drew on it; tifffile reads it."""

from __future__ import annotations

import io
import logging
import math
import re
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.evaluation.readers.fields import crop, statistics
from tasks_lib.evaluation.readers.rois import MOST_ROIS, read_roi
from tasks_lib.records import Json

MOST_PIXELS = 60_000_000
"""A larger frame is not decoded, pixels."""
MOST_FRAMES = 20_000
_LENGTHS = {2: "inch", 3: "cm"}
_NO_LENGTHS = ("", "pixel", "pixels", "px")


def read_tiff(data: bytes) -> dict[str, Json]:
    """Read everything but the pixels.

    Returns
    -------
    dict
        ``frames``, ``width``, ``height`` (px), ``samples`` (3 for RGB), ``type`` (such as ``uint16``), ``program``
        (``ImageJ 1.53t`` or null), ``unit`` of length (null where there is no calibration), ``pixel-width`` and
        ``pixel-height`` in it, ``frame-distance`` (null where there is none), ``value-unit``, ``display-range``
        (``[low, high]`` or null), ``roi`` (the selection or null) and ``overlay`` (list), see `rois.read_roi`.

    Raises
    ------
    Unreadable
        If it is no TIFF, is broken or too large.
    """
    with _Opened(data) as file:
        page, said = file.page(0), file.said
        unit, width, height = _calibration(page, said)
        low, high = said.get("min"), said.get("max")
        ranged = isinstance(low, int | float) and isinstance(high, int | float)
        overlay = said.get("Overlays") or []
        overlay = overlay if isinstance(overlay, list) else [overlay]
        if len(overlay) > MOST_ROIS:
            msg = f"the overlay has {len(overlay)} parts, more than the {MOST_ROIS} that are read"
            raise Unreadable(msg)
        return {
            "frames": file.frames,
            "width": page.imagewidth,
            "height": page.imagelength,
            "samples": page.samplesperpixel,
            "type": str(page.dtype),
            "program": f"ImageJ {said['ImageJ']}" if "ImageJ" in said else None,
            "unit": unit,
            "pixel-width": width,
            "pixel-height": height,
            "frame-distance": said.get("spacing") if unit is not None else None,
            "value-unit": _unescape(said["vunit"]) if said.get("vunit") else None,
            "display-range": [low, high] if ranged else None,
            "roi": read_roi(said["ROI"]) if isinstance(said.get("ROI"), bytes) else None,
            "overlay": [read_roi(part) for part in overlay],
        }


def measure(data: bytes, frame: int = 0, region: list[int] | None = None) -> dict[str, float | None]:
    """Return the statistics of a frame, see ``fields.statistics``; a slope is per pixel.

    The three values of a coloured pixel count as their mean. A linear calibration of the values is applied.

    Raises
    ------
    Unreadable
        If there is no such frame or region, or its compression is not known.
    """
    with _Opened(data) as file:
        values = file.pixels(frame).astype(np.float64)
        if file.said.get("cf") == 0:
            first, factor = file.said.get("c0"), file.said.get("c1")
            if isinstance(first, int | float) and isinstance(factor, int | float):
                values = first + factor * values
    if values.ndim == 3:
        values = values[..., :3].mean(axis=-1)
    return statistics(crop(values, region))


class _Opened:
    """An open file; what tifffile raises becomes the reason why the file cannot be read."""

    def __init__(self, data: bytes) -> None:
        import tifffile

        logging.getLogger("tifffile").setLevel(logging.CRITICAL)
        self._data = data
        try:
            self._file = tifffile.TiffFile(io.BytesIO(data))
            self.said: dict[str, Any] = dict(self._file.imagej_metadata or {})
            pages = len(self._file.pages)
        except MemoryError:
            raise
        except Exception as error:
            msg = f"the file is no readable TIFF ({type(error).__name__}): it is another format, truncated or broken"
            raise Unreadable(msg) from error
        images = self.said.get("images", 1)
        self.frames = max(pages, images) if isinstance(images, int) and images > 0 else pages
        if not 0 < self.frames <= MOST_FRAMES:
            msg = f"the TIFF has {self.frames} frames, from 1 to {MOST_FRAMES} are read"
            raise Unreadable(msg)

    def __enter__(self) -> _Opened:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self._file.close()
        if error is None or isinstance(error, Unreadable | MemoryError | RecursionError):
            return
        msg = f"the TIFF is truncated or broken ({type(error).__name__})"
        raise Unreadable(msg) from error

    def page(self, frame: int) -> Any:
        page: Any = self._file.pages[frame]
        shape = (page.imagewidth, page.imagelength, page.samplesperpixel)
        if min(shape) < 1 or math.prod(shape) > MOST_PIXELS:
            msg = f"a frame of {shape[0]} x {shape[1]} pixels with {shape[2]} samples is not read"
            raise Unreadable(msg)
        # Calibration and overlay stand before the pixels: of a file that was cut off they can still be read.
        end = max((start + size for start, size in zip(page.dataoffsets, page.databytecounts, strict=False)), default=0)
        if end > len(self._data):
            msg = f"the TIFF is truncated: its pixels end at byte {end} and the file at byte {len(self._data)}"
            raise Unreadable(msg)
        return page

    def pixels(self, frame: int) -> NDArray[Any]:
        if not 0 <= frame < self.frames:
            msg = f"there is no frame {frame}: the TIFF has {self.frames}, counted from 0"
            raise Unreadable(msg)
        page = self.page(0)
        if frame < len(self._file.pages):
            try:
                values: NDArray[Any] = self.page(frame).asarray()
            except ValueError:  # tifffile leaves LZW and JPEG to a large library; Pillow has them
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    picture = Image.open(io.BytesIO(self._data), formats=("TIFF",))
                    picture.seek(frame)
                    values = np.asarray(picture)
        else:  # ImageJ writes a large stack as one page with the pixels of all frames behind each other
            offset = page.dataoffsets[0] + frame * page.nbytes
            kind = np.dtype(page.dtype).newbyteorder(self._file.byteorder)
            if page.compression != 1 or offset + page.nbytes > len(self._data):
                msg = f"frame {frame} is not in the file: it is truncated"
                raise Unreadable(msg)
            values = np.frombuffer(self._data, kind, page.nbytes // kind.itemsize, offset).reshape(page.shape)
        if values.ndim == 3 and values.shape[0] == page.samplesperpixel and values.shape[0] < values.shape[-1]:
            values = np.moveaxis(values, 0, -1)
        if values.ndim not in (2, 3) or not np.isrealobj(values):
            msg = f"a frame with the shape {values.shape} of {values.dtype} is no picture"
            raise Unreadable(msg)
        return values


def _calibration(page: Any, said: dict[str, Any]) -> tuple[str | None, float | None, float | None]:
    width, height = (_per_unit(page, name) for name in ("XResolution", "YResolution"))
    tag = page.tags.get("ResolutionUnit")
    unit = _LENGTHS.get(int(tag.value)) if tag is not None else "inch"
    if "ImageJ" in said:
        unit = _unescape(said.get("unit", "")) or unit
    if unit is None or unit in _NO_LENGTHS or width is None or height is None:
        return None, None, None
    return unit, width, height


def _per_unit(page: Any, name: str) -> float | None:
    tag = page.tags.get(name)
    if tag is None:
        return None
    above, below = tag.value
    return below / above if above and below else None


def _unescape(text: Any) -> str:
    # ImageJ writes a sign beyond ASCII as a backslash, u and four hexadecimal digits.
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), str(text)).strip()
