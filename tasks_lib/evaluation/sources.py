"""Where a criterion looks: which collected file, which windows, which part of the final screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tasks_lib.evaluation._context import Context
from tasks_lib.evaluation._registry import CallError, Unreadable
from tasks_lib.evaluation.detectors.pixels import Box
from tasks_lib.evaluation.getters.detected import LABELS_BELOW, LABELS_BESIDE
from tasks_lib.evaluation.getters.screen import place
from tasks_lib.records import BlobRef, Criterion, Evidence, Json

_REGION_OF = {"screen-curve": "frame"}
"""Getters whose region has another name than ``region``."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a getter read.

    Attributes
    ----------
    kind : str
        ``file``; ``windows``, as the window manager tells them; ``screen``, the final screenshot.
    path : str or None
        The file, as the agent named it.
    window : str or None
        The title of the window that was looked into, or the text that it had to contain where there is none.
    box : tuple of int or None
        ``(x, y, width, height)`` in pixels of the final screenshot; None: all of it.
    note : str
        Why it is not where the criterion looked for it; empty where it is.
    """

    kind: Literal["file", "windows", "screen"]
    path: str | None = None
    window: str | None = None
    box: Box | None = None
    note: str = ""


def source_of(criterion: Criterion, evidence: Evidence) -> Source:
    """Say what a criterion's getter reads of a stage's evidence; no pixel and no byte is looked at.

    Parameters
    ----------
    criterion : Criterion
    evidence : Evidence
        Of the criterion's stage.

    Returns
    -------
    Source
        Where there is no such file or window, `note` says so; the box is then the whole screen.
    """
    context = Context(evidence, _unread)
    reads = criterion.reads
    if reads.path is not None:
        return Source("file", path=reads.path, note="" if context.find(reads.path) else context.absent(reads.path))
    arguments = reads.arguments
    wanted = arguments.get("window")
    if reads.getter == "window-title" or (reads.getter == "dialog" and arguments.get("field") is None):
        kind: Literal["windows", "screen"] = "windows"
    else:
        kind = "screen"
    try:
        box = _box(context, reads.getter, arguments)
    except (Unreadable, CallError) as reason:
        return Source(kind, window=wanted, note=str(reason))
    return Source(kind, window=None if wanted is None else _title(evidence, wanted), box=box)


def _box(context: Context, getter: str, arguments: dict[str, Json]) -> Box | None:
    window = arguments.get("window")
    cells = arguments.get("cells")
    if isinstance(cells, dict) and cells:
        boxes = [box for cell in cells.values() if (box := place(context, window, cell)) is not None]
        return _around(boxes)
    box = place(context, window, arguments.get(_REGION_OF.get(getter, "region")))
    if box is not None and getter == "screen-curve" and arguments.get("frame") is not None:
        # The labels of the ticks, below and to the left of the frame, are read as well.
        beside = 0 if arguments.get("y") is not None else LABELS_BESIDE
        below = 0 if arguments.get("x") is not None else LABELS_BELOW
        return (box[0] - beside, box[1], box[2] + beside, box[3] + below)
    return box


def _around(boxes: list[Box]) -> Box:
    left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
    right, bottom = max(box[0] + box[2] for box in boxes), max(box[1] + box[3] for box in boxes)
    return (left, top, right - left, bottom - top)


def _title(evidence: Evidence, wanted: str) -> str:
    """Return the title of the window that `place` takes: of several, the one with the keyboard."""
    found = [window for window in evidence.final.windows if wanted in window.title]
    return next((window.title for window in found if window.focused), found[0].title if found else wanted)


def _unread(ref: BlobRef) -> bytes:
    msg = f"blob {ref.sha256} is not read to say where a criterion looks"
    raise AssertionError(msg)
