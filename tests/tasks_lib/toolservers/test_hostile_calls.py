"""Clients that mean harm: any call is read as a reply that does nothing, or is one that may be done."""

from __future__ import annotations

import sys
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")
pytest.importorskip("gymnasium", reason="the extra gym is not installed")

from tasks_lib.agents.parsing import parse_reply
from tasks_lib.agents.tool_replies import Toolbox, reply_of
from tasks_lib.episodes.gym_env import _call
from tasks_lib.models import ToolCall
from tasks_lib.records import Modality
from tasks_lib.toolservers.desktop import _several, _tool_call

TOOLS = Toolbox.of(Modality.GUI, marks=True)


def deep(levels: int) -> Any:
    found: Any = 1
    for _ in range(levels):
        found = [found]
    return found


HARM = {
    "nan": float("nan"), "inf": float("inf"), "large": 10**400, "deep": deep(190), "deeper": deep(900),
    "deepest": deep(10 * sys.getrecursionlimit()), "surrogate": "\ud800", "fence": "x\n```python\nz", "nul": "\x00",
    "nothing": None, "true": True, "key": {"a b": 1}, "number as key": {1: 2}, "bytes": b"x", "object": object(),
}  # fmt: skip


def refused(calls: list[ToolCall]) -> bool:
    return bool(parse_reply(reply_of("", calls, TOOLS).text, Modality.GUI).problems)


@pytest.mark.parametrize("name", HARM)
def test_hostile_arguments_are_told_back(name: str) -> None:
    harm = HARM[name]
    for arguments in ({"x": harm, "y": 1}, {"x": 1, "y": 2, "z": harm}, {"script": harm}, harm):
        for tool in ("mouse_move_abs", "done", harm):
            assert refused([_call(0, {"tool": tool, "arguments": arguments})])
            if isinstance(harm, bytes) or name == "object":
                # No JSON can bring them.
                continue
            assert refused([_tool_call(0, tool, arguments)])
            several = _several({"calls": [{"tool": tool, "arguments": arguments}]})
            assert not isinstance(several, str)
            assert refused(several)


def test_ten_thousand_calls_are_one_refusal() -> None:
    calls = _several({"calls": [{"tool": "wait", "arguments": {}}] * 10_000})
    assert not isinstance(calls, str)
    told = reply_of("", calls, TOOLS)
    assert refused(calls)
    assert len(told.text) < 1000
