"""The gallery shows each task once, in a fixed order, and small pictures that are the same for the same pixels."""

from __future__ import annotations

import io
import re
import struct
import zlib

import pytest
from PIL import Image, ImageDraw
from PIL.PngImagePlugin import PngInfo

from tasks_lib.records import Modality
from tasks_lib.records.errors import BrokenDocumentError
from tasks_lib.reporting import EndState, gallery_page, small_picture
from tasks_lib.taskdefs import load_all

TASKS = [loaded.task for loaded in load_all().tasks if loaded.task.modality is Modality.GUI]


def screenshot(size: tuple[int, int] = (1440, 900), note: str = "") -> bytes:
    image = Image.new("RGB", size, "#202020")
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 0, size[0] // 2, 40), fill="#dddddd")
    pen.line((0, size[1], size[0], 0), fill="#ffcc00", width=3)
    info = PngInfo()
    info.add_text("Comment", note)
    out = io.BytesIO()
    image.save(out, "PNG", pnginfo=info)
    return out.getvalue()


@pytest.mark.parametrize(
    ("size", "small"), [((1440, 900), (960, 600)), ((800, 600), (800, 600)), ((2000, 1), (960, 1))]
)
def test_a_picture_is_made_small_and_never_larger(size: tuple[int, int], small: tuple[int, int]) -> None:
    with Image.open(io.BytesIO(small_picture(screenshot(size)))) as picture:
        assert (picture.format, picture.size) == ("WEBP", small)


def test_the_same_pixels_give_the_same_bytes_and_nothing_else_of_the_file_is_kept() -> None:
    one, other = small_picture(screenshot(note="made at noon")), small_picture(screenshot(note="made at night"))
    assert one == other
    assert len(one) < 40_000
    with Image.open(io.BytesIO(one)) as picture:
        bar, ground = picture.convert("RGB").getpixel((100, 12)), picture.convert("RGB").getpixel((100, 300))
    assert all(abs(level - 0xDD) < 6 for level in bar)
    assert all(abs(level - 0x20) < 6 for level in ground)


def _claiming(width: int, height: int) -> bytes:
    """A PNG file that says it has so many pixels and holds none."""
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"")),
        (b"IEND", b""),
    ]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"no picture", screenshot()[:200], screenshot()[:-400]),
        *(_claiming(30_000, 30_000), _claiming(9_000, 9_000), screenshot((2, 16_384))),
    ],
    ids=["empty", "text", "head", "cut", "bomb", "too-large", "too-long"],
)
def test_what_is_no_screenshot_is_told(data: bytes) -> None:
    with pytest.raises(BrokenDocumentError, match="play the episode again"):
        small_picture(data)


def test_every_task_is_shown_once_with_what_is_asked_of_it() -> None:
    states = [EndState(task, b"") for task in TASKS]
    page = gallery_page(states, "matassay gallery RUN")
    lines = page.splitlines()
    for task in TASKS:
        assert page.count(f"](gallery/{task.domain}/{task.id}.webp)") == 1
        entry = next(line for line in lines if line.startswith(f"`{task.id}`, {task.difficulty}, {task.points} point"))
        assert all(f"`{criterion.id}` ({criterion.points})" in entry for criterion in task.criteria)
    xps = [task for task in TASKS if task.domain == "xps"]
    row = next(line for line in lines if line.startswith("| [xps]"))
    assert row.startswith(f"| [xps](#xps) | {len(xps)} | {sum(task.points for task in xps)} | ")


def test_the_order_is_fixed_and_the_page_has_no_date() -> None:
    states = [EndState(task, b"") for task in TASKS]
    page = gallery_page(states, "matassay gallery RUN")
    assert gallery_page(reversed(states), "matassay gallery RUN") == page
    places = [
        page.index(f"gallery/{task.domain}/{task.id}.webp") for task in sorted(TASKS, key=lambda t: (t.domain, t.id))
    ]
    assert places == sorted(places)
    assert not re.search(r"\b20\d\d\b", page)


def test_a_title_cannot_write_markup() -> None:
    task = TASKS[0].model_copy(update={"title": "A <b>title</b> & [more](x)"})
    page = gallery_page([EndState(task, b"")], "matassay gallery RUN")
    assert "<b>" not in page
    assert f"![A &lt;b&gt;title&lt;/b&gt; &amp; (more)(x)](gallery/{task.domain}/{task.id}.webp)" in page
