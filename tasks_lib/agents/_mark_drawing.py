"""Drawing numbers beside the things that they stand for."""

from __future__ import annotations

import io
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from tasks_lib.records import Mark

_FONT_PIXELS = 11
# Dark enough for white numbers; neighbours differ.
_COLOURS = ((200, 30, 30), (20, 90, 200), (10, 120, 50), (150, 40, 160), (160, 85, 0), (0, 115, 130))

Box = tuple[int, int, int, int]


def draw_marks(png: bytes, marks: Sequence[Mark]) -> bytes:
    """Draw the box and the number of every mark into a screenshot.

    A number stands outside its box where that covers less of other boxes: what a button says stays readable.

    Parameters
    ----------
    png : bytes
        The screenshot.
    marks : sequence of Mark
        In pixels of the screenshot.

    Returns
    -------
    bytes
        A PNG file of the same size.
    """
    with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
        picture = image.convert("RGB")
    pen = ImageDraw.Draw(picture)
    font = ImageFont.load_default(size=_FONT_PIXELS)
    taken: list[Box] = []
    for mark in marks:
        colour = _COLOURS[mark.id % len(_COLOURS)]
        pen.rectangle((mark.x, mark.y, mark.x + mark.width - 1, mark.y + mark.height - 1), outline=colour)
        width, height = round(pen.textlength(str(mark.id), font=font)) + 3, _FONT_PIXELS + 1
        left, top = _place(mark, (width, height), marks, taken, picture.size)
        taken.append((left, top, width, height))
    # The numbers come last, so that no box is drawn across one.
    for mark, (left, top, width, height) in zip(marks, taken, strict=True):
        pen.rectangle((left, top, left + width - 1, top + height - 1), fill=_COLOURS[mark.id % len(_COLOURS)])
        pen.text((left + 2, top - 1), str(mark.id), fill="white", font=font)
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=3)
    return out.getvalue()


def _place(
    mark: Mark, size: tuple[int, int], marks: Sequence[Mark], taken: Sequence[Box], screen: tuple[int, int]
) -> tuple[int, int]:
    """Return where a number covers least: above, left, right or below its box, or in one of its upper corners."""
    width, height = size
    right, bottom = mark.x + mark.width, mark.y + mark.height
    places = [
        (mark.x, mark.y - height),
        (mark.x - width, mark.y),
        (right, mark.y),
        (right - width, mark.y - height),
        (mark.x, bottom),
        (mark.x, mark.y),
        (right - width, mark.y),
    ]
    inside = [(x, y) for x, y in places if 0 <= x <= screen[0] - width and 0 <= y <= screen[1] - height] or [
        (min(max(mark.x, 0), screen[0] - width), min(max(mark.y, 0), screen[1] - height))
    ]

    def covered(place: tuple[int, int]) -> tuple[int, int]:
        tag = (*place, width, height)
        # Another number hidden is worse than a piece of a box.
        return (
            3 * sum(_common(tag, other) for other in taken) + sum(_common(tag, other.box) for other in marks),
            inside.index(place),
        )

    return min(inside, key=covered)


def _common(one: Box, other: Box) -> int:
    across = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    down = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    return max(across, 0) * max(down, 0)
