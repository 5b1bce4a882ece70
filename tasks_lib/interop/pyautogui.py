"""Actions that are written as calls of pyautogui, said in our own calls; read as text, never run."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tasks_lib.interop._faults import fault

LONGEST = 20_000
_KEYS = {"return": "enter", "escape": "esc", "control": "ctrl", "del": "delete", "pgup": "pageup", "pgdn": "pagedown"}


def translated(action: str, place: str) -> str:
    """Return an action in our calls; what does not speak of pyautogui is returned as it is.

    Known are click, doubleClick, rightClick, moveTo, dragTo, write, typewrite, press, hotkey and scroll, with plain
    numbers and texts; ``time.sleep`` is left out, since the loop waits for the screen.

    Raises
    ------
    ConfigurationError
        If a line is another call, or its arguments are no plain values.
    """
    if "pyautogui" not in action:
        return action
    if len(action) > LONGEST:
        raise fault(place, f"an action has at most {LONGEST} characters, got {len(action)}", "leave it out")
    try:
        tree = ast.parse(action)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise fault(place, f"the action is not readable ({type(error).__name__})", "mend it") from error
    said: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
            raise fault(place, f"line {node.lineno} of the action is no call", "give calls of pyautogui alone")
        said += _call(node.value, place)
    return "\n".join(said)


def _call(call: ast.Call, place: str) -> list[str]:
    name = ast.unparse(call.func)[:100]
    if name == "time.sleep":
        return []
    known = _CALLS.get(name.removeprefix("pyautogui."))
    if not name.startswith("pyautogui.") or known is None:
        raise fault(place, f"{name} has no counterpart; known are {', '.join(sorted(_CALLS))}", "give a response field")
    try:
        positional = [ast.literal_eval(argument) for argument in call.args]
        named = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}
        return known(positional, named)
    except (ValueError, TypeError, KeyError, IndexError, MemoryError, RecursionError, SyntaxError) as error:
        raise fault(place, f"{name}: its arguments are no plain values of the kind wanted", "mend them") from error


def _at(positional: list[Any], named: dict[str, Any]) -> list[str]:
    """Return the move to a place, none where the call names none."""
    x = positional[0] if positional else named.get("x")
    y = positional[1] if len(positional) > 1 else named.get("y")
    if isinstance(x, tuple | list):
        x, y = x
    if x is None and y is None:
        return []
    return [f"computer.mouse.move_abs({_number(x)}, {_number(y)})"]


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(value)
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _click(positional: list[Any], named: dict[str, Any]) -> list[str]:
    clicks, button = named.get("clicks", 1), named.get("button", "left")
    if clicks not in {1, 2, 3}:
        raise ValueError(clicks)
    if button == "right":
        does = ["computer.mouse.right_click()"]
    elif button in {"left", "primary"}:
        does = ["computer.mouse.double_click()"] if clicks == 2 else ["computer.mouse.single_click()"] * int(clicks)
    else:
        raise ValueError(button)
    return [*_at(positional, named), *does]


def _drag(positional: list[Any], named: dict[str, Any]) -> list[str]:
    return [_at(positional, named)[0].replace("move_abs", "drag")]


def _write(positional: list[Any], named: dict[str, Any]) -> list[str]:
    value = positional[0] if positional else named.get("message", named.get("text"))
    return [f"computer.keyboard.write({_text(value)!r})"]


def _press(positional: list[Any], named: dict[str, Any]) -> list[str]:
    value = positional[0] if positional else named["keys"]
    keys = value if isinstance(value, list | tuple) else [value]
    presses = int(named.get("presses", 1))
    if presses * len(keys) > 64:
        raise ValueError(presses)
    return [f"computer.keyboard.press({_key(key)!r})" for key in keys] * presses


def _hotkey(positional: list[Any], named: dict[str, Any]) -> list[str]:
    if named.keys() - {"interval"}:
        raise TypeError(named)
    return [f"computer.keyboard.press({'+'.join(map(_key, positional))!r})"]


def _key(value: Any) -> str:
    name = _text(value).lower()
    return _KEYS.get(name, name)


def _scroll(positional: list[Any], named: dict[str, Any]) -> list[str]:
    clicks = _number(positional[0] if positional else named["clicks"])
    direction = "up" if clicks > 0 else "down"
    place = _at(positional[1:], named)
    # A notch of the wheel is one click here; pyautogui's unit differs from system to system.
    return [*place, f'computer.mouse.scroll("{direction}")']


_CALLS: dict[str, Callable[[list[Any], dict[str, Any]], list[str]]] = {
    "click": _click,
    "doubleClick": lambda a, b: [*_at(a, b), "computer.mouse.double_click()"],
    "dragTo": _drag,
    "hotkey": _hotkey,
    "moveTo": _at,
    "press": _press,
    "rightClick": lambda a, b: [*_at(a, b), "computer.mouse.right_click()"],
    "scroll": _scroll,
    "typewrite": _write,
    "write": _write,
}
