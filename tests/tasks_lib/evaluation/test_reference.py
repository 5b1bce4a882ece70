from __future__ import annotations

from pathlib import Path

import pytest

from tasks_lib.evaluation import GETTERS, METRICS, describe
from tasks_lib.evaluation.reference import PAGE, main, render

GETTER_NAMES = {
    "file", "text", "json", "key-value", "table", "structure", "image", "pdf-text", "window-title", "screen-text",
    "fityk-session", "fityk-peaks", "veusz-document", "gwyddion", "tiff",
    "imagej-roi", "dm", "dialog", "toggle", "highlighted", "handles", "strokes", "screen-curve", "screen-picture",
    "plot-picture",
}  # fmt: skip
METRIC_NAMES = {
    "exists", "count", "equals", "contains", "matches",
    "members", "number", "number-list", "table-match", "key-values",
    "set-equals", "structure-match", "image-similar", "region-similar", "at-least", "at-most", "between",
}  # fmt: skip


def test_the_names_that_tasks_rely_on() -> None:
    assert set(GETTERS) == GETTER_NAMES
    assert set(METRICS) == METRIC_NAMES


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(), "run: python -m tasks_lib.evaluation.reference"


def test_every_argument_is_explained() -> None:
    known = describe()
    assert [row["name"] for row in known["getters"]] == sorted(GETTER_NAMES)
    for row in (*known["getters"], *known["metrics"]):
        assert row["summary"].endswith("."), row["name"]
        for argument in row["arguments"]:
            assert argument["what"], (row["name"], argument["name"])
            assert argument["type"], (row["name"], argument["name"])


def test_a_check_tells_a_page_that_is_out_of_date_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    assert main(["--check"], page) == 1
    assert not page.exists()
    assert main([], page) == 0
    assert main(["--check"], page) == 0
    page.write_text("old", encoding="utf-8")
    assert main(["--check"], page) == 1
    assert page.read_text(encoding="utf-8") == "old"
    assert f"{page}: out of date" in capsys.readouterr().err
