"""Rules that a person states in a file: each kind of them, good pairs and bad ones, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks_lib.evaluation.alignment import TrajectoryFile, parse_trajectories
from tasks_lib.evaluation.alignment.strict import (
    ArgumentRules,
    StrictReport,
    ToolSnapshot,
    read_rules,
    read_snapshot,
    score_strictly,
)
from tasks_lib.records.errors import ConfigurationError

TOOL = "geo/nearby"
PROPERTIES = {
    "radius": {"type": "number"},
    "id": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "title": {"type": "string"},
    "lat": {"type": "number"},
    "lng": {"type": "number"},
}
RULES = {
    "/radius": {"relative": 0.01, "unit": "m"},
    "/tags": {"kind": "set"},
    "/title": {"kind": "identifier"},
    "/latitude/longitude": {"metres": 10.0},
}


class Blind:
    """Takes all texts for the same."""

    name = "blind"
    digest = "3" * 64

    def encode(self, texts: Sequence[str]) -> Any:
        return np.ones((len(texts), 2))


@pytest.fixture
def tools(tmp_path: Path) -> ToolSnapshot:
    listed = [{"name": TOOL, "inputSchema": {"type": "object", "properties": PROPERTIES}}, {"name": "geo/idle"}]
    (tmp_path / "tools.json").write_text(json.dumps(listed), encoding="utf-8")
    return read_snapshot(tmp_path / "tools.json")


def _file(arguments: Any, **more: Any) -> TrajectoryFile:
    task = {"id": "00010000", "steps": [{"calls": [{"name": TOOL, "arguments": arguments}]}], **more}
    return parse_trajectories(json.dumps([task]).encode("utf-8"), "file.json")


def _rules(rules: Any, tool: str = TOOL) -> ArgumentRules:
    return ArgumentRules.model_validate({"tools": {tool: rules}})


def _score(ours: Any, theirs: Any, tools: ToolSnapshot | None, rules: ArgumentRules | None) -> StrictReport:
    (report,) = score_strictly(_file(ours), [_file(theirs)], Blind(), tools=tools, rules=rules)
    return report


@pytest.mark.parametrize(
    ("ours", "good", "bad"),
    [
        ({"radius": 500}, {"radius": 504}, {"radius": 506}),
        ({"radius": 500}, {"radius": "0.5 km"}, {"radius": "0.5 mi"}),
        ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, {"tags": ["c", "d"]}),
        ({"title": "The Bald Eagle"}, {"title": "The Bald Eagle"}, {"title": "bald eagles the"}),
        (
            {"id": "a", "lat": 40.0, "lng": -74.0},
            {"id": "a", "lat": 40.00001, "lng": -74.0},
            {"id": "b", "lat": 40.009, "lng": -74.0},
        ),
        ({"lat": 40.0, "lng": -74.0}, {"lat": 40.00001, "lng": -74.0}, {"lat": 40.009, "lng": -74.0}),
    ],
)
def test_a_stated_rule_decides(ours: Any, good: Any, bad: Any, tools: ToolSnapshot) -> None:
    rules = _rules(RULES)
    assert _score(ours, good, tools, rules).total.scores.score == 1.0
    assert _score(ours, bad, tools, rules).total.scores.score < 0.1


def test_what_is_not_stated_stays_as_the_schema_has_it(tools: ToolSnapshot) -> None:
    pair = ({"radius": 500, "title": "bald eagle"}, {"radius": 500.0001, "title": "Eagle, bald"})
    plain = _score(*pair, tools, None)
    stated = _score(*pair, tools, _rules({"/id": {"weight": 2.0}, "/radius": {"unit": None}}))
    assert stated.total == plain.total
    assert (plain.rules_digest, len(stated.rules_digest or "")) == (None, 64)


def test_tools_without_a_snapshot_have_rules_too() -> None:
    assert _score({"radius": 500}, {"radius": 504}, None, None).total.scores.score == 0.0
    rules = _rules({"/radius": {"relative": 0.01}})
    assert _score({"radius": 500}, {"radius": 504}, None, rules).total.scores.score == 1.0


@pytest.mark.parametrize(
    ("tool", "place", "told"),
    [
        ("geo/near", "/radius", "there is no tool 'geo/near', there are geo/idle, geo/nearby"),
        (TOOL, "/radios", "has no argument '/radios', it has"),
        (TOOL, "/lat", "half of a place: state '/latitude/longitude'"),
    ],
)
def test_a_rule_that_would_do_nothing_is_refused(tool: str, place: str, told: str, tools: ToolSnapshot) -> None:
    with pytest.raises(ConfigurationError, match=told):
        _score({"lat": 1.5, "lng": 2.5}, {}, tools, _rules({place: {"relative": 0.5}}, tool))


def test_a_rule_of_a_tool_that_no_reference_calls_does_nothing(tools: ToolSnapshot) -> None:
    assert _score({"radius": 1}, {"radius": 1}, tools, _rules({"/any": {}}, "geo/idle")).total.scores.score == 1.0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[", "are JSON"),
        ("[]", "root"),
        ("{}", "tools: Field required"),
        ('{"tools": {}, "extra": 1}', "extra: Extra inputs"),
        ('{"tools": {"a/b": {"/n": {"percent": 1}}}}', "percent: Extra inputs"),
        ('{"tools": {"a/b": {"/n": {"kind": "figure"}}}}', r"tools\.a/b\./n\.kind"),
        ('{"tools": {"a/b": {"/n": {"relative": 1}}}}', "less than 1"),
        ('{"tools": {"a/b": {"/n": {"tolerance": -1}}}}', "greater than or equal to 0"),
        ('{"tools": {"a/b": {"/n": {"tolerance": NaN}}}}', "no NaN"),
        ('{"tools": {"a/b": {"/n": {"tolerance": 1e999}}}}', "finite"),
        ('{"tools": {"a/b": {"/n": {"weight": 0}}}}', "greater than or equal to 0.001"),
        ('{"tools": {"a/b": {"/n": {"weight": 1e308}}}}', "less than or equal to 1000"),
        ('{"tools": {"a/b": {"/n": {"tolerance": true}}}}', "valid number"),
        ('{"tools": {"a/b": {"/n": {"metres": "5"}}}}', "valid number"),
        ('{"tools": {"a/b": {"/n": {"unit": "\\ud800"}}}}', r"half a character, \\ud800"),
        ("[" * 100_000, "nested too deep"),
        ("\ufeff{}", "BOM"),
        (json.dumps({"tools": {f"t{n}": {"/n": {"x" * 9999: 1}} for n in range(900)}}), "; and 888 more: mend it"),
        ('{"tools": {"a/b": {"n": {}}}}', "put a slash before it"),
        ('{"tools": {"a/b": {"/n": {}, "/n": {}}}}', "stands twice"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=told) as refused:
        read_rules(path)
    assert len(str(refused.value)) < 5000


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_bytes('{"tools": {}}'.encode("utf-16"))
    with pytest.raises(ConfigurationError, match="are JSON"):
        read_rules(tmp_path / "rules.json")
    with pytest.raises(IsADirectoryError):
        read_rules(tmp_path)
