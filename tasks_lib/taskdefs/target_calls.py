"""The place of a named target in a transcript: ``computer.mouse.move_abs(target("fityk/menu-data"))``.

A target is named by its picture, as there, or by the text that stands on it: ``target(text="OK", within="Export")``. A
call of ``target`` stands for the two pixels of a move or a drag. What reaches the parser of replies are numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tasks_lib.records import Modality
from tasks_lib.records.errors import TaskError
from tasks_lib.taskdefs.targets import check_name
from tasks_lib.taskdefs.transcript import fences

# Stages whose ``python`` block holds actions; in a code stage it is a script, which may call what it likes.
ACTING = frozenset({Modality.GUI, Modality.FIGURE})
TAKE_PLACES = frozenset({"computer.mouse.move_abs", "computer.mouse.drag"})
LONGEST_LINE = 400
# Farther than any screen is wide.
_FARTHEST = 10_000
_CALL = re.compile(r"\btarget\s*\(")
_LONGEST_TEXT = 80
_FORM = (
    'target("program/name") or target(text="…"), with near=(x, y), within="window title", dx=… and dy=… where they are '
    "needed"
)


class TargetCallError(TaskError):
    """A call of ``target`` is malformed."""


@dataclass(frozen=True, slots=True)
class TargetCall:
    """Where a transcript wants to click.

    Attributes
    ----------
    name : str
        The target's picture; empty where it is found by its text.
    near : tuple of int or None
        Of several matches, take the one whose middle is nearest to this pixel.
    within : str or None
        Look only inside the window whose title contains this.
    dx, dy : int
        What is added to the middle of the target, pixels.
    text : str or None
        The text that the target is found by.
    """

    name: str
    near: tuple[int, int] | None = None
    within: str | None = None
    dx: int = 0
    dy: int = 0
    text: str | None = None

    @property
    def label(self) -> str:
        """What messages call the target."""
        return self.name if self.text is None else f"with the text {self.text!r}"


def target_calls(reply: str, modality: Modality) -> tuple[TargetCall, ...]:
    """Return the targets that a reply names, in order.

    Raises
    ------
    TargetCallError
        If a call is malformed; the message names the line.
    """
    return tuple(call for _, _, _, call in _found(reply.replace("\r\n", "\n").split("\n"), reply, modality))


def fill_targets(reply: str, modality: Modality, place: Callable[[TargetCall], tuple[int, int]]) -> str:
    """Put pixels in the place of a reply's targets.

    Parameters
    ----------
    reply : str
        A reply of a transcript.
    modality : Modality
        Of its stage; nothing is changed in a code stage.
    place : callable
        Gives the pixel of a target, origin top left; what it raises is passed on.

    Returns
    -------
    str
        The reply as a model would have written it; the very same text where no target stands in it.

    Raises
    ------
    TargetCallError
        If a call is malformed; the message names the line.
    """
    lines = reply.replace("\r\n", "\n").split("\n")
    found = list(_found(lines, reply, modality))
    places = [place(call) for _, _, _, call in found]
    # From the end, so that earlier columns of a line stay where they are.
    for (number, start, end, _), (x, y) in reversed(list(zip(found, places, strict=True))):
        line = lines[number].encode()
        lines[number] = (line[:start] + f"{x}, {y}".encode() + line[end:]).decode()
    return "\n".join(lines) if found else reply


def _found(lines: list[str], reply: str, modality: Modality) -> Iterator[tuple[int, int, int, TargetCall]]:
    """Yield index of line, first and last column in UTF-8 bytes, and the call."""
    if modality not in ACTING or not _CALL.search(reply):
        return
    for block in fences(reply):
        if block.language != "python":
            continue
        for index in range(block.line, block.line + block.body.count("\n") + 1):
            if _CALL.search(lines[index]):
                try:
                    yield from ((index, *call) for call in _in_line(lines[index]))
                except TargetCallError as error:
                    msg = f"line {index + 1}: {error}"
                    raise TargetCallError(msg) from None


def _in_line(line: str) -> Iterator[tuple[int, int, TargetCall]]:
    indent = len(line) - len(line.lstrip())
    if len(line) > LONGEST_LINE:
        msg = f"the line has {len(line)} characters, with a target at most {LONGEST_LINE}"
        raise TargetCallError(msg)
    try:
        tree = ast.parse(line[indent:])
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return  # part of a longer text, or broken: the parser of replies says what is wrong with it
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    alone = [
        (node.args[0].col_offset, node.args[0])
        for node in calls
        if _is_target(node.args[0] if len(node.args) == 1 else None)
        and not node.keywords
        and _dotted(node.func) in TAKE_PLACES
    ]
    if len(alone) != sum(map(_is_target, calls)):
        msg = f"a target is the one argument of {' or '.join(sorted(TAKE_PLACES))}: write {_FORM}"
        raise TargetCallError(msg)
    for start, node in sorted(alone, key=lambda pair: pair[0]):
        if isinstance(node, ast.Call):
            end = indent + (node.end_col_offset or 0)
            written = line.encode()[indent + start : end].decode()
            yield indent + start, end, _read(node, written)


def _is_target(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "target"


def _dotted(node: ast.expr) -> str:
    """Return ``a.b.c``, or what is left of it where it is not of names alone; `ast.unparse` may run out of stack."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "", *reversed(names)])


def _read(node: ast.Call, written: str) -> TargetCall:
    try:
        values = [ast.literal_eval(argument) for argument in node.args]
        named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords}
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        values, named = [], {}
    good = (
        (_is_text(named.get("text")) if not values else len(values) == 1 and isinstance(values[0], str))
        and len(named) == len(node.keywords)
        and set(named) <= {"near", "within", "dx", "dy"} | (set() if values else {"text"})
        and _is_pair(named.get("near", (0, 0)))
        and isinstance(within := named.get("within", "any"), str)
        and bool(within.strip())
        and all(_is_pixels(named.get(name, 0)) for name in ("dx", "dy"))
    )
    if not good:
        msg = f"{written[:120]} is no target: write {_FORM}"
        raise TargetCallError(msg)
    try:
        return TargetCall(check_name(values[0]) if values else "", **named)  # type: ignore[arg-type]
    except TaskError as error:
        raise TargetCallError(str(error)) from None


def _is_text(value: object) -> bool:
    # Of dots and colons nothing is left to compare.
    return (
        isinstance(value, str) and len(value) <= _LONGEST_TEXT and value.isprintable() and any(map(str.isalnum, value))
    )


def _is_pixels(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _FARTHEST


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(map(_is_pixels, value))
