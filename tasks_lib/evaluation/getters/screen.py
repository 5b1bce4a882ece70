"""What the final screen shows: the windows, and text read by OCR."""

from __future__ import annotations

from tasks_lib.evaluation import ocr
from tasks_lib.evaluation._context import Context
from tasks_lib.evaluation._registry import CallError, Seen, Unreadable, getter
from tasks_lib.evaluation.detectors.pixels import Box
from tasks_lib.records import WindowState


@getter("window-title", path=False)
def read_window_title(context: Context, focused: bool = False) -> Seen:
    """Read the titles of the windows that are open at the end.

    Parameters
    ----------
    focused : bool
        Only the title of the window that has the keyboard, as one text.
    """
    if not focused:
        return Seen([window.title for window in context.windows])
    for window in context.windows:
        if window.focused:
            return Seen(window.title)
    msg = f"none of the {len(context.windows)} windows had the keyboard at the end"
    raise Unreadable(msg)


@getter("screen-text", path=False)
def read_screen_text(
    context: Context,
    region: list[int] | None = None,
    window: str | None = None,
    confidence: float = 0.6,
    engine: str = "rapidocr",
) -> Seen:
    """Read the text of the final screenshot by OCR; for what neither a file nor the program's state can say.

    Only the final frame counts. Do not judge numbers by it: OCR takes 1 for l and 0 for O at high confidence.

    Parameters
    ----------
    region : list of int or null
        ``[x, y, width, height]`` in pixels of the screenshot, or of the window where `window` is given.
    window : str or null
        Read only the window whose title contains this text.
    confidence : float
        Lines that the engine is less sure of are left out, 0 to 1.
    engine : str
        ``rapidocr``, ``tesseract`` or ``easyocr``; the last two must be installed where the evaluation runs.
    """
    _, png = context.screenshot()
    lines = read_lines(context, png, window, region, engine)
    return Seen("\n".join(line.text for line in lines if line.confidence >= confidence))


def read_lines(
    context: Context, png: bytes, window: str | None, region: list[int] | None, engine: str
) -> list[ocr.Line]:
    """Return the text of a window or region of the final screen, see ``screen-text``."""
    if engine not in ocr.engines():
        msg = f"engine is one of {', '.join(ocr.engines())}, got {engine!r}"
        raise CallError(msg)
    return ocr.read_screen(png, place(context, window, region), engine)


def place(context: Context, window: str | None, region: list[int] | None) -> Box | None:
    """Return a region in pixels of the screenshot, None for all of it.

    Raises
    ------
    Unreadable
        If no window has the title.
    CallError
        If the region is no ``[x, y, width, height]``.
    """
    if region is not None and len(region) != 4:
        msg = f"region is [x, y, width, height], got {region!r}"
        raise CallError(msg)
    if window is None:
        return None if region is None else (region[0], region[1], region[2], region[3])
    found = _window(context, window)
    x, y, width, height = region or (0, 0, found.width, found.height)
    return (found.x + x, found.y + y, min(width, found.width - x), min(height, found.height - y))


def _window(context: Context, title: str) -> WindowState:
    found = [window for window in context.windows if title in window.title]
    if not found:
        there = "; ".join(window.title[:40] for window in context.windows[:10]) or "none"
        msg = f"no window is titled {title!r} at the end; there are: {there}"
        raise Unreadable(msg)
    return next((window for window in found if window.focused), found[0])
