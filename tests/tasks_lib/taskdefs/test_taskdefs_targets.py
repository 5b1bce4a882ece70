"""Pictures of targets: names, bounds, hostile files; and calls of `target` in transcripts."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tasks_lib.records import Modality
from tasks_lib.records.errors import TaskError
from tasks_lib.taskdefs import (
    PictureError,
    Target,
    TargetCall,
    TargetCallError,
    cut_target,
    fill_targets,
    read_screen,
    read_target,
    target_calls,
    target_files,
    write_target,
)
from tasks_lib.taskdefs.targets import LARGEST, MOST_BYTES

NOISE = np.random.default_rng(7).integers(0, 256, (60, 90, 3), dtype=np.uint8)


def png(pixels, mode=None, **options):
    stream = io.BytesIO()
    image = Image.fromarray(pixels)
    (image.convert(mode) if mode else image).save(stream, "PNG", **options)
    return stream.getvalue()


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def bomb(width, height):
    """A PNG of a few bytes whose header promises many pixels."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")


def place(root, name, data):
    path = root / "targets" / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


class TestFiles:
    def test_what_was_cut_is_read_back_pixel_by_pixel(self, tmp_path):
        target = cut_target(NOISE, (10, 20, 30, 16), "fityk/menu-data")
        file = write_target(tmp_path, target)
        assert file == tmp_path / "targets" / "fityk" / "menu-data.png"
        read = read_target(tmp_path, "fityk/menu-data")
        assert read.name == "fityk/menu-data"
        assert np.array_equal(read.pixels, NOISE[20:36, 10:40])
        first = file.read_bytes()
        write_target(tmp_path, target, replace=True)
        assert file.read_bytes() == first

    def test_a_target_that_is_there_is_not_replaced_by_chance(self, tmp_path):
        target = cut_target(NOISE, (0, 0, 30, 16), "fityk/ok")
        write_target(tmp_path, target)
        with pytest.raises(PictureError, match="is there already"):
            write_target(tmp_path, target)

    @pytest.mark.parametrize(
        "name", ["ok", "fityk/", "/ok", "../fityk/ok", "fityk/../ok", "fityk/ok/x", "Fityk/ok", "fityk/ok.png", "a/b\n"]
    )
    def test_other_names_are_refused(self, tmp_path, name):
        with pytest.raises(TaskError, match="is no name of a target"):
            read_target(tmp_path, name)

    @pytest.mark.parametrize(
        ("box", "why"),
        [
            ((0, 0, 5, 30), "too few"),
            ((0, 0, 6, 8), "too few"),
            ((80, 0, 20, 10), "not wholly on the screen"),
            ((-1, 0, 20, 10), "not wholly on the screen"),
            ((0, 0, 0, 10), "not wholly on the screen"),
        ],
    )
    def test_a_box_that_is_no_good_is_refused(self, box, why):
        with pytest.raises(PictureError, match=why):
            cut_target(NOISE, box, "a/b")

    def test_pictures_that_are_no_good_are_refused(self, tmp_path):
        flat = np.full((20, 20, 3), 200, dtype=np.uint8)
        large = np.zeros((10, LARGEST[0] + 1, 3), dtype=np.uint8)
        for pixels, why in ((flat, "almost flat"), (large, "too many")):
            place(tmp_path, "a/b", png(pixels))
            with pytest.raises(PictureError, match=f"target a/b: .*{why}"):
                read_target(tmp_path, "a/b")

    def test_a_missing_picture_names_those_that_are_there(self, tmp_path):
        place(tmp_path, "fityk/menu-data", png(NOISE))
        with pytest.raises(
            PictureError, match=r"no picture targets/fityk/menu-date\.png \(there are fityk/menu-data\)"
        ):
            read_target(tmp_path, "fityk/menu-date")

    def test_links_are_not_followed(self, tmp_path):
        place(tmp_path, "a/real", png(NOISE))
        (tmp_path / "targets" / "a" / "link.png").symlink_to(tmp_path / "targets" / "a" / "real.png")
        with pytest.raises(PictureError, match="has no picture"):
            read_target(tmp_path, "a/link")
        assert sorted(target_files(tmp_path)) == ["a/link", "a/real"]

    @pytest.mark.parametrize("mode", ["RGBA", "P", "L", "1"])
    def test_other_kinds_of_png_are_read_as_colours(self, tmp_path, mode):
        place(tmp_path, "a/b", png(NOISE, mode))
        assert read_target(tmp_path, "a/b").pixels.shape == NOISE.shape

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"GIF89a",
            png(NOISE)[:200],
            png(NOISE)[:-40] + b"\0" * 40,
            bomb(100_000, 100_000),
            bomb(300, 300),
            b"P6 2 2 255\n" + b"\0" * 12,
            b"\0" * (MOST_BYTES + 1),
        ],
        ids=["empty", "gif", "cut", "damaged", "bomb", "short", "ppm", "heavy"],
    )
    def test_hostile_files_are_refused(self, tmp_path, data):
        place(tmp_path, "a/b", data)
        with pytest.raises(PictureError):
            read_target(tmp_path, "a/b")

    def test_a_screen_of_too_many_pixels_is_never_unpacked(self):
        with pytest.raises(PictureError, match=r"at most 33177600 are read|DecompressionBomb"):
            read_screen(bomb(9000, 9000))

    @given(st.binary(max_size=300))
    @settings(max_examples=200, deadline=None)
    def test_any_bytes_are_a_picture_or_refused(self, data):
        with pytest.raises(PictureError):
            read_screen(b"\x89PNG\r\n\x1a\n" + data)


def block(*lines, language="python"):
    body = "\n".join(lines)
    return f"I click.\n\n```{language}\n{body}\n```\n"


class TestCalls:
    def test_a_target_stands_for_its_pixels(self):
        reply = block('computer.mouse.move_abs(target("fityk/menu-data"))', "computer.mouse.single_click()")
        assert target_calls(reply, Modality.GUI) == (TargetCall("fityk/menu-data"),)
        filled = fill_targets(reply, Modality.GUI, lambda _: (12, 34))
        assert filled == block("computer.mouse.move_abs(12, 34)", "computer.mouse.single_click()")

    def test_all_arguments(self):
        reply = block('computer.mouse.drag(target("a/b", near=(1, -2), within="Save as", dx=-3, dy=+4))')
        assert target_calls(reply, Modality.FIGURE) == (TargetCall("a/b", (1, -2), "Save as", -3, 4),)

    def test_a_text_stands_in_the_place_of_a_name(self):
        reply = block('computer.mouse.move_abs(target(text="Save as…", within="Export", dx=4))')
        (call,) = target_calls(reply, Modality.GUI)
        assert call == TargetCall("", None, "Export", 4, 0, "Save as…")
        assert call.label == "with the text 'Save as…'"
        assert fill_targets(reply, Modality.GUI, lambda _: (7, 8)) == block("computer.mouse.move_abs(7, 8)")

    def test_several_on_a_line_and_letters_of_several_bytes(self):
        line = (
            'computer.keyboard.write("Å µ"); computer.mouse.move_abs(target("a/b")); computer.mouse.drag(target("a/c"))'
        )
        places = {"a/b": (1, 2), "a/c": (300, 400)}
        filled = fill_targets(block(line), Modality.GUI, lambda call: places[call.name])
        assert filled == block(
            'computer.keyboard.write("Å µ"); computer.mouse.move_abs(1, 2); computer.mouse.drag(300, 400)'
        )

    def test_line_numbers_and_line_ends(self):
        reply = "a\r\n\r\n```python\r\ncomputer.mouse.move_abs(target('a/b'))\r\n```"
        assert "move_abs(5, 6)" in fill_targets(reply, Modality.GUI, lambda _: (5, 6))
        with pytest.raises(TargetCallError, match="line 4: "):
            target_calls(reply.replace("'a/b'", "a"), Modality.GUI)

    @pytest.mark.parametrize(
        "reply",
        [
            'I say target("a/b") in prose.',
            block('computer.mouse.move_abs(target("a/b"))', language="memory"),
            block('computer.keyboard.write("target(1)")'),
            block("# target(", "computer.mouse.single_click()"),
            block("computer.mouse.move_abs(1, 2)"),
        ],
    )
    def test_what_is_no_call_stays_as_it_is(self, reply):
        assert target_calls(reply, Modality.GUI) == ()
        assert fill_targets(reply, Modality.GUI, lambda _: (0, 0)) is reply

    def test_a_script_may_have_a_function_of_that_name(self):
        reply = block("x = target(3)")
        assert fill_targets(reply, Modality.CODE, lambda _: (0, 0)) is reply

    @pytest.mark.parametrize(
        "line",
        [
            'computer.mouse.single_click(target("a/b"))',
            'computer.mouse.move_abs(target("a/b"), 3)',
            'computer.mouse.move_abs(x=target("a/b"))',
            'target("a/b")',
            'x = target("a/b")',
            'computer.mouse.move_abs(target("a/b").x)',
            "computer.mouse.move_abs(target())",
            'computer.mouse.move_abs(target("a/b", "c/d"))',
            "computer.mouse.move_abs(target(7))",
            'computer.mouse.move_abs(target("a/b", far=1))',
            'computer.mouse.move_abs(target("a/b", text="OK"))',
            'computer.mouse.move_abs(target(text=""))',
            'computer.mouse.move_abs(target(text="..."))',
            'computer.mouse.move_abs(target(text="a\\nb"))',
            "computer.mouse.move_abs(target(text=7))",
            'computer.mouse.move_abs(target(within="Export"))',
            f"computer.mouse.move_abs(target(text={'x' * 81!r}))",
            'computer.mouse.move_abs(target("a/b", near=1))',
            'computer.mouse.move_abs(target("a/b", near=(1, 2, 3)))',
            'computer.mouse.move_abs(target("a/b", within=""))',
            'computer.mouse.move_abs(target("a/b", dx=1.5))',
            'computer.mouse.move_abs(target("a/b", dx=True))',
            'computer.mouse.move_abs(target("a/b", dx=10**9))',
            'computer.mouse.move_abs(target("a/b", **{}))',
            'computer.mouse.move_abs(target(*["a/b"]))',
            'computer.mouse.move_abs(target("A/b"))',
            'computer.mouse.move_abs(target("a/' + "b" * 500 + '"))',
            "computer.mouse.move_abs(target(__import__('os')))",
            # As deep as a line may be: deeper than a walk by recursion gets.
            f"computer.mouse.move_abs(target({'-' * 350}1))",
            f'computer.mouse.move_abs(target("a/b", dx={"-" * 330}1))',
            f'({"-" * 340}x)(target("a/b"))',
            f'{"x." * 180}move_abs(target("a/b"))',
        ],
    )
    def test_other_calls_are_refused(self, line):
        with pytest.raises(TargetCallError):
            fill_targets(block(line), Modality.GUI, lambda _: (0, 0))

    @given(st.text(alphabet="target(\"/ab-)=,{}[]~\n'xy1", max_size=120))
    @settings(max_examples=300, deadline=None)
    def test_any_line_is_read_or_refused(self, text):
        reply = block(f"computer.mouse.move_abs(target({text}))")
        try:
            calls = target_calls(reply, Modality.GUI)
        except TargetCallError:
            return
        assert all(isinstance(call, TargetCall) for call in calls)

    @given(
        st.integers(-9999, 9999),
        st.integers(-9999, 9999),
        st.none() | st.text("abc Ü", min_size=1).filter(str.strip),
        st.none() | st.tuples(st.integers(0, 9999), st.integers(0, 9999)),
    )
    @settings(max_examples=100, deadline=None)
    def test_what_is_written_is_read(self, dx, dy, within, near):
        call = TargetCall("fityk/plot", near, within, dx, dy)
        given_ = "" if near is None else f", near={near}"
        given_ += "" if within is None else f", within={within!r}"
        reply = block(f'computer.mouse.move_abs(target("fityk/plot"{given_}, dx={dx}, dy={dy}))')
        assert target_calls(reply, Modality.GUI) == (call,)


def test_a_target_knows_its_pixels():
    assert Target("a/b", NOISE).pixels is NOISE
