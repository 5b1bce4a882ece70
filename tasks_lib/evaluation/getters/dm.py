"""DigitalMicrograph: micrographs and spectra as ``.dm3`` and ``.dm4``, also as Nion Swift writes them."""

from __future__ import annotations

from typing import Any

from tasks_lib.evaluation._cage import caged
from tasks_lib.evaluation._context import Context
from tasks_lib.evaluation._registry import CallError, Seen, Unreadable, getter
from tasks_lib.evaluation.readers.fields import STATISTICS

_PIXELS = ("width", "height")
_LENGTHS = ("pixel-width", "pixel-height", "x-offset", "y-offset")
_PLAIN = ("name", "frames", "type", "unit", "value-unit", "value-scale", "display-range", "annotations")
_WHAT = ("images", *_PLAIN, *_PIXELS, *_LENGTHS, *STATISTICS, "curve", "tag")


@getter("dm")
def read_dm(
    context: Context,
    path: str,
    what: str = "images",
    image: int | str | None = None,
    frame: int = 0,
    region: list[int] | None = None,
    tag: str | None = None,
) -> Seen:
    """Read a file of DigitalMicrograph (.dm3, .dm4): calibration, statistics, annotations, tags.

    Parameters
    ----------
    what : str
        ``images``: all of them, without the thumbnail. Of one image: ``name``, ``width``, ``height`` (px), ``frames``,
        ``type`` (such as ``float32``, ``complex64``, ``rgb``); ``unit``, ``pixel-width``, ``pixel-height``,
        ``x-offset`` and ``y-offset`` (of the first pixel) of the calibration, null where there is none;
        ``value-unit``, ``value-scale``; ``display-range``, ``[low, high]``; ``annotations``, each with ``type``
        (``line``, ``arrow``, ``rectangle``, ``oval``, ``text``, ``scale-bar``, ``spot-mask``, …), ``text`` and ``box``;
        the statistics ``mean``, ``rms`` (standard deviation), ``sa``, ``min``, ``max``, ``median``, ``sum``, ``skew``,
        ``kurtosis`` (excess), ``slope-x``, ``slope-y`` (per pixel) of the calibrated values, of a complex value its
        modulus; ``curve``, a table of ``x`` and ``y`` where the image has one row; ``tag``.
    image : int, str or null
        The image by its number from 0 or by its name; default: the only one.
    frame : int
        The frame of a stack, from 0, for the statistics.
    region : list of int or null
        ``[x, y, width, height]`` in pixels: the statistics count only what lies in it.
    tag : str or null
        For ``tag``: its path, such as ``/ImageList/1/ImageTags/Microscope Info/Voltage``.
    """
    if what not in _WHAT or (region is not None and len(region) != 4) or (what == "tag") != (tag is not None):
        msg = f"what is one of {', '.join(_WHAT)}, region [x, y, width, height], tag goes with what: tag"
        raise CallError(f"{msg}; got what={what!r}, region={region!r}, tag={tag!r}")
    data = context.read(path)
    if tag is not None:
        return Seen(caged("dm.read_tag", data, pointer=tag))
    rows = caged("dm.read_dm", data)["images"]
    if what == "images":
        return Seen(rows)
    at = _choose(rows, image)
    row = rows[at]
    if what == "curve":
        table = caged("dm.curve", data, image=at)
        return Seen(table, shown={"points": len(table["rows"]), "x-unit": row["unit"], "first": table["rows"][:3]})
    if what in STATISTICS:
        value = caged("dm.measure", data, image=at, frame=frame, region=region)[what]
        unit = None if what in ("skew", "kurtosis") or what.startswith("slope") else row["value-unit"]
        return Seen(value, unit=unit, note="" if value is not None else f"image {at} has no {what}: flat, or NaN")
    if what in _LENGTHS:
        note = "" if row[what] is not None else "the image has no calibration of lengths"
        return Seen(row[what], unit=row["unit"], note=note)
    return Seen(row[what], unit="px" if what in _PIXELS else None)


def _choose(rows: list[dict[str, Any]], wanted: int | str | None) -> int:
    found = [
        at
        for at, row in enumerate(rows)
        if wanted is None or wanted == at or (isinstance(wanted, str) and row["name"].strip() == wanted.strip())
    ]
    if len(found) != 1:
        there = "; ".join(f"{at}: {row['name'][:40]!r}" for at, row in enumerate(rows[:10]))
        name = "only one" if wanted is None else repr(wanted)
        msg = f"{len(found)} images are the {name} where one is due; the file has: {there}"
        raise Unreadable(msg)
    return found[0]
