"""The frame buffer file: pixels, checksum, and when the screen counts as still."""

from __future__ import annotations

import io
import itertools
import struct
from pathlib import Path

import pytest
from PIL import Image

from tasks_lib.sandbox.guest.faults import RefusedError
from tasks_lib.sandbox.guest.screen import Screen

WIDTH, HEIGHT, PAD, COLOURS = 5, 3, 8, 4


def _frame(path: Path, pixels: list[tuple[int, int, int]], version: int = 7) -> Path:
    """Write an XWD file of 32 bits a pixel with a name, a colour table and rows that are padded."""
    stride = WIDTH * 4 + PAD
    name = b"frame\0"
    header = [100 + len(name), version, 2, 24, WIDTH, HEIGHT, 0, 0, 32, 0, 32, 32, stride, 4, 0, 0, 0, 8, 256, COLOURS]
    header += [WIDTH, HEIGHT, 0, 0, 0]
    rows = [pixels[row * WIDTH : (row + 1) * WIDTH] for row in range(HEIGHT)]
    body = b"".join(b"".join(bytes((b, g, r, 0)) for r, g, b in row) + b"\xee" * PAD for row in rows)
    path.write_bytes(struct.pack(">25I", *header) + name + b"\x11" * 12 * COLOURS + body)
    return path


PIXELS = [(10 * number, 255 - number, number * number % 256) for number in range(WIDTH * HEIGHT)]


def test_pixels_come_out_as_they_are(tmp_path: Path) -> None:
    screen = Screen(_frame(tmp_path / "frame", PIXELS))
    assert (screen.width, screen.height) == (WIDTH, HEIGHT)
    assert list(screen.image().get_flattened_data()) == PIXELS
    picture = Image.open(io.BytesIO(screen.png()))
    assert (picture.format, picture.mode, picture.size) == ("PNG", "RGB", (WIDTH, HEIGHT))
    assert list(picture.get_flattened_data()) == PIXELS


def test_the_checksum_follows_a_single_pixel(tmp_path: Path) -> None:
    path = _frame(tmp_path / "frame", PIXELS)
    screen = Screen(path)
    before = screen.digest()
    assert screen.digest() == before
    with path.open("r+b") as stream:
        stream.seek(-(PAD + 1), 2)
        stream.write(b"\x7f")
    assert screen.digest() != before


def test_a_file_of_another_shape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="version 6"):
        Screen(_frame(tmp_path / "frame", PIXELS, version=6))


def test_still_only_when_nothing_was_busy_for_long_enough(tmp_path: Path) -> None:
    screen = Screen(_frame(tmp_path / "frame", PIXELS))
    asked = itertools.count()
    seconds, still = screen.settle(0.05, 30.0, lambda: next(asked) < 5)
    assert still
    assert next(asked) > 5
    assert seconds >= 0.05


def test_a_screen_that_never_rests_ends_at_the_limit(tmp_path: Path) -> None:
    screen = Screen(_frame(tmp_path / "frame", PIXELS))
    seconds, still = screen.settle(0.05, 0.2, lambda: True)
    assert not still
    assert seconds >= 0.2
