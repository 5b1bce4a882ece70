"""Inputs of the tasks in Nion Swift: micrographs as DigitalMicrograph 3 files, with the truth of their calibration.

The format is a tree of tags. Its structure is big-endian, the values in it are little-endian here; see
``tasks_lib/evaluation/readers/_dm_tags.py`` for the reader's side.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infra.inputs.micrographs import fringes, levels, noise

_GROUP, _VALUE, _ARRAY = 20, 21, 20
_LONG, _UNSIGNED_SHORT, _UNSIGNED_LONG, _FLOAT, _BOOLEAN = 3, 4, 5, 6, 8
_FORMATS = {_LONG: "<i", _UNSIGNED_LONG: "<I", _FLOAT: "<f", _BOOLEAN: "<b"}
_UINT16_IMAGE = 10  # kind of the pixels

# Planes of silicon (111) seen edge-on. The file has the pixel of the last session, 0.0200 nm; the true one follows from
# the spacing, which is 16 pixels.
SILICON_111 = 0.3136  # nm
SILICON_PERIOD = 16.0  # px
SILICON_WRITTEN = 0.02  # nm
SILICON_SIZE = 256  # px


def _tag(name: str, value: Any) -> bytes:
    label = name.encode("ascii")
    if isinstance(value, Mapping | list):
        return struct.pack(">BH", _GROUP, len(label)) + label + _group(value)
    if isinstance(value, np.ndarray):
        kinds, data = (_ARRAY, _UNSIGNED_SHORT, value.size), value.astype("<u2").tobytes()
    elif isinstance(value, str):
        kinds, data = (_ARRAY, _UNSIGNED_SHORT, len(value)), value.encode("utf-16-le")
    else:
        kind, number = value
        kinds, data = (kind,), struct.pack(_FORMATS[kind], number)
    head = struct.pack(f">BH{len(label)}s4sI{len(kinds)}I", _VALUE, len(label), label, b"%%%%", len(kinds), *kinds)
    return head + data


def _group(members: Mapping[str, Any] | Sequence[Any]) -> bytes:
    """Return a group: of named tags, or a list, whose tags have no names and no order of names."""
    named = isinstance(members, Mapping)
    pairs = list(members.items()) if isinstance(members, Mapping) else [("", value) for value in members]
    return struct.pack(">BBI", named, 0, len(pairs)) + b"".join(_tag(name, value) for name, value in pairs)


def dm3(picture: NDArray[np.uint16], pixel: float, unit: str, value_unit: str = "counts") -> bytes:
    """Return a picture as a .dm3 file.

    Parameters
    ----------
    picture : ndarray of shape (height, width)
        Row 0 at the top.
    pixel : float
        Edge of a pixel, in `unit`.
    unit, value_unit : str
        Of lengths and of values.
    """
    height, width = picture.shape
    scale = {"Origin": (_FLOAT, 0.0), "Scale": (_FLOAT, pixel), "Units": unit}
    values = {"Origin": (_FLOAT, 0.0), "Scale": (_FLOAT, 1.0), "Units": value_unit}
    data = {
        "Calibrations": {"Brightness": values, "Dimension": [scale, scale]},
        "Data": picture,
        "DataType": (_LONG, _UINT16_IMAGE),
        "Dimensions": [(_UNSIGNED_LONG, width), (_UNSIGNED_LONG, height)],
        "PixelDepth": (_UNSIGNED_LONG, 2),
    }
    tags = {"Microscope Info": {"Voltage": (_FLOAT, 200_000.0)}}
    tree = _group(
        {
            "DocumentObjectList": [{"AnnotationType": (_LONG, 20), "ImageSource": (_LONG, 0)}],
            "Image Behavior": {"ViewDisplayID": (_UNSIGNED_LONG, 8)},
            "ImageList": [{"ImageData": data, "ImageTags": tags}],
            "ImageSourceList": [
                {"ClassName": "ImageSource:Simple", "Id": [(_UNSIGNED_LONG, 0)], "ImageRef": (_UNSIGNED_LONG, 0)}
            ],
            "InImageMode": (_BOOLEAN, 1),
        }
    )
    return struct.pack(">III", 3, len(tree), 1) + tree + bytes(8)


def silicon() -> NDArray[np.uint16]:
    """Return the planes of silicon: an exact period, so that the transform has one pair of spots, and noise."""
    size = SILICON_SIZE
    field = 1400.0 + fringes(size, size, SILICON_PERIOD, 0.0, 260.0) + noise(size, size, 90.0, 20261130)
    return levels(field, np.uint16)


def files() -> dict[str, bytes]:
    """Return the inputs by their path below the domain."""
    return {"lattice-calibration/inputs/silicon.dm3": dm3(silicon(), SILICON_WRITTEN, "nm")}
