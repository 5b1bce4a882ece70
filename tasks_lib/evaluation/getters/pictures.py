"""Picture files."""

from __future__ import annotations

from tasks_lib.evaluation._cage import caged
from tasks_lib.evaluation._context import Context
from tasks_lib.evaluation._registry import CallError, Seen, Unreadable, getter
from tasks_lib.evaluation.detectors.pixels import parse_colour

_PARTS = ("format", "width", "height", "dpi", "colours", "ink", "grey", "pixels")
_UNITS = {"width": "px", "height": "px"}


@getter("image")
def read_image(context: Context, path: str, what: str | None = None) -> Seen:
    """Read a picture: its real format, its size, and whether there is anything on it.

    Parameters
    ----------
    what : str or null
        ``format`` (``PNG``, ``JPEG``, ``TIFF``, ``BMP``, ``GIF``, ``WEBP``; by content), ``width`` or ``height`` (px),
        ``dpi``, ``colours`` (number of distinct ones), ``ink`` (share of the pixels that are not background, 0 to 1),
        ``grey`` (the picture in grey, for ``image-similar``), ``pixels`` (all of it as it is, for ``region-similar``);
        default: all but the last two, as an object.
    """
    if what is not None and what not in _PARTS:
        msg = f"what is one of {', '.join(_PARTS)}, got {what!r}"
        raise CallError(msg)
    data = context.read(path)
    if what in ("grey", "pixels"):
        whole = caged(f"images.read_{what}", data)
        return Seen(whole, shown={"width": whole["width"], "height": whole["height"]})
    found = caged("images.read_image", data)
    return Seen(found if what is None else found[what], unit=_UNITS.get(what or ""))


@getter("plot-picture")
def read_plot_picture(
    context: Context, path: str, colour: str = "green", what: str = "highest-x", columns: list[float] | None = None
) -> Seen:
    """Read where the marks of one colour stand on a saved picture of a plot.

    Places are shares of the picture, 0 to 1: from its left edge and from its bottom.

    Parameters
    ----------
    colour : str
        Of the marks: ``#rrggbb`` or one of the eight pure colours; the default is that of data in Fityk.
    what : str
        ``highest-x`` or ``highest-y``: of the highest mark. ``levels``: the heights of the bands that the marks make,
        rising; marks that stand apart by more than a fiftieth of the height belong to different bands.
    columns : list of float or null
        ``[low, high]``: only marks between these shares of the width count.
    """
    rgb = parse_colour(colour)
    if rgb is None or what not in ("highest-x", "highest-y", "levels") or (columns and len(columns) != 2):
        msg = f"colour is #rrggbb or a name, what highest-x, highest-y or levels, columns two shares; got {colour!r}, "
        msg += f"{what!r} and {columns!r}"
        raise CallError(msg)
    low, high = columns or (0.0, 1.0)
    found = caged("images.read_marks", context.read(path), colour=list(rgb), low=low, high=high)
    if what == "levels":
        return Seen(found["levels"])
    if found["highest"] is None:
        msg = f"nothing on the picture has the colour {colour}"
        raise Unreadable(msg)
    return Seen(found["highest"][0 if what == "highest-x" else 1])
