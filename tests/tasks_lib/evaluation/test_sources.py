"""Where a criterion looks, as `explain` shows it, agrees with what the getters read."""

from __future__ import annotations

import pytest

from tasks_lib.evaluation.sources import source_of
from tasks_lib.records import (
    BlobRef,
    CollectedFile,
    Criterion,
    Ending,
    Evidence,
    GetterCall,
    MetricCall,
    Observation,
    WindowState,
    now,
)

FILE = BlobRef(sha256="0" * 64, size=3)
WINDOWS = (
    WindowState(id=1, title="Plot: raw", x=10, y=20, width=200, height=100),
    WindowState(id=2, title="Plot: fit", x=300, y=40, width=100, height=80, focused=True),
)


def _source(getter: str, path: str | None = None, **arguments):
    evidence = Evidence(
        ending=Ending.DONE,
        steps=1,
        files=(CollectedFile(path="out/a.csv", blob=FILE),),
        refused=("big.bin is larger than is collected",),
        final=Observation(width=600, height=400, windows=WINDOWS),
        collected=now(),
    )
    criterion = Criterion(
        id="one",
        points=1,
        reads=GetterCall(getter=getter, path=path, arguments=arguments),
        compares=MetricCall(metric="equals", want=1),
        why="It is looked at where the getter looks.",
    )
    return source_of(criterion, evidence)


def test_a_file_is_named_and_one_that_is_not_there_says_why() -> None:
    assert (_source("table", "out/a.csv").kind, _source("table", "out/a.csv").note) == ("file", "")
    assert "no file b.csv" in _source("table", "b.csv").note
    assert "larger than is collected" in _source("table", "big.bin").note


@pytest.mark.parametrize(
    ("getter", "arguments", "box", "window"),
    [
        ("screen-text", {}, None, None),
        ("screen-text", {"region": [5, 6, 7, 8]}, (5, 6, 7, 8), None),
        ("screen-text", {"window": "raw"}, (10, 20, 200, 100), "Plot: raw"),
        ("strokes", {"window": "Plot", "region": [1, 2, 30, 40]}, (301, 42, 30, 40), "Plot: fit"),
        ("strokes", {"window": "raw", "region": [150, 0, 100, 10]}, (160, 20, 50, 10), "Plot: raw"),
        ("highlighted", {"cells": {"a": [0, 0, 8, 8], "b": [8, 0, 8, 8], "c": [0, 24, 8, 8]}}, (0, 0, 16, 32), None),
        ("screen-curve", {"frame": [100, 50, 90, 60], "x": [0, 1], "y": [0, 1]}, (100, 50, 90, 60), None),
        ("screen-curve", {"frame": [100, 50, 90, 60]}, (20, 50, 170, 94), None),
        ("dialog", {"window": "fit", "field": "Height"}, (300, 40, 100, 80), "Plot: fit"),
    ],
)
def test_a_part_of_the_screen_is_in_pixels_of_the_screenshot(getter, arguments, box, window) -> None:
    source = _source(getter, **arguments)
    assert (source.kind, source.box, source.window, source.note) == ("screen", box, window, "")


def test_titles_are_told_by_the_window_manager() -> None:
    assert _source("window-title").kind == "windows"
    assert _source("dialog", window="fit").kind == "windows"


def test_a_window_that_is_gone_is_told_and_the_whole_screen_is_left() -> None:
    source = _source("screen-text", window="Report")
    assert (source.box, source.window) == (None, "Report")
    assert "no window is titled 'Report'" in source.note


def test_a_region_that_is_none_is_told() -> None:
    assert "region is [x, y, width, height]" in _source("strokes", region=[1, 2, 3]).note
