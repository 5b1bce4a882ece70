"""Picture files."""

from __future__ import annotations

from tasks_lib.evaluation._cage import caged
from tasks_lib.evaluation._context import Context
from tasks_lib.evaluation._registry import CallError, Seen, getter

_PARTS = ("format", "width", "height", "dpi", "colours", "ink", "grey")
_UNITS = {"width": "px", "height": "px"}


@getter("image")
def read_image(context: Context, path: str, what: str | None = None) -> Seen:
    """Read a picture: its real format, its size, and whether there is anything on it.

    Parameters
    ----------
    what : str or null
        ``format`` (``PNG``, ``JPEG``, ``TIFF``, ``BMP``, ``GIF``, ``WEBP``; by content), ``width`` or ``height`` (px),
        ``dpi``, ``colours`` (number of distinct ones), ``ink`` (share of the pixels that are not background, 0 to 1),
        ``grey`` (the picture in grey, for ``image-similar``); default: all but the last, as an object.
    """
    if what is not None and what not in _PARTS:
        msg = f"what is one of {', '.join(_PARTS)}, got {what!r}"
        raise CallError(msg)
    data = context.read(path)
    if what == "grey":
        grey = caged("images.read_grey", data)
        return Seen(grey, shown={"width": grey["width"], "height": grey["height"]})
    found = caged("images.read_image", data)
    return Seen(found if what is None else found[what], unit=_UNITS.get(what or ""))
