"""Fityk's variables: ``$a = ~1.5 [0:2]`` is free, ``$b = 3`` fixed, ``$c = $a+1.5`` tied to another."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from typing import Any

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.evaluation.units import parse_number
from tasks_lib.records import Json

_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "ln": math.log,
    "log10": math.log10,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "atan": math.atan,
    "abs": abs,
}
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: math.pow(a, b),
}
_FREE = re.compile(r"~\s*\{?\s*([-+.\deE]+)\s*\}?\s*(?:\[[^\]]*\])?$")
LONGEST_EXPRESSION = 500
DEEPEST = 50


class Variables:
    """The variables of a session, with what each depends on."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._values: dict[str, float | int | None] = {}

    def add(self, name: str, text: str) -> None:
        if len(text) > LONGEST_EXPRESSION:
            msg = f"variable ${name[:40]} of the Fityk session has an expression of {len(text)} characters"
            raise Unreadable(msg)
        self._texts[name] = text.strip()

    def is_free(self, argument: str) -> bool:
        """Whether the fit may change a function's argument by itself."""
        return self._text(argument).startswith("~")

    def tie(self, argument: str) -> str | None:
        """Return the expression of an argument that hangs on other variables, else None."""
        text = self._text(argument)
        return text if "$" in text else None

    def roots(self, argument: str) -> list[str]:
        """Return the variables, sorted, that an argument hangs on in the end: free or fixed ones."""
        found: set[str] = set()
        seen: set[str] = set()
        waiting = self._names(argument)
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            below = self._names(self._texts.get(name, ""))
            if below:
                waiting.extend(below)
            else:
                found.add(name)
        return sorted(found)

    def evaluate(self, argument: str) -> float | int | None:
        """Return the number that an argument stands for, or None where it has none."""
        value = self._evaluate(argument, 0)
        return value if value is not None and math.isfinite(value) else None

    def describe(self) -> dict[str, Json]:
        """Return name -> value, whether it is free, and the variables it depends on."""
        return {
            name: {
                "value": self.evaluate(f"${name}"),
                "free": text.startswith("~"),
                "depends": sorted(set(self._names(text))),
                "text": text,
            }
            for name, text in self._texts.items()
        }

    @staticmethod
    def _names(text: str) -> list[str]:
        return re.findall(r"\$(\w+)", text)

    def _text(self, argument: str) -> str:
        match = re.fullmatch(r"\$(\w+)", argument.strip())
        return self._texts.get(match[1], "") if match else argument.strip()

    def _evaluate(self, text: str, depth: int) -> float | int | None:
        text = text.strip()
        if match := re.fullmatch(r"\$(\w+)", text):
            name = match[1]
            if name not in self._values:
                if depth > DEEPEST or name not in self._texts:
                    return None
                self._values[name] = None  # a variable that hangs on itself has no value
                self._values[name] = self._evaluate(self._texts[name], depth + 1)
            return self._values[name]
        number = parse_number(text)
        if number is not None:
            return number
        if match := _FREE.fullmatch(text):
            return parse_number(match[1])
        if len(text) > LONGEST_EXPRESSION:
            return None
        try:
            plain = re.sub(r"\$(\w+)", r"v_\1", text).replace("^", "**")
            return self._compute(ast.parse(plain, mode="eval").body, depth)
        except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError, TypeError):
            return None

    def _compute(self, node: Any, depth: int) -> float | int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            return float(node.value)
        if isinstance(node, ast.Name):
            if node.id == "pi":
                return math.pi
            value = self._evaluate("$" + node.id.removeprefix("v_"), depth) if node.id.startswith("v_") else None
            if value is None:
                raise ValueError(node.id)
            return value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            value = self._compute(node.operand, depth)
            return -value if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](self._compute(node.left, depth), self._compute(node.right, depth))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
            return (
                _FUNCTIONS[node.func.id](self._compute(node.args[0], depth))
                if node.func.id in _FUNCTIONS
                else _no(node)
            )
        return _no(node)


def _no(node: Any) -> float:
    raise ValueError(type(node).__name__)
