"""What our own programs make of a model's text: read where it is sound, told where it is not, never guessed at.

A call that cannot be read is kept with its raw text and the reason, so it is fed back and counted, and never run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tasks_lib.evaluation.alignment._fences import fenced_blocks, without_box_markers
from tasks_lib.models import ToolCall
from tasks_lib.models.dialects.calls import read_call
from tasks_lib.models.dialects.reply import split_thought
from tasks_lib.records import no_key_twice

_TAG = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_BOXED = re.compile(r"\\boxed\{([^{}]*)\}")
_DECIMAL = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class CallsRead:
    """The calls of a reply, sound and unsound, in its order; `problem` says why the reply as a whole holds none."""

    calls: tuple[ToolCall, ...] = ()
    problem: str = ""

    @property
    def sound(self) -> tuple[ToolCall, ...]:
        """The calls that may be run."""
        return tuple(call for call in self.calls if not call.problem)


def read_tool_calls(text: str) -> CallsRead:
    """Read the tool calls that a model wrote into its text.

    Understood are ``{"tool_calls": [{"name", "arguments"}, …]}``, a list of such calls and a single one; alone, in one
    fenced block, or each within ``<tool_call>`` tags. What stands in a thought does not count.

    Parameters
    ----------
    text : str
        The reply.

    Returns
    -------
    CallsRead
        No call and no problem where the reply holds nothing like JSON: a model may answer in words.
    """
    _, answer = split_thought(without_box_markers(text))
    if tags := _TAG.findall(answer):
        parts = tags
    elif len(parts := fenced_blocks(answer)) > 1:
        return CallsRead(problem=f"calls stand in one fenced block, this reply has {len(parts)}: write one")
    elif not parts:
        if not answer.lstrip().startswith(("{", "[", "```")):
            return CallsRead()
        parts = [answer]
    items: list[Any] = []
    for part in parts:
        try:
            items += _items(json.loads(part, object_pairs_hook=no_key_twice))
        except RecursionError:
            return CallsRead(problem="the JSON of the calls is nested too deeply: flatten it")
        except ValueError as error:
            return CallsRead(problem=f"calls are JSON: {error}: write it anew")
    return CallsRead(tuple(_call(item, position) for position, item in enumerate(items)))


def read_judged_number(text: str, low: float, high: float) -> float:
    r"""Read a judge's number: a plain decimal in the only ``\boxed{…}`` of the reply.

    Text that is judged can hold numbers and boxes of its own; a reply that repeats one is therefore refused rather
    than read by its first number.

    Parameters
    ----------
    text : str
        The judge's reply.
    low, high : float
        Least and largest number that counts.

    Returns
    -------
    float
        The number.

    Raises
    ------
    ValueError
        If there is not one box, it holds no plain decimal, or the number is out of range.
    """
    _, answer = split_thought(text)
    boxes = _BOXED.findall(answer)
    if len(boxes) != 1 or answer.count("\\boxed") != 1:
        msg = f"a judge's reply has one \\boxed{{number}}, this one has {answer.count(chr(92) + 'boxed')}: ask again"
        raise ValueError(msg)
    if not _DECIMAL.fullmatch(boxes[0].strip()):
        msg = f"a judge's number is a plain decimal such as 7.5, got {boxes[0][:40]!r}: ask again"
        raise ValueError(msg)
    value = float(boxes[0])
    if not low <= value <= high:
        msg = f"a judge's number is in [{low}, {high}], got {value}: ask again"
        raise ValueError(msg)
    return value


def _items(root: Any) -> Iterator[Any]:
    if isinstance(root, dict) and "tool_calls" in root:
        root = root["tool_calls"]
    if isinstance(root, list):
        yield from root
    else:
        yield root


def _call(item: Any, position: int) -> ToolCall:
    if not isinstance(item, dict) or "name" not in item or "arguments" not in item:
        raw = json.dumps(item, ensure_ascii=False)
        name = item.get("name") if isinstance(item, dict) else None
        problem = "a call is an object with name and arguments"
        made = read_call(None, name, raw, position)
        return ToolCall(made.id, made.name, made.raw, None, problem)
    arguments = item["arguments"]
    # Some models write the object as a text. NaN and infinity come out as such, and are refused like in a text.
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return read_call(item.get("id"), item["name"], raw, position)
