from __future__ import annotations

from tasks_lib.evaluation import GETTERS, METRICS, describe
from tasks_lib.evaluation.reference import PAGE, render

GETTER_NAMES = {
    "file", "text", "json", "key-value", "table", "structure", "image", "pdf-text", "window-title", "screen-text",
    "fityk-session", "fityk-peaks", "veusz-document",
}  # fmt: skip
METRIC_NAMES = {
    "exists", "count", "equals", "contains", "matches", "number", "number-list", "table-match", "key-values",
    "set-equals", "structure-match", "image-similar", "at-least", "at-most", "between",
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
