"""Places on a saved picture of a plot, and what a saved Fityk session says of its plot."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image, ImageDraw

from tasks_lib.evaluation import CallError, Seen, Unreadable

See = Callable[..., Seen]
Bytes = Callable[[str], bytes]


def _bands(*heights: float, colour: str = "#00ff00") -> bytes:
    """Draw marks of 2 × 2 pixels at shares of the height, every tenth pixel, on 400 × 300."""
    picture = Image.new("RGB", (400, 300), "#303030")
    draw = ImageDraw.Draw(picture)
    for height in heights:
        for x in range(20, 200, 10):
            top = round(300 * (1 - height))
            draw.rectangle((x, top - 1, x + 1, top), fill=colour)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def test_the_highest_mark_of_fityks_own_picture(see: See, good: Bytes) -> None:
    """The strong line of the spectrum, 284.8 eV, stands between the ticks of 282.5 (x = 295) and 285 eV (x = 470)."""
    data = good("fityk-plot.png")
    x = see("plot-picture", "p.png", data, colour="green").value
    assert x == pytest.approx((295 + 2.35 / 2.5 * 175.5) / 1080, abs=0.006)
    assert see("plot-picture", "p.png", data, colour="#00ff00", what="highest-y").value == pytest.approx(
        0.955, abs=0.01
    )


@pytest.mark.parametrize(("columns", "counts"), [([0.0, 0.2], 620), ([0.8, 1.0], 1980)])
def test_the_flat_ends_are_one_level_each(see: See, good: Bytes, columns: list[float], counts: float) -> None:
    found = see("plot-picture", "p.png", good("fityk-plot.png"), colour="green", what="levels", columns=columns).value
    # Ticks of 2000 and 8000 counts stand in rows 398 and 91 of 524.
    row = 398 - (counts - 2000) / 6000 * (398 - 91)
    assert found == [pytest.approx(1 - row / 524, abs=0.01)]


def test_bands_are_told_apart_and_sorted(see: See) -> None:
    assert see("plot-picture", "p.png", _bands(0.6, 0.1, 0.3), colour="green", what="levels").value == [
        pytest.approx(height, abs=0.005) for height in (0.1, 0.3, 0.6)
    ]


def test_bands_closer_than_a_fiftieth_are_one(see: See) -> None:
    assert len(see("plot-picture", "p.png", _bands(0.300, 0.315), colour="green", what="levels").value) == 1


def test_another_colour_is_not_there(see: See) -> None:
    data = _bands(0.5, colour="#ff0000")
    assert see("plot-picture", "p.png", data, colour="green", what="levels").value == []
    with pytest.raises(Unreadable, match="nothing on the picture has the colour green"):
        see("plot-picture", "p.png", data, colour="green")


@pytest.mark.parametrize("arguments", [{"colour": "greenish"}, {"what": "lowest"}, {"columns": [0.5]}])
def test_a_wrong_argument_is_a_fault_of_the_task(see: See, arguments: dict[str, Any]) -> None:
    with pytest.raises(CallError, match="columns two shares"):
        see("plot-picture", "p.png", _bands(0.5), **{"colour": "green", **arguments})


@pytest.mark.parametrize("data", [b"", b"not a picture", _bands(0.5)[:200]])
def test_what_is_no_picture_is_unreadable(see: See, data: bytes) -> None:
    with pytest.raises(Unreadable):
        see("plot-picture", "p.png", data, colour="green")


def test_a_session_says_what_its_plot_shows(see: See, good: Bytes) -> None:
    data = good("c1s.fit")
    assert see("fityk-session", "a.fit", data, what="view").value == [279.3, 294.7, -263.7884, 5539.5564]
    assert see("fityk-session", "a.fit", data, what="view", field="x", unit="eV") == Seen([279.3, 294.7], unit="eV")
    assert see("fityk-session", "a.fit", data, what="view", field="y").value == [-263.7884, 5539.5564]
    with pytest.raises(CallError, match="fields x and y"):
        see("fityk-session", "a.fit", data, what="view", field="z")


@pytest.mark.parametrize("line", [b"", b"plot [:] [:]", b"plot [a:b] [0:1]"])
def test_a_session_without_a_view_is_unreadable_where_it_is_asked_for(see: See, good: Bytes, line: bytes) -> None:
    data = good("c1s.fit").replace(b"plot [279.3:294.7] [-263.7884:5539.5564]", line)
    assert see("fityk-session", "a.fit", data, what="datasets").value == 1
    with pytest.raises(Unreadable, match="does not say what its plot shows"):
        see("fityk-session", "a.fit", data, what="view")
