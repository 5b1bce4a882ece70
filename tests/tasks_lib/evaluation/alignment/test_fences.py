"""The published rule and ours find fenced blocks each in its own way, and neither takes over the other's."""

from __future__ import annotations

import pytest

from tasks_lib.evaluation.alignment._fences import fenced_blocks, published_block, without_box_markers


@pytest.mark.parametrize(
    ("text", "published", "ours"),
    [
        ("```json\n[]\n```", "[]\n", ["[]\n"]),
        ("so ```[]``` it is", "[]", []),
        ("```yaml\n[]\n```", "yaml\n[]\n", ["[]\n"]),
        ("```\n1\n```\n```\n2\n```", "1\n", ["1\n", "2\n"]),
        ("``````", "", []),
        ("```json\n[]", None, []),
        ("", None, []),
    ],
)
def test_fenced_blocks(text: str, published: str | None, ours: list[str]) -> None:
    assert (published_block(text), fenced_blocks(text)) == (published, ours)


def test_box_markers_go_and_other_marks_stay() -> None:
    assert without_box_markers("<|begin_of_box|>[]<|end_of_box|><|box|>") == "[]<|box|>"
