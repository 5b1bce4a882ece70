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
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "wiki/search", "inputSchema": SCHEMA}]}},
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
        ([{"name": ""}], r"\[0\] \(''\): name: String should have at least 1 character"),
        ({"wiki": [{"name": ""}]}, r"\['wiki'\]\[0\] \(''\): name"),
        ([{"name": "b"}, {"name": "a", "inputSchema": []}], r"\[1\] \('a'\): input_schema: .* dictionary"),
        ([{"name": "a", "description": 3}], r"\[0\] \('a'\): description: .* string"),
        ({"wiki": 3}, r"\['wiki'\]: a list of tools is wanted, got int"),
        ("null", "root: a list of tools is wanted, got NoneType"),
        ({"tools": [], "nextCursor": "2"}, r"\['tools'\]: the answer has a nextCursor"),
        ({"wiki": {"tools": [], "next_cursor": "2"}}, r"\['wiki'\]\['tools'\]: the answer has a nextCursor"),
        ("[", "a snapshot of tools is an answer to tools/list"),
    ],
)
def test_what_is_no_snapshot_is_refused(root: Any, match: str, snapshot: Any) -> None:
    with pytest.raises(ConfigurationError, match=match):
        snapshot(root)


@pytest.mark.parametrize("spelling", ["outputSchema", "output_schema"])
def test_the_schema_of_results_is_kept(spelling: str, snapshot: Any) -> None:
    tool = snapshot([{"name": "a", spelling: SCHEMA}]).tool("a")
    assert tool.output_schema == SCHEMA


def test_a_digest_is_of_the_tools_and_not_of_their_order_or_source(snapshot: Any) -> None:
    one = snapshot([{"name": "a", "inputSchema": SCHEMA}, {"name": "b"}])
    assert snapshot({"tools": [{"name": "b"}, {"name": "a", "input_schema": SCHEMA}]}).digest == one.digest
    turned = ToolSnapshot(source="elsewhere", tools=one.tools[::-1])
    assert turned.digest == one.digest
    assert snapshot([{"name": "a", "inputSchema": {}}, {"name": "b"}]).digest != one.digest
    assert len(one.digest) == 64
