"""Native tool calls as a form of replies: the tools that a stage offers, and their calls as the text of a reply.

A call never acts by itself. It is written as the line or block that it stands for, and the reply that comes of it is
read by `parse_reply` like any other: the same whitelist, the same caps, and a recorded reply that can be played again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from types import MappingProxyType
from typing import Any

from tasks_lib.agents.actions import (
    CALLS,
    DIRECTION,
    MARK,
    MOST_ACTIONS,
    NUMBER,
    TEXT,
    TEXT_OR_NONE,
    WINDOW,
    Call,
    Kind,
    read_actions,
)
from tasks_lib.models import ToolCall, ToolSpec
from tasks_lib.records import Modality, clean_text

# Enough to know a broken call by; it is the model's own text and may be without end.
LONGEST_SHOWN_CALL = 300
_SCHEMAS: Mapping[Kind, Mapping[str, Any]] = MappingProxyType(
    {
        NUMBER: {"type": "number"},
        MARK: {"type": "integer", "minimum": 0},
        WINDOW: {"type": "integer", "minimum": 0},
        DIRECTION: {"type": "string", "enum": ["up", "down"]},
        TEXT: {"type": "string"},
        TEXT_OR_NONE: {"type": "string"},
    }
)
_PLACE_IN_BLOCK = re.compile(r"^line \d+ of the python block: ")


@dataclass(frozen=True, slots=True)
class _Own:
    """A tool that stands for a block: its language, its text (or the parameter that holds it), what it does."""

    language: str
    what: str
    parameter: str = ""
    body: str = ""


_SCRIPTS: Mapping[Modality, _Own] = {
    Modality.CODE: _Own(
        "python",
        "Run a whole Python 3 script in the work folder. Every script starts afresh: variables do not live on, files"
        " do. You are told its return code and the ends of its output.",
        "script",
    ),
    Modality.FIGURE: _Own(
        "veusz",
        "Make the document anew from a whole Veusz document script: Add('page'), To(...), Set(...),"
        " ImportFileCSV(...). You are told its messages and shown the figure. Not in one reply with other tools.",
        "script",
    ),
}
_REMEMBER = _Own("memory", "Keep notes that you will see again; they replace the notes before.", "notes")
_DECISIONS: Mapping[str, _Own] = {
    "done": _Own("decision", "End the work: the task is finished and you have checked it.", body="DONE"),
    "fail": _Own("decision", "End the work: the task cannot be done.", body="FAIL"),
}
_WAIT = _Own("decision", "Let a program work on for a while.", body="WAIT")


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of a stage.

    Attributes
    ----------
    computer : dict of str to str
        Calls of `CALLS`, by the tool's name.
    own : dict of str to _Own
        Tools that stand for a block.
    """

    computer: Mapping[str, str]
    own: Mapping[str, _Own]

    @classmethod
    def of(cls, modality: Modality, *, marks: bool = False) -> Toolbox:
        """Gather what a stage of a modality offers; calls that need numbered marks where there are some."""
        own = {"run_script": _SCRIPTS[modality]} if modality in _SCRIPTS else {}
        computer: dict[str, str] = {}
        if modality is not Modality.CODE:
            offered = (kind for kind, call in CALLS.items() if marks or "id" not in call.parameters)
            # Dots are not allowed in a tool's name.
            computer = {kind.replace(".", "_"): kind for kind in offered}
            own["wait"] = _WAIT
        return cls(computer, {**own, "remember": _REMEMBER, **_DECISIONS})

    def specs(self) -> tuple[ToolSpec, ...]:
        """Return the tools as a model is told of them."""
        found = [ToolSpec(name, _sentence(CALLS[kind]), _schema(CALLS[kind])) for name, kind in self.computer.items()]
        for name, own in self.own.items():
            properties = {own.parameter: {"type": "string"}} if own.parameter else {}
            found.append(ToolSpec(name, own.what, _object(properties, list(properties))))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What calls say as a reply.

    Attributes
    ----------
    text : str
        The reply; one that `parse_reply` refuses where a call is malformed or unknown.
    problems : dict of str to str
        What is wrong with which call, by the call's id; where there is anything, none of the calls is done.
    """

    text: str
    problems: Mapping[str, str] = field(default_factory=dict)


def reply_of(said: str, calls: Sequence[ToolCall], toolbox: Toolbox) -> ToolReply:
    """Write calls as a reply.

    Parameters
    ----------
    said : str
        What the model said beside the calls; it is quoted, so that no block in it counts.
    calls : sequence of ToolCall
        In the model's order.
    toolbox : Toolbox
        What it was offered.
    """
    quoted = "\n".join(f"> {line}" for line in clean_text(said).strip().splitlines())
    if not calls:
        names = ", ".join(toolbox.own)
        return ToolReply(_joined(quoted, _block("refused", f"no tool was called: call one, such as {names}")))
    lines: list[str] = []
    blocks: list[str] = []
    problems: dict[str, str] = {}
    if len(calls) > MOST_ACTIONS:
        why = f"a reply has {len(calls)} calls, at most {MOST_ACTIONS} are done in one step"
        return ToolReply(_joined(quoted, _block("refused", why)), {call.id: why for call in calls})
    for call in calls:
        try:
            if call.problem or call.arguments is None:
                raise _RefusedError(call.problem or "its arguments cannot be read")
            if call.name in toolbox.computer:
                lines.append(_line(toolbox.computer[call.name], call.arguments))
            elif call.name in toolbox.own:
                blocks.append(_own_block(call.name, toolbox.own[call.name], call.arguments))
            else:
                known = ", ".join((*toolbox.computer, *toolbox.own))
                raise _RefusedError(f"there is no such tool; there are {known}")
        except _RefusedError as error:
            problems[call.id] = str(error)
    if problems:
        # Nothing that could be done may stand in a reply of which nothing is done.
        told = [f"{_shown(call)}: {problems[call.id]}" for call in calls if call.id in problems]
        return ToolReply(_joined(quoted, _block("refused", "\n".join(told))), problems)
    if lines:
        blocks.insert(0, _block("python", "\n".join(lines)))
    return ToolReply(_joined(quoted, *blocks))


class _RefusedError(Exception):
    """A call must not be done; the message is for the model."""


def _line(kind: str, arguments: Mapping[str, Any]) -> str:
    """Write a call of the computer as a line of a block, and read it as such."""
    if not all(isinstance(name, str) and name.isidentifier() and not iskeyword(name) for name in arguments):
        msg = f"{kind} takes {', '.join(CALLS[kind].parameters) or 'no arguments'}"
        raise _RefusedError(msg)
    try:
        written = {name: repr(value) for name, value in arguments.items()}
    except (RecursionError, ValueError) as error:
        msg = f"its arguments cannot be read ({type(error).__name__})"
        raise _RefusedError(msg) from None
    positional: list[str] = []
    for name in CALLS[kind].parameters:
        if name not in written:
            break
        positional.append(written.pop(name))
    line = f"computer.{kind}({', '.join([*positional, *(f'{name}={value}' for name, value in written.items())])})"
    _, problems = read_actions(line)
    if problems:
        raise _RefusedError(_PLACE_IN_BLOCK.sub("", problems[0]))
    return line


def _own_block(name: str, own: _Own, arguments: Mapping[str, Any]) -> str:
    wanted = {own.parameter} if own.parameter else set()
    if set(arguments) != wanted or not all(isinstance(value, str) for value in arguments.values()):
        msg = f"{name} takes {f'{own.parameter}, a text, and nothing else' if own.parameter else 'no arguments'}"
        raise _RefusedError(msg)
    return _block(own.language, arguments[own.parameter] if own.parameter else own.body)


def _block(language: str, body: str) -> str:
    """Fence a text by more marks than it holds in a row, so that nothing in it closes the block."""
    body = clean_text(body)
    marks = "`" * max(3, 1 + max(map(len, re.findall("`+", body)), default=0))
    ending = "" if body.endswith("\n") else "\n"
    return f"{marks}{language}\n{body}{ending}{marks}"


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _shown(call: ToolCall) -> str:
    text = " ".join(f"{call.name}({call.raw})".split())
    return text if len(text) <= LONGEST_SHOWN_CALL else f"{text[:LONGEST_SHOWN_CALL]}…"


def _sentence(call: Call) -> str:
    return f"{call.what[0].upper()}{call.what[1:]}."


def _schema(call: Call) -> dict[str, Any]:
    properties = {name: {**_SCHEMAS[kind], "description": kind.words} for name, kind in call.parameters.items()}
    return _object(properties, [name for name in call.parameters if name not in call.optional])


def _object(properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}
