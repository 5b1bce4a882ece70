"""Doing what a reply asks for on a machine, and saying what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tasks_lib.agents.actions import CALLS, Action
from tasks_lib.agents.parsing import Script
from tasks_lib.models import to_screen
from tasks_lib.records import ActionRecord, clean_json
from tasks_lib.records.errors import ActionError
from tasks_lib.sandbox import Computer, middle

LONGEST_OUTPUT = 3_000
LONGEST_FEEDBACK = 8_000
# A script of an agent runs at most this long, s; the stage's budget may cut it shorter.
SCRIPT_SECONDS = 180.0
# Calls that answer something and change no pixel.
TELLING = frozenset({"clipboard.view_clipboard", "os.is_installed", "window_manager.find_open_applications"})


@dataclass(slots=True)
class Outcome:
    """What was done in a step: a record an action, lines for the agent, and the figure, if one was rendered."""

    records: list[ActionRecord] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    figure: bytes | None = None


def on_screen(
    actions: tuple[Action, ...], shown: tuple[int, int] | None, screen: tuple[int, int]
) -> tuple[list[Action], list[str]]:
    """Map the coordinates of a block to the screen; a place outside the picture is a problem of the whole block.

    Parameters
    ----------
    actions : tuple of Action
        With coordinates in the picture that the agent saw, pixels.
    shown : tuple of int or None
        Size of that picture; None for the screen's own, pixels.
    screen : tuple of int
        Size of the screen, pixels.
    """
    mapped: list[Action] = []
    problems: list[str] = []
    for action in actions:
        if "x" not in action.arguments:
            mapped.append(action)
            continue
        try:
            x, y = to_screen(action.arguments["x"], action.arguments["y"], shown or screen, screen)
        except ValueError as error:
            problems.append(f"line {action.line} of the python block: {error}")
        else:
            mapped.append(Action(action.text, action.kind, {"x": x, "y": y}, action.line))
    return ([] if problems else mapped), problems


def do_actions(
    computer: Computer, actions: list[Action], left: Callable[[], float], clock: Callable[[], float] = time.monotonic
) -> Outcome:
    """Do actions in order; the first that fails, or the end of the time, ends the block."""
    outcome = Outcome()
    for number, action in enumerate(actions, start=1):
        if left() <= 0:
            outcome.lines.append(f"the time ended before action {number} of {len(actions)}")
            break
        started = clock()
        try:
            answer = _call(computer, action)
        except ActionError as error:
            ok, said = False, str(error)
        else:
            ok, said = True, repr(answer)[:LONGEST_OUTPUT] if action.kind in TELLING else ""
        outcome.records.append(
            ActionRecord(
                text=action.text,
                kind=action.kind,
                arguments=clean_json(action.arguments | (_place_of_mark(computer, action) if ok else {})),
                ok=ok,
                feedback=said,
                seconds=max(0.0, clock() - started),
            )
        )
        if said:
            outcome.lines.append(f"{action.text} -> {said}" if ok else f"{action.text} failed: {said}")
        if not ok:
            if rest := len(actions) - number:
                outcome.lines.append(f"the {rest} later actions of the block were not done")
            break
    return outcome


def _place_of_mark(computer: Computer, action: Action) -> dict[str, int]:
    """Return the pixel that a move to a mark went to, for those who read the record without the marks."""
    if action.kind != "mouse.move_id":
        return {}
    x, y, width, height = computer.mark(action.arguments["id"])
    return {"x": x + width // 2, "y": y + height // 2}


def _call(computer: Computer, action: Action) -> Any:
    # By position: the names of parameters are the interface's, not the client's.
    part, method = action.kind.split(".")
    call = CALLS[action.kind]
    values = [action.arguments.get(name, call.optional.get(name)) for name in call.parameters]
    return getattr(getattr(computer, part), method)(*values)


def run_script(computer: Computer, script: Script, name: str, seconds: float, hide: Callable[[str], str]) -> Outcome:
    """Run a script on the machine; its return code, the ends of its output and its figure are the feedback."""
    try:
        result = computer.run_script(script.text, kind=script.kind, name=name, seconds=seconds)
    except ActionError as error:
        record = ActionRecord(text=f"{script.kind} script", kind=script.kind, ok=False, feedback=str(error))
        return Outcome([record], [f"the script was not run: {error}"])
    lines = [f"return code {result.returncode}"]
    if result.timed_out:
        lines = [f"the script was ended after {seconds:.0f} s, it ran too long"]
    lines += [
        # Hidden before it is cut: half a secret would no longer be known as one.
        f"{stream}:\n{middle(hide(text).rstrip(), LONGEST_OUTPUT)}"
        for stream, text in (("stdout", result.stdout), ("stderr", result.stderr))
        if text.strip()
    ]
    # Veusz ends with 0 whatever its script met; what an earlier script rendered would be shown for this one's.
    broken = script.kind == "veusz" and "Traceback (most recent call last)" in result.stderr
    if broken:
        lines.append("Veusz met an error in the script, so no figure is shown")
    record = ActionRecord(
        text=f"{script.kind} script",
        kind=script.kind,
        arguments={"name": name},
        ok=result.returncode == 0 and not result.timed_out and not broken,
        feedback="\n".join(lines),
        seconds=max(0.0, result.seconds),
    )
    figure = None
    if script.kind == "veusz" and record.ok:
        try:
            figure = computer.get_file(f"{name}.png")
        except (ActionError, FileNotFoundError) as error:
            lines.append(f"there is no figure to show: {error}")
    return Outcome([record], lines, figure)


def cut(text: str, limit: int) -> str:
    """Return the beginning of a text, with a word on what is missing."""
    return text if len(text) <= limit else f"{text[:limit]} [… {len(text) - limit} characters more]"
