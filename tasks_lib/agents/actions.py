"""The action interface: which calls there are, and the reading of calls from text without ever running it."""

from __future__ import annotations

import ast
import io
import math
import tokenize
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from types import MappingProxyType
from typing import Any

from tasks_lib.records import clean_text

# Bounds on what is handed to `ast`: its parser is recursive, and a block is at most some dozen short lines.
LONGEST_BLOCK = 20_000
MOST_ACTIONS = 64
_MOST_TOKENS_A_LINE = 200
_DEEPEST = 8

Literal = int | float | str | bool | None | list[Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a parameter takes: in words, and as a test."""

    words: str
    fits: Callable[[Literal], bool]


def _is_number(value: Literal) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_id(value: Literal) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


NUMBER = Kind("a number of pixels", lambda value: _is_number(value) and abs(float(value or 0)) < 1e6)  # type: ignore[arg-type]
MARK = Kind("a whole number, the id of a mark", _is_id)
WINDOW = Kind("a whole number, the id of a window", lambda value: value is None or _is_id(value))
DIRECTION = Kind('"up" or "down"', lambda value: value in ("up", "down"))
TEXT = Kind("a text in quotes", lambda value: isinstance(value, str))
TEXT_OR_NONE = Kind("a text in quotes", lambda value: value is None or isinstance(value, str))


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the interface: its parameters, and one sentence for the prompt."""

    what: str
    parameters: Mapping[str, Kind] = field(default_factory=dict)
    optional: Mapping[str, Literal] = field(default_factory=dict)

    @property
    def signature(self) -> Signature:
        """The call's signature, for binding."""
        return Signature(
            [
                Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=self.optional.get(name, Parameter.empty))
                for name in self.parameters
            ]
        )


_PLACE = {"x": NUMBER, "y": NUMBER}
# The whole interface. `Computer` of the sandbox has these methods; nothing else can be called.
CALLS: Mapping[str, Call] = MappingProxyType(
    {
        "mouse.move_abs": Call("move the pointer to a pixel", _PLACE),
        "mouse.move_id": Call("move the pointer to the middle of a numbered mark", {"id": MARK}),
        "mouse.single_click": Call("click the left button where the pointer is"),
        "mouse.double_click": Call("double-click the left button where the pointer is"),
        "mouse.right_click": Call("click the right button where the pointer is"),
        "mouse.scroll": Call('turn the wheel, "up" or "down"', {"direction": DIRECTION}),
        "mouse.drag": Call("hold the left button from where the pointer is to a pixel", _PLACE),
        "keyboard.write": Call("type text into the focused field", {"text": TEXT}),
        "keyboard.press": Call('press a key or a chord, such as "enter" or "ctrl+s"', {"keys": TEXT}),
        "clipboard.copy_text": Call(
            "put a text on the clipboard; without one, copy what is selected", {"text": TEXT_OR_NONE}, {"text": None}
        ),
        "clipboard.paste": Call("paste the clipboard into the focused field"),
        "clipboard.view_clipboard": Call("be told what the clipboard holds"),
        "clipboard.copy_image": Call(
            "put the picture of a numbered mark on the clipboard",
            {"id": MARK, "description": TEXT},
            {"description": ""},
        ),
        # No arguments: `sh` with "-c" would be a script, which a GUI agent has not.
        "os.open_program": Call("start a program", {"name": TEXT}),
        "os.maximize_window": Call(
            "maximise a window, by default the one in front", {"window_id": WINDOW}, {"window_id": None}
        ),
        "os.is_installed": Call("be told whether a program is there", {"name": TEXT}),
        "window_manager.switch_to_application": Call("bring a program's window to the front", {"name": TEXT}),
        "window_manager.find_open_applications": Call("be told which windows are open"),
    }
)


@dataclass(frozen=True, slots=True)
class Action:
    """A call that may be done.

    Attributes
    ----------
    text : str
        As the agent wrote it.
    kind : str
        Key of `CALLS`.
    arguments : dict
        By parameter name, defaults left out; what goes to ``*arguments`` is a list.
    line : int
        Line in its block, from 1.
    """

    text: str
    kind: str
    arguments: dict[str, Any]
    line: int


class _RefusedError(Exception):
    """A line is not a call of the interface; the message is for the agent."""


def read_actions(source: str) -> tuple[tuple[Action, ...], tuple[str, ...]]:
    """Read a block of calls such as ``computer.mouse.move_abs(120, 40)``.

    Arguments are literals (numbers, texts, lists of these), positional or by name. A block with one bad line has no
    actions at all: it is checked as a whole before any of it is done.

    Parameters
    ----------
    source : str
        The block, hostile for all that is known.

    Returns
    -------
    actions : tuple of Action
        Empty where there are problems.
    problems : tuple of str
        What is wrong, each with its line.
    """
    source = clean_text(source)
    if len(source) > LONGEST_BLOCK:
        return (), (f"the python block has {len(source)} characters, at most {LONGEST_BLOCK} are read",)
    try:
        _check_bounds(source)
        tree = ast.parse(source)
    except _RefusedError as error:
        return (), (str(error),)
    except (SyntaxError, tokenize.TokenError) as error:
        line = error.lineno if isinstance(error, SyntaxError) else error.args[1][0]
        reason = error.msg if isinstance(error, SyntaxError) else str(error.args[0])
        return (), (f"line {line} of the python block: not readable ({reason})",)
    except (ValueError, MemoryError, RecursionError) as error:
        return (), (f"the python block is not readable ({type(error).__name__})",)
    actions: list[Action] = []
    problems: list[str] = []
    for node in tree.body:
        try:
            actions.append(_action(source, node))
        except _RefusedError as error:
            problems.append(f"line {node.lineno} of the python block: {error}")
    if len(actions) > MOST_ACTIONS:
        problems.append(f"the python block has {len(actions)} actions, at most {MOST_ACTIONS} are done in one step")
    if not tree.body:
        problems.append("the python block holds no action")
    return (() if problems else tuple(actions)), tuple(problems[:5])


def _check_bounds(source: str) -> None:
    depth = count = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        count = 0 if token.type == tokenize.NEWLINE else count + 1
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        if depth > _DEEPEST or count > _MOST_TOKENS_A_LINE:
            msg = f"line {token.start[0]} of the python block: too long or too deeply nested for a call"
            raise _RefusedError(msg)


def _action(source: str, node: ast.stmt) -> Action:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        if isinstance(node, ast.Import | ast.ImportFrom):
            msg = "nothing can be imported; only calls of `computer` are done (to wait, answer WAIT)"
        else:
            msg = "only calls of `computer` are done, one a line: no assignments, loops or other statements"
        raise _RefusedError(msg)
    call = node.value
    kind = _dotted(call.func)
    known = CALLS.get(kind.removeprefix("computer."))
    if not kind.startswith("computer.") or known is None:
        msg = f"there is no {kind}; there are {', '.join(CALLS)}, each after `computer.`"
        raise _RefusedError(msg)
    kind = kind.removeprefix("computer.")
    positional = [_literal(argument) for argument in call.args]
    named: dict[str, Literal] = {}
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in named:
            msg = "arguments are written out, each once"
            raise _RefusedError(msg)
        named[keyword.arg] = _literal(keyword.value)
    try:
        bound = known.signature.bind(*positional, **named)
    except TypeError as error:
        raise _RefusedError(f"{kind}: {error}; it is {describe(kind)}") from None
    arguments = dict(bound.arguments)
    for name, kind_of, value in _kinds(known, arguments):
        if not kind_of.fits(value):
            msg = f"{kind}: {name} takes {kind_of.words}, got {_short(value)}"
            raise _RefusedError(msg)
    if "x" in arguments:
        _refuse_fractions(kind, arguments)
    text = ast.get_source_segment(source, node) or ast.unparse(node)
    return Action(text=text, kind=kind, arguments=arguments, line=node.lineno)


def _kinds(call: Call, arguments: Mapping[str, Any]) -> Iterator[tuple[str, Kind, Literal]]:
    for name, kind in call.parameters.items():
        if name in arguments:
            yield name, kind, arguments[name]


def _refuse_fractions(kind: str, arguments: Mapping[str, Any]) -> None:
    pair = (arguments["x"], arguments["y"])
    if all(isinstance(value, float) and 0 < value < 1 for value in pair):
        msg = f"{kind}: ({pair[0]:g}, {pair[1]:g}) looks like fractions of the screen; give pixels"
        raise _RefusedError(msg)


def _dotted(node: ast.expr) -> str:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        msg = "only calls of `computer` are done"
        raise _RefusedError(msg)
    return ".".join([node.id, *reversed(names)])[:200]


def _literal(node: ast.expr) -> Literal:
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool | int | float | str)):
        if isinstance(node.value, int) and node.value.bit_length() > 64:
            msg = "a number has more than 64 bits"
            raise _RefusedError(msg)
        return clean_text(node.value) if isinstance(node.value, str) else node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _literal(node.operand)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.List):
        return [_literal(item) for item in node.elts]
    msg = "arguments are plain numbers and texts in quotes: no names, no arithmetic, no f-strings"
    raise _RefusedError(msg)


def _short(value: Literal) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def describe(kind: str) -> str:
    """Return a call as the prompt shows it, such as ``computer.mouse.move_abs(x, y)``."""
    call = CALLS[kind]
    shown = [f"{name}={call.optional[name]!r}" if name in call.optional else name for name in call.parameters]
    return f"computer.{kind}({', '.join(shown)})"
