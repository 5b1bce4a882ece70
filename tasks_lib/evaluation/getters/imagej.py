"""ImageJ and other programs that save micrographs as TIFF; what they measure is a table, see the getter ``table``."""

from __future__ import annotations

from typing import Any

from tasks_lib.evaluation._cage import caged
from tasks_lib.evaluation._context import Context
from tasks_lib.evaluation._registry import CallError, Seen, Unreadable, getter
from tasks_lib.evaluation.readers.fields import STATISTICS

_PLAIN = ("frames", "samples", "type", "program", "unit", "value-unit", "display-range", "roi")
_PIXELS = ("width", "height")
_LENGTHS = ("pixel-width", "pixel-height", "frame-distance")
_WHAT = ("facts", *_PLAIN, *_PIXELS, *_LENGTHS, "overlay", *STATISTICS)
_FIELDS = ("type", "name", "x", "y", "width", "height", "points", "text", "stroke-width", "stroke-colour")


@getter("tiff")
def read_tiff(
    context: Context,
    path: str,
    what: str = "facts",
    frame: int = 0,
    region: list[int] | None = None,
    type: str | None = None,
    field: str | None = None,
) -> Seen:
    """Read a TIFF as a measurement: calibration, display range, overlay, and statistics of its pixels.

    Parameters
    ----------
    what : str
        ``facts``: all but pixels and overlay. ``frames``, ``samples`` (3 for RGB), ``type`` (such as ``uint16``),
        ``program`` (``ImageJ 1.53t``), ``width`` and ``height`` (px); ``unit``, ``pixel-width``, ``pixel-height`` and
        ``frame-distance`` of the calibration (null where there is none); ``value-unit``; ``display-range``, the
        ``[low, high]`` that are shown black and white; ``roi``, the selection, and ``overlay``, the list of what was
        drawn, each with ``type``, ``name``, ``x``, ``y``, ``width``, ``height`` (px), ``points``, ``text``,
        ``stroke-width``, ``stroke-colour``; the statistics ``mean``, ``rms`` (standard deviation), ``sa``, ``min``,
        ``max``, ``median``, ``sum``, ``skew``, ``kurtosis`` (excess), ``slope-x`` and ``slope-y`` (per pixel).
    frame : int
        The frame of a stack, from 0, for the statistics.
    region : list of int or null
        ``[x, y, width, height]`` in pixels: the statistics count only what lies in it.
    type : str or null
        For ``overlay``: only parts of this type, such as ``rectangle``, ``oval``, ``line``, ``text``, ``arrow``.
    field : str or null
        For ``roi`` and ``overlay``: one field; of the overlay, the value is a list.
    """
    if what not in _WHAT or field not in (None, *_FIELDS) or (region is not None and len(region) != 4):
        msg = f"what is one of {', '.join(_WHAT)}, field one of {', '.join(_FIELDS)}, region [x, y, width, height]"
        raise CallError(f"{msg}; got what={what!r}, field={field!r}, region={region!r}")
    data = context.read(path)
    if what in STATISTICS:
        value = caged("tiff.measure", data, frame=frame, region=region)[what]
        return Seen(value, note="" if value is not None else f"frame {frame} has no {what}: it is flat, or holds NaN")
    found = caged("tiff.read_tiff", data)
    if what == "facts":
        return Seen({name: value for name, value in found.items() if name not in ("roi", "overlay")})
    if what == "overlay":
        return _rois(found["overlay"], type, field)
    if what == "roi":
        if found["roi"] is None:
            msg = "nothing is selected on the picture"
            raise Unreadable(msg)
        return Seen(found["roi"] if field is None else found["roi"][field])
    if what in _LENGTHS:
        note = "" if found[what] is not None else "the picture has no calibration of lengths"
        return Seen(found[what], unit=found["unit"], note=note)
    return Seen(found[what], unit="px" if what in _PIXELS else None)


@getter("imagej-roi")
def read_rois(context: Context, path: str, type: str | None = None, field: str | None = None) -> Seen:
    """Read selections that ImageJ saved: a ``.roi`` file, or the ``.zip`` of the ROI manager.

    Parameters
    ----------
    type : str or null
        Only selections of this type, such as ``rectangle``, ``oval``, ``line``, ``polygon``, ``point``.
    field : str or null
        ``type``, ``name``, ``x``, ``y``, ``width``, ``height`` (px), ``points``, ``text``, ``stroke-width`` or
        ``stroke-colour``: the value is the list over the selections; default: whole selections.
    """
    if field not in (None, *_FIELDS):
        msg = f"field is one of {', '.join(_FIELDS)}, got {field!r}"
        raise CallError(msg)
    return _rois(caged("rois.read_rois", context.read(path)), type, field)


def _rois(rows: list[dict[str, Any]], kind: str | None, field: str | None) -> Seen:
    rows = [row for row in rows if kind in (None, row["type"])]
    return Seen([row if field is None else row[field] for row in rows])
