"""Snapshots of tools: the forms that are read, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tasks_lib.evaluation.alignment.strict import ToolSnapshot, read_snapshot
from tasks_lib.records.errors import ConfigurationError

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}


@pytest.fixture
def snapshot(tmp_path: Path):
    def read(root: Any) -> ToolSnapshot:
        path = tmp_path / "tools.json"
        path.write_text(root if isinstance(root, str) else json.dumps(root), encoding="utf-8")
        return read_snapshot(path)

    return read


@pytest.mark.parametrize(
    "root",
    [
        {"tools": [{"name": "wiki/search", "inputSchema": SCHEMA}]},
        [{"name": "wiki/search", "input_schema": SCHEMA, "annotations": {}}],
        {"wiki": {"tools": [{"name": "search", "inputSchema": SCHEMA}]}},
        {"wiki": [{"name": "wiki/search", "inputSchema": SCHEMA}]},
    ],
)
def test_every_form_gives_the_same_tool(root: Any, snapshot: Any) -> None:
    read = snapshot(root)
    tool = read.tool("wiki/search")
    assert (tool.name, tool.input_schema) == ("wiki/search", SCHEMA)
    assert read.tool("search") is None
    assert ToolSnapshot.from_json(read.to_json()) == read


def test_tools_are_sorted(snapshot: Any) -> None:
    assert [tool.name for tool in snapshot({"b": [{"name": "x"}], "a": [{"name": "y"}]}).tools] == ["a/y", "b/x"]


@pytest.mark.parametrize(
    ("root", "match"),
    [
        ([{"name": "a"}, {"name": "a"}], "a comes twice"),
        ([{"title": "a"}], "a tool is an object with a name"),
        ([{"name": ""}], "name"),
        ([{"name": "a", "inputSchema": []}], "a snapshot of tools"),
        ({"wiki": 3}, "a list of tools is wanted, got int"),
        ("null", "a list of tools is wanted, got NoneType"),
        ("[", "a snapshot of tools is an answer to tools/list"),
    ],
)
def test_what_is_no_snapshot_is_refused(root: Any, match: str, snapshot: Any) -> None:
    with pytest.raises(ConfigurationError, match=match):
        snapshot(root)
