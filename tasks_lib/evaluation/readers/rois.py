"""What was drawn on a picture in ImageJ: selections and overlays, one (``.roi``), many (``.zip``), or in a TIFF."""

from __future__ import annotations

import io
import logging
import zipfile
from typing import Any

import numpy as np

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.records import Json

MOST_ROIS = 5000
LARGEST_ROI = 4 * 1024 * 1024
"""A larger selection is refused, bytes."""
_TYPES = (
    "polygon",
    "rectangle",
    "oval",
    "line",
    "freeline",
    "polyline",
    "none",
    "freehand",
    "traced",
    "angle",
    "point",
)
_SUBTYPES = {1: "text", 2: "arrow", 3: "ellipse", 4: "image", 5: "rotated-rectangle"}


def read_rois(data: bytes) -> list[Json]:
    """Read a ``.roi`` file, or a ``.zip`` of them as the ROI manager saves it, in the order of the file.

    Returns
    -------
    list of dict
        See `read_roi`.

    Raises
    ------
    Unreadable
        If it is neither, is broken, or too large.
    """
    if data.startswith(b"Iout"):
        return [read_roi(data)]
    found: list[Json] = []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [entry for entry in archive.infolist() if entry.filename.endswith(".roi")]
            if len(names) > MOST_ROIS:
                msg = f"the archive holds {len(names)} selections, more than the {MOST_ROIS} that are read"
                raise Unreadable(msg)
            for entry in names:
                with archive.open(entry) as file:
                    found.append(read_roi(file.read(LARGEST_ROI + 1), entry.filename.removesuffix(".roi")))
    except (Unreadable, MemoryError):
        raise
    except Exception as error:
        msg = f"the file is neither a selection of ImageJ nor a .zip of them ({type(error).__name__})"
        raise Unreadable(msg) from error
    if not found:
        msg = "the archive holds no selection of ImageJ"
        raise Unreadable(msg)
    return found


def read_roi(data: bytes, name: str = "") -> dict[str, Json]:
    """Read one selection.

    Returns
    -------
    dict
        ``type`` (``rectangle``, ``oval``, ``line``, ``polygon``, ``text``, ``arrow``, …), ``name``, the box around it
        ``x``, ``y``, ``width``, ``height`` in pixels; ``points`` (``[[x, y], …]``, for a line its two ends), ``text``,
        ``stroke-width`` and ``stroke-colour`` (``#rrggbb`` or null).

    Raises
    ------
    Unreadable
        If it is no selection or is broken.
    """
    import roifile

    logging.getLogger("roifile").setLevel(logging.CRITICAL)
    if len(data) > LARGEST_ROI:
        msg = f"a selection has more than the {LARGEST_ROI} bytes that are read"
        raise Unreadable(msg)
    try:
        return _plain(roifile.ImagejRoi.frombytes(data), name)
    except MemoryError:
        raise
    except Exception as error:
        msg = f"a selection of ImageJ is truncated or broken ({type(error).__name__})"
        raise Unreadable(msg) from error


def _plain(roi: Any, name: str) -> dict[str, Json]:
    kind = _SUBTYPES.get(int(roi.subtype)) or _TYPES[int(roi.roitype)]
    if roi.composite and kind == "rectangle":
        kind = "composite"
    points: list[Json] = []
    if kind in ("line", "arrow"):
        points = [[float(roi.x1), float(roi.y1)], [float(roi.x2), float(roi.y2)]]
    elif roi.integer_coordinates is not None:
        corners = roi.subpixel_coordinates  # of the picture; whole numbers count from the corner of the box
        if corners is None:
            corners = np.add(roi.integer_coordinates, (roi.left, roi.top))
        points = corners.astype(float).tolist()
    box = (roi.left, roi.top, roi.right - roi.left, roi.bottom - roi.top)
    if roi.subpixelrect:
        box = (roi.xd, roi.yd, roi.widthd, roi.heightd)
    colour = bytes(roi.stroke_color)
    return {
        "type": kind,
        "name": str(roi.name or name),
        "x": float(box[0]),
        "y": float(box[1]),
        "width": float(box[2]),
        "height": float(box[3]),
        "points": points,
        "text": str(roi.text).strip() if roi.text else "",
        "stroke-width": float(roi.stroke_width),
        # The first byte is the opacity; all zero means that ImageJ's own colour is taken.
        "stroke-colour": f"#{colour[1:].hex()}" if len(colour) == 4 and any(colour) else None,
    }
