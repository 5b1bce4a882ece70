"""What a DigitalMicrograph file holds: images with their calibration, what is drawn on them, and the tags."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.evaluation.readers._dm_tags import Block, parse
from tasks_lib.evaluation.readers.fields import crop, statistics
from tasks_lib.records import Json

_PIXELS = {
    1: "i2", 2: "f4", 3: "c8", 6: "u1", 7: "i4", 9: "i1", 10: "u2", 11: "u4", 12: "f8", 13: "c16", 14: "u1", 23: "u1",
    39: "i8", 40: "u8",
}  # fmt: skip
_COLOURED = 23
_ANNOTATIONS = {
    2: "line", 3: "arrow", 4: "double-arrow", 5: "rectangle", 6: "oval", 8: "spot-mask", 9: "array-mask", 13: "text",
    15: "bandpass-mask", 19: "wedge-mask", 20: "image", 23: "roi", 31: "scale-bar",
}  # fmt: skip
MOST_ANNOTATIONS = 2000
MOST_POINTS = 1_000_000


def read_dm(data: bytes) -> dict[str, Json]:
    """Read everything but the pixels.

    Returns
    -------
    dict
        ``version`` (3 or 4) and ``images``, without the thumbnail: each with ``name``, ``width``, ``height``,
        ``frames``, ``type`` (NumPy's name, ``rgb`` for colours), ``unit``, ``pixel-width``, ``pixel-height``,
        ``x-offset``, ``y-offset`` (null where a dimension is not calibrated), ``value-unit``, ``value-scale``,
        ``display-range`` (``[low, high]`` or null) and ``annotations`` (list of ``{"type", "text", "box"}``, the box
        being ``[x, y, width, height]``).

    Raises
    ------
    Unreadable
        If it is no such file, is broken, or holds no image.
    """
    top = parse(data)
    return {"version": data[3], "images": [_facts(top, at) for at in _shown(top)]}


def measure(data: bytes, image: int, frame: int = 0, region: list[int] | None = None) -> dict[str, float | None]:
    """Return the statistics of an image, see ``fields.statistics``; a slope is per pixel.

    A complex value counts as its modulus, a coloured pixel as the mean of red, green and blue. A calibration of the
    values is applied.

    Parameters
    ----------
    image : int
        Number of the image in the list of `read_dm`.
    frame : int
        Frame of a stack.
    region : list of int, optional
        ``[x, y, width, height]`` in pixels.
    """
    top = parse(data)
    part = _image(top, image)
    values = _values(part)
    if not 0 <= frame < values.shape[0]:
        msg = f"there is no frame {frame}: image {image} has {values.shape[0]}, counted from 0"
        raise Unreadable(msg)
    picked = crop(values[frame], region)
    plain = (np.abs(picked) if np.iscomplexobj(picked) else picked).astype(np.float64)
    if plain.ndim == 3:
        plain = plain[..., :3].mean(axis=-1)
    return statistics(_calibrated(plain, part))


def curve(data: bytes, image: int) -> dict[str, Json]:
    """Return an image with one row, such as a line profile or a spectrum, as ``{"columns": ["x", "y"], "rows"}``."""
    part = _image(parse(data), image)
    values = _values(part)
    if values.ndim != 3 or values.shape[:2] != (1, 1) or values.shape[2] > MOST_POINTS:
        msg = f"image {image} is no curve: it has {values.shape[1]} rows and {values.shape[0]} frames"
        raise Unreadable(msg)
    plain = np.abs(values[0, 0]) if np.iscomplexobj(values) else values[0, 0]
    y = _calibrated(plain.astype(np.float64), part)
    _, scale, offset = _length(part, 0)
    x = (offset or 0.0) + (1.0 if scale is None else scale) * np.arange(y.size)
    return {"columns": ["x", "y"], "rows": np.column_stack([x, y]).tolist()}


def read_tag(data: bytes, pointer: str) -> Json:
    """Return the tag at ``/name/name/…`` (a number for a group without names); text of 16-bit numbers is text.

    Raises
    ------
    Unreadable
        If there is no such tag, or it is a group or a large array.
    """
    value: Any = parse(data)
    for name in pointer.strip("/").split("/"):
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            there = ", ".join(sorted(value)[:12]) if isinstance(value, dict) else f"{len(value)} without names"
            there = there if isinstance(value, dict | list) else "no tags"
            msg = f"there is no tag {name!r} of {pointer!r}; there are: {there}"
            raise Unreadable(msg)
    if isinstance(value, Block):
        if value.dtype.names is not None or len(value.data) > 100_000:
            msg = f"the tag {pointer!r} is a large array or one of records"
            raise Unreadable(msg)
        return value.text() if value.dtype.str[1:] == "u2" else np.frombuffer(value.data, value.dtype).tolist()
    if isinstance(value, dict | list):
        msg = f"the tag {pointer!r} is a group of {len(value)}, name one of its tags"
        raise Unreadable(msg)
    return list(value) if isinstance(value, tuple) else value


def _list(top: dict[str, Any], name: str) -> list[Any]:
    found = top.get(name)
    return found if isinstance(found, list) else []


def _shown(top: dict[str, Any]) -> list[int]:
    thumbnails = {part.get("ImageIndex") for part in _list(top, "Thumbnails") if isinstance(part, dict)}
    images = _list(top, "ImageList")
    found = [at for at in range(len(images)) if at not in thumbnails and isinstance(images[at], dict)]
    if not found:
        msg = "the DigitalMicrograph file holds no image"
        raise Unreadable(msg)
    return found


def _image(top: dict[str, Any], number: int) -> dict[str, Any]:
    shown = _shown(top)
    if not 0 <= number < len(shown):
        msg = f"there is no image {number}: the file has {len(shown)}, counted from 0"
        raise Unreadable(msg)
    return top["ImageList"][shown[number]]  # type: ignore[no-any-return]


def _values(part: dict[str, Any]) -> NDArray[Any]:
    """Return the pixels, frames × height × width (× 4 for colours)."""
    inner = part.get("ImageData")
    block = inner.get("Data") if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or not isinstance(block, Block) or inner.get("DataType") not in _PIXELS:
        msg = f"an image has no pixels of a known type: {inner.get('DataType') if isinstance(inner, dict) else None!r}"
        raise Unreadable(msg)
    sizes = inner.get("Dimensions")
    if not isinstance(sizes, list) or not 1 <= len(sizes) <= 3 or not all(isinstance(n, int) and n > 0 for n in sizes):
        msg = f"an image has the dimensions {str(sizes)[:60]}, which is no picture and no stack"
        raise Unreadable(msg)
    order = "<" if block.dtype.byteorder in "<|=" else ">"
    if block.dtype.names is not None:
        order = block.dtype[0].byteorder.replace("=", "<").replace("|", "<")
    shape = (*([1] * (3 - len(sizes))), *reversed(sizes), *([4] if inner["DataType"] == _COLOURED else []))
    dtype = np.dtype(order + _PIXELS[inner["DataType"]])
    if math.prod(shape) * dtype.itemsize != len(block.data):
        msg = f"an image says {' x '.join(map(str, sizes))} pixels of {dtype.name} and holds {len(block.data)} bytes"
        raise Unreadable(msg)
    return np.frombuffer(block.data, dtype).reshape(shape)


def _group(part: dict[str, Any], *names: str) -> dict[str, Any]:
    found: Any = part
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str:
    return value.text() if isinstance(value, Block) and value.dtype.names is None else str(value or "")


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _length(part: dict[str, Any], dimension: int) -> tuple[str | None, float | None, float | None]:
    """Return unit, scale and the coordinate of the first pixel; None where the dimension is not calibrated."""
    rows = _group(part, "ImageData", "Calibrations").get("Dimension")
    row = rows[dimension] if isinstance(rows, list) and dimension < len(rows) else None
    row = row if isinstance(row, dict) else {}
    unit, scale, origin = _text(row.get("Units")).strip(), _finite(row.get("Scale")), _finite(row.get("Origin"))
    if not unit or not scale:
        return None, None, None
    return unit, scale, -(origin or 0.0) * scale


def _calibrated(values: NDArray[np.float64], part: dict[str, Any]) -> NDArray[np.float64]:
    row = _group(part, "ImageData", "Calibrations", "Brightness")
    scale, origin = _finite(row.get("Scale")), _finite(row.get("Origin"))
    return (values - (origin or 0.0)) * scale if scale else values


def _facts(top: dict[str, Any], at: int) -> dict[str, Json]:
    part = top["ImageList"][at]
    values = _values(part)
    unit, width, x_offset = _length(part, 0)
    other, height, y_offset = _length(part, 1)
    brightness = _group(part, "ImageData", "Calibrations", "Brightness")
    display = _display(top, at)
    low, high = (_finite(_group(display, "ImageDisplayInfo").get(name)) for name in ("LowLimit", "HighLimit"))
    drawn = _list(display, "AnnotationGroupList")[:MOST_ANNOTATIONS]
    return {
        "name": _text(part.get("Name")),
        "width": values.shape[2],
        "height": values.shape[1],
        "frames": values.shape[0],
        "type": "rgb" if values.ndim == 4 else values.dtype.name,
        "unit": unit,
        "pixel-width": width,
        "pixel-height": height if other == unit else None,
        "x-offset": x_offset,
        "y-offset": y_offset if other == unit else None,
        "value-unit": _text(brightness.get("Units")).strip() or None,
        "value-scale": _finite(brightness.get("Scale")),
        "display-range": [low, high] if low is not None and high is not None and low < high else None,
        "annotations": [_annotation(row) for row in drawn if isinstance(row, dict)],
    }


def _display(top: dict[str, Any], at: int) -> dict[str, Any]:
    sources = [row.get("ImageRef") if isinstance(row, dict) else None for row in _list(top, "ImageSourceList")]
    for row in _list(top, "DocumentObjectList"):
        source = row.get("ImageSource") if isinstance(row, dict) else None
        if isinstance(source, int) and 0 <= source < len(sources) and sources[source] == at:
            return row  # type: ignore[no-any-return]
    return {}


def _annotation(row: dict[str, Any]) -> dict[str, Json]:
    kind, box = row.get("AnnotationType"), row.get("Rectangle")
    corners = [_finite(side) for side in box] if isinstance(box, tuple) and len(box) == 4 else []
    placed: Json = None
    if corners and None not in corners:
        top, left, bottom, right = (float(side or 0.0) for side in corners)
        placed = [left, top, right - left, bottom - top]
    name = _ANNOTATIONS.get(kind) if isinstance(kind, int) else None
    return {"type": name or str(kind), "text": _text(row.get("Text")), "box": placed}
