"""What only the final screen shows, by detectors: dialogs, buttons, tools, handles, colours, curves.

A criterion reads a file or the program's state where it can. Each detector says how often it is right; see the
functions of ``tasks_lib.evaluation.detectors``.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from tasks_lib.evaluation import ocr
from tasks_lib.evaluation._context import Context
from tasks_lib.evaluation._registry import CallError, Seen, Unreadable, getter
from tasks_lib.evaluation.detectors import curves
from tasks_lib.evaluation.detectors.axes import Axis, axis_of_ends, axis_of_labels, find_frame
from tasks_lib.evaluation.detectors.dialogs import find_label, read_field
from tasks_lib.evaluation.detectors.handles import find_frames, find_handles
from tasks_lib.evaluation.detectors.highlight import highlighted
from tasks_lib.evaluation.detectors.pixels import Box, Colour, Pixels, cut, parse_colour
from tasks_lib.evaluation.detectors.strokes import find_strokes
from tasks_lib.evaluation.detectors.toggles import find_toggle, state_in
from tasks_lib.evaluation.getters.screen import place, read_lines

_CURVE = ("coverage", "points", "highest-x", "highest-y", "value")
LABELS_BELOW, LABELS_BESIDE = 34, 80
"""Where the labels of ticks are looked for: pixels below the plot, and to its left."""


def _screen(context: Context) -> tuple[bytes, Pixels]:
    _, png = context.screenshot()
    return png, np.asarray(ocr.decode(png))


def _part(context: Context, window: str | None, region: list[int] | None) -> tuple[Pixels, Box]:
    _, pixels = _screen(context)
    box = place(context, window, region) or (0, 0, pixels.shape[1], pixels.shape[0])
    part = cut(pixels, box)
    if part.size == 0:
        msg = f"the region {list(box)} does not lie on the screen of {pixels.shape[1]} x {pixels.shape[0]} pixels"
        raise Unreadable(msg)
    return part, (max(box[0], 0), max(box[1], 0), part.shape[1], part.shape[0])


def _colour(text: str) -> Colour:
    colour = parse_colour(text)
    if colour is None:
        msg = f"a colour is #rrggbb, black, white, red, green, blue, yellow, cyan or magenta, got {text!r}"
        raise CallError(msg)
    return colour


@getter("dialog", path=False)
def read_dialog(
    context: Context, window: str, field: str | None = None, reach: int = 400, engine: str = "rapidocr"
) -> Seen:
    """Read whether a dialog is open at the end, or the text of one of its fields.

    Do not judge a number by it that a file holds as well: OCR takes 1 for l and may lose a point.

    Parameters
    ----------
    window : str
        What the title of the dialog contains.
    field : str or null
        The label of a field: the value is the text beside it, empty where there is none; default: whether the dialog
        is there.
    reach : int
        How far right of its label a field may begin, px.
    engine : str
        ``rapidocr``, ``tesseract`` or ``easyocr``.
    """
    if field is None:
        return Seen(any(window in found.title for found in context.windows))
    _, png = context.screenshot()
    lines = read_lines(context, png, window, None, engine)
    text = read_field(lines, field, reach)
    if text is None:
        there = ", ".join(line.text[:30] for line in lines[:12]) or "nothing"
        msg = f"there is no label {field!r} in the dialog; OCR reads: {there}"
        raise Unreadable(msg)
    return Seen(text)


@getter("toggle", path=False)
def read_toggle(
    context: Context,
    window: str | None = None,
    label: str | None = None,
    region: list[int] | None = None,
    side: str = "left",
    engine: str = "rapidocr",
) -> Seen:
    """Read a check box or radio button on the final screen: ``on``, ``off`` or ``mixed``.

    Parameters
    ----------
    window : str or null
        Look only in the window whose title contains this text.
    label : str or null
        The text beside it, found by OCR.
    region : list of int or null
        ``[x, y, width, height]`` in pixels of the screenshot, or of the window: where the label is looked for; without
        a label, where the button itself is.
    side : str
        On which side of the label the button stands, ``left`` or ``right``.
    engine : str
        ``rapidocr``, ``tesseract`` or ``easyocr``.
    """
    if side not in ("left", "right") or (label is None and region is None):
        msg = f"toggle needs a label or a region, and side left or right; got {label!r}, {region!r} and {side!r}"
        raise CallError(msg)
    png, pixels = _screen(context)
    if label is None:
        box = place(context, window, region)
        found = state_in(pixels, box) if box is not None else None
        where = f"in the region {region}"
    else:
        text = find_label(read_lines(context, png, window, region, engine), label)
        if text is None:
            msg = f"there is no text {label!r} where the button is looked for"
            raise Unreadable(msg)
        found = find_toggle(pixels, text.box, side)  # type: ignore[arg-type]
        where = f"on the {side} of {label!r}"
    if found is None:
        msg = f"there is no check box and no radio button {where}"
        raise Unreadable(msg)
    return Seen(found.state, note=f"a {found.kind} {'box' if found.kind == 'check' else 'button'} {where}")


@getter("highlighted", path=False)
def read_highlighted(
    context: Context, cells: dict[str, list[int]], window: str | None = None, shade: str = "any"
) -> Seen:
    """Read which icons of a tool bar or tool box are highlighted on the final screen: the list of their names.

    Parameters
    ----------
    cells : dict
        Name -> ``[x, y, width, height]`` of the whole cell around each icon, in pixels of the screenshot, or of the
        window; three or more, of one size.
    window : str or null
        The window whose title contains this text.
    shade : str
        ``any``, ``darker`` or ``lighter`` than the other cells.
    """
    if shade not in ("any", "darker", "lighter") or len(cells) < 3:
        msg = f"highlighted takes three cells or more and shade any, darker or lighter; got {len(cells)} and {shade!r}"
        raise CallError(msg)
    boxes = {name: place(context, window, cell) or (0, 0, 0, 0) for name, cell in cells.items()}
    _, pixels = _screen(context)
    try:
        return Seen(highlighted(pixels, boxes, shade))  # type: ignore[arg-type]
    except ValueError as reason:
        raise Unreadable(str(reason)) from reason


@getter("handles", path=False)
def read_handles(
    context: Context,
    colour: str,
    what: str = "count",
    window: str | None = None,
    region: list[int] | None = None,
    sides: list[int] | None = None,
) -> Seen:
    """Read the small squares at the corners of what is selected on the final screen.

    Parameters
    ----------
    colour : str
        Of the squares: ``#rrggbb`` or ``black``, ``white``, ``red``, ``green``, ``blue``, ``yellow``, ``cyan``,
        ``magenta``.
    what : str
        ``count``; ``frame``: ``[x, y, width, height]`` of the largest rectangle with a square at each corner, in
        pixels of the region, of the window or of the screenshot.
    window : str or null
        Look only in the window whose title contains this text.
    region : list of int or null
        ``[x, y, width, height]`` in pixels of the screenshot, or of the window: best the picture alone.
    sides : list of int or null
        Smallest and largest side of a square, px; default ``[4, 10]``.
    """
    if what not in ("count", "frame") or (sides is not None and len(sides) != 2):
        msg = f"what is count or frame, sides two numbers; got {what!r} and {sides!r}"
        raise CallError(msg)
    rgb = _colour(colour)
    part, _ = _part(context, window, region)
    low, high = sides or (4, 10)
    found = find_handles(part, rgb, (low, high))
    if what == "count":
        return Seen(len(found))
    frames = find_frames(found)
    if not frames:
        msg = f"no four of the {len(found)} handles are the corners of a rectangle"
        raise Unreadable(msg)
    return Seen(list(frames[0].box), unit="px")


@getter("strokes", path=False)
def read_strokes(
    context: Context, what: str = "names", window: str | None = None, region: list[int] | None = None,
    least: float = 0.001,
) -> Seen:  # fmt: skip
    """Read the colours of the lines, text and marks in a region of the final screen, the largest share first.

    Parameters
    ----------
    what : str
        ``names`` (black, white, grey, red, orange, brown, yellow, green, cyan, blue, purple, magenta), ``colours``
        (``#rrggbb``), or ``strokes``, objects of ``colour``, ``name`` and ``share``.
    window : str or null
        Look only in the window whose title contains this text.
    region : list of int or null
        ``[x, y, width, height]`` in pixels of the screenshot, or of the window; its commonest colour is the background.
    least : float
        A colour with a smaller share of the pixels is left out, 0 to 1.
    """
    if what not in ("names", "colours", "strokes"):
        msg = f"what is names, colours or strokes, got {what!r}"
        raise CallError(msg)
    found = find_strokes(_part(context, window, region)[0], least=least)
    if what == "strokes":
        return Seen([{"colour": row.colour, "name": row.name, "share": row.share} for row in found])
    return Seen([row.name if what == "names" else row.colour for row in found])


@getter("screen-picture", path=False)
def read_screen_picture(context: Context, window: str | None = None, region: list[int] | None = None) -> Seen:
    """Read a region of the final screen as a picture, for ``region-similar``.

    Make the region some pixels larger than the reference where a dialog may be off its place.

    Parameters
    ----------
    window : str or null
        The window whose title contains this text.
    region : list of int or null
        ``[x, y, width, height]`` in pixels of the screenshot, or of the window.
    """
    part, box = _part(context, window, region)
    opaque = np.dstack([part, np.full(part.shape[:2], 255, np.uint8)])
    pixels = base64.b64encode(opaque.tobytes()).decode("ascii")
    return Seen({"width": box[2], "height": box[3], "pixels": pixels}, shown={"region": list(box)})


@getter("screen-curve", path=False)
def read_curve(
    context: Context,
    colour: str,
    what: str = "coverage",
    window: str | None = None,
    frame: list[int] | None = None,
    x: list[float] | None = None,
    y: list[float] | None = None,
    at: float | None = None,
    logarithmic: list[str] | None = None,
    tolerance: int = 40,
    unit: str | None = None,
) -> Seen:
    """Read a curve of a plot on the final screen, by its colour, in the values of the axes.

    Parameters
    ----------
    colour : str
        Of the curve: ``#rrggbb`` or one of the eight pure colours, see ``handles``.
    what : str
        ``coverage``: the share of the plot's columns where the curve is seen, 0 to 1. ``points``: a table of ``x`` and
        ``y``. ``highest-x`` and ``highest-y``: the place of its highest point. ``value``: y at the x of `at`.
    window : str or null
        The window whose title contains this text.
    frame : list of int or null
        ``[x, y, width, height]`` of the inside of the plot, in pixels of the screenshot, or of the window; default:
        the largest rectangle of thin lines.
    x : list of float or null
        The values at the left and the right edge of the plot; default: as the labels of the ticks say, read by OCR.
    y : list of float or null
        The values at the lower and the upper edge; default: as the labels say.
    at : float or null
        For ``value``.
    logarithmic : list of str or null
        Which of the axes, ``x`` and ``y``, are; their edges must be given.
    tolerance : int
        How far a channel of a pixel may be from the colour, of 255.
    unit : str or null
        The unit of what is read; a plot has none that could be read dependably.
    """
    if what not in _CURVE or (what == "value") != (at is not None):
        msg = f"what is one of {', '.join(_CURVE)}, and at goes with value; got {what!r} and {at!r}"
        raise CallError(msg)
    if any(given is not None and len(given) != size for given, size in ((frame, 4), (x, 2), (y, 2))):
        msg = f"frame is [x, y, width, height], x and y are the values of two edges; got {frame!r}, {x!r}, {y!r}"
        raise CallError(msg)
    rgb = _colour(colour)
    png, pixels = _screen(context)
    box = _plot(context, pixels, window, frame)
    curve = curves.find_curve(pixels, box, rgb, tolerance)
    if what == "coverage":
        return Seen(round(curve.coverage, 4))
    if curve.columns.size == 0:
        msg = f"no pixel of the plot has the colour {colour}"
        raise Unreadable(msg)
    scales = logarithmic or []
    across = _axis(png, box, "x", x, "x" in scales)
    if what == "highest-x":
        place_ = curves.highest(curve)
        return Seen(across.value(place_[0]) if place_ is not None else None, unit=unit)
    up = _axis(png, box, "y", y, "y" in scales)
    if what == "highest-y":
        place_ = curves.highest(curve)
        return Seen(up.value(place_[1]) if place_ is not None else None, unit=unit)
    rows = curve.points(across, up)
    if what == "points":
        return Seen({"columns": ["x", "y"], "rows": rows}, shown={"points": len(rows), "first": rows[:3]})
    return Seen(_value(rows, at, colour), unit=unit)


def _plot(context: Context, pixels: Pixels, window: str | None, frame: list[int] | None) -> Box:
    box = place(context, window, frame)
    if frame is not None and box is not None:
        return box
    left, above, width, height = box or (0, 0, pixels.shape[1], pixels.shape[0])
    left, above = max(left, 0), max(above, 0)
    found = find_frame(cut(pixels, (left, above, width, height)))
    if found is None:
        msg = "there is no plot with a frame on the screen, or in the window"
        raise Unreadable(msg)
    return (left + found[0], above + found[1], found[2], found[3])


def _axis(png: bytes, box: Box, along: str, ends: list[float] | None, logarithmic: bool) -> Axis:
    left, top, width, height = box
    first, last = (left, left + width) if along == "x" else (top + height, top)
    if ends is not None:
        try:
            return axis_of_ends(first - 0.5, last - 0.5, ends[0], ends[1], logarithmic)
        except ValueError as error:
            raise CallError(str(error)) from error
    if logarithmic:
        msg = f"the {along} axis is logarithmic, so the values at its edges must be given"
        raise CallError(msg)
    if along == "x":
        strip = (left - 20, top + height + 2, width + 40, LABELS_BELOW)
    else:
        strip = (left - LABELS_BESIDE, top - 10, LABELS_BESIDE - 2, height + 20)
    axis = axis_of_labels(ocr.read_screen(png, strip), along)
    if axis is None:
        msg = f"the labels of the {along} axis cannot be read: fewer than three of them agree with one scale"
        raise Unreadable(msg)
    return axis


def _value(rows: list[list[float]], at: float | None, colour: str) -> float:
    ordered: list[Any] = sorted(rows)
    if at is None or not ordered[0][0] <= at <= ordered[-1][0]:
        msg = f"the curve of colour {colour} is seen from {ordered[0][0]:g} to {ordered[-1][0]:g}, not at {at}"
        raise Unreadable(msg)
    places, values = zip(*ordered, strict=True)
    return float(np.interp(at, places, values))
