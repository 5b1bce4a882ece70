from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from PIL import Image

from tasks_lib.models import ImageSettings, fit_picture, to_screen
from tasks_lib.models.images import shown_size


def png(width, height, colour="navy", mode="RGB"):
    out = io.BytesIO()
    Image.new(mode, (width, height), colour).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(
    ("screen", "limit", "step", "shown"),
    [
        ((1920, 1080), 1456, 8, (1456, 816)),
        ((1920, 1080), 1456, 1, (1456, 819)),
        ((1440, 900), None, 1, (1440, 900)),
        ((1440, 900), 1440, 1, (1440, 900)),
        ((1440, 900), 1568, 28, (1428, 896)),
        ((900, 1440), 720, 1, (450, 720)),
        ((7680, 480), 64, 16, (64, 16)),
    ],
)
def test_the_size_that_a_model_sees(screen, limit, step, shown):
    assert shown_size(screen[0], screen[1], ImageSettings(max_long_edge=limit, multiple_of=step)) == shown


@pytest.mark.parametrize(
    ("place", "shown", "screen", "wanted"),
    [
        ((0, 0), (1456, 816), (1920, 1080), (0, 0)),
        ((1455, 815), (1456, 816), (1920, 1080), (1919, 1079)),
        ((728, 408), (1456, 816), (1920, 1080), (960, 540)),
        ((100, 50), (1440, 900), (1440, 900), (100, 50)),
        ((100.4, 49.6), (1440, 900), (1440, 900), (100, 50)),
        ((1439.9, 899.9), (1440, 900), (1440, 900), (1439, 899)),
        ((-0.4, 0), (720, 450), (1440, 900), (0, 1)),
        ((0, 0), (720, 450), (1440, 900), (1, 1)),
        ((1, 1), (2880, 1800), (1440, 900), (0, 0)),
    ],
)
def test_a_place_is_mapped_to_the_screen(place, shown, screen, wanted):
    assert to_screen(place[0], place[1], shown, screen) == wanted


@pytest.mark.parametrize("place", [(1456, 0), (0, 816), (-1, 0), (0, -0.6), (float("nan"), 0), (0, float("inf"))])
def test_a_place_outside_is_refused_with_the_bounds(place):
    with pytest.raises(ValueError, match=r"is outside the picture: x 0 to 1455, y 0 to 815"):
        to_screen(place[0], place[1], (1456, 816), (1920, 1080))


SIZES = st.tuples(st.integers(1, 8000), st.integers(1, 8000))


@given(SIZES, SIZES, st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True))
def test_a_mapped_place_is_on_the_screen_and_no_pixel_of_the_picture_away(shown, screen, across, down):
    place = int(across * shown[0]), int(down * shown[1])
    for got, at, small, large in zip(to_screen(place[0], place[1], shown, screen), place, shown, screen, strict=True):
        assert 0 <= got < large
        assert abs((got + 0.5) / large - (at + 0.5) / small) <= 0.5 / large + 1e-9


@given(SIZES)
def test_without_a_resize_nothing_moves(size):
    for place in ((0, 0), (size[0] - 1, size[1] - 1), (size[0] // 2, size[1] // 3)):
        assert to_screen(place[0], place[1], size, size) == place


def test_a_picture_that_fits_is_passed_on_byte_for_byte():
    data = png(320, 200)
    assert fit_picture(data, ImageSettings(max_long_edge=320)).data is data


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp"])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "L"])
def test_a_picture_is_made_ready(kind, mode):
    colour = 0 if mode in "PL" else "navy"
    picture = fit_picture(png(640, 400, colour, mode), ImageSettings(max_long_edge=320, format=kind))
    assert picture.media_type == f"image/{kind}"
    with Image.open(io.BytesIO(picture.data)) as found:
        assert (found.size, found.format) == ((320, 200), kind.upper())
    assert (picture.width, picture.height) == (320, 200)


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


BOMB = (
    b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)) + chunk(b"IEND", b"")
)


@pytest.mark.parametrize(
    "data",
    [b"", b"no picture", png(64, 64)[:60], BOMB],
    ids=["empty", "text", "cut", "bomb"],
)
def test_what_is_no_whole_picture_is_refused(data):
    with pytest.raises(ValueError, match="picture"):
        fit_picture(data, ImageSettings(max_long_edge=64))


# What models are known to be shown, beside what their settings make of a screen.
SHOWN = ((1456, 816), (1366, 768), (1024, 640), (1280, 720), (1568, 882), (1092, 1092), (768, 480), (2000, 1250))
SCREENS = ((1440, 900), (1920, 1080), (1280, 800), (2560, 1440), (1080, 1920), (640, 480))


def along(axis, value, shown, screen):
    """Where a place on one axis of the picture is on that axis of the screen."""
    x, y = (value, 0) if axis == 0 else (0, value)
    return to_screen(x, y, shown, screen)[axis]


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("shown", SHOWN)
def test_every_pixel_of_a_screen_maps_back_within_half_a_shown_pixel(shown, screen):
    for axis in (0, 1):
        small, large = shown[axis], screen[axis]
        for pixel in range(large):
            # The shown pixel that its middle falls into.
            seen = (2 * pixel + 1) * small // (2 * large)
            back = along(axis, seen, shown, screen)
            # Half a shown pixel, and the half that a whole pixel of the screen may be off.
            assert abs(back - pixel) <= 0.5 * large / small + 0.5


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("shown", SHOWN)
def test_places_keep_their_order_and_edges_stay_inside(shown, screen):
    for axis in (0, 1):
        mapped = [along(axis, place, shown, screen) for place in range(shown[axis])]
        assert mapped == sorted(mapped)
        assert 0 <= mapped[0] <= screen[axis] / shown[axis]
        assert screen[axis] - 1 - screen[axis] / shown[axis] <= mapped[-1] <= screen[axis] - 1
        last = to_screen(shown[0] - 0.001, shown[1] - 0.001, shown, screen)
        assert last == (screen[0] - 1, screen[1] - 1)


IMAGES = st.builds(
    ImageSettings, max_long_edge=st.sampled_from([768, 1024, 1366, 1456, 1568, None]), multiple_of=st.integers(1, 32)
)


@hypothesis_settings(max_examples=12)
@given(st.sampled_from(SCREENS[:3]), IMAGES, st.floats(0, 1), st.floats(0, 1))
def test_a_dot_is_where_a_model_sees_it(screen, image, across, down):
    """The whole way: a real picture, made smaller, looked at, and its place mapped back."""
    place = round(across * (screen[0] - 9)) + 4, round(down * (screen[1] - 9)) + 4
    picture = Image.new("L", screen)
    picture.paste(255, (place[0] - 2, place[1] - 2, place[0] + 3, place[1] + 3))
    out = io.BytesIO()
    picture.save(out, "PNG")
    seen = fit_picture(out.getvalue(), image)
    with Image.open(io.BytesIO(seen.data)) as found:
        light = np.asarray(found.convert("L"), dtype=float)
    light[light < 32] = 0
    rows, columns = np.nonzero(light)
    weights = light[rows, columns]
    across_seen, down_seen = columns @ weights / weights.sum(), rows @ weights / weights.sum()
    back = to_screen(across_seen, down_seen, (seen.width, seen.height), screen)
    for got, wanted, small, large in zip(back, place, (seen.width, seen.height), screen, strict=True):
        assert abs(got - wanted) <= 0.5 * large / small + 0.5
