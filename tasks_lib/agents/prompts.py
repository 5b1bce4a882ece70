"""The words that a model is asked with; they are made from the `View` and the settings alone."""

from __future__ import annotations

from collections.abc import Sequence

from tasks_lib.agents._wording import (
    ACTIONS,
    BLIND,
    CODE,
    PLACES,
    RENDERED,
    ROLES,
    VARIANTS,
    VEUSZ,
)
from tasks_lib.agents._work import cut
from tasks_lib.agents.actions import CALLS, describe
from tasks_lib.agents.figure_templates import template_for
from tasks_lib.agents.protocol import Brief, Turn, View
from tasks_lib.agents.settings import AgentSettings
from tasks_lib.records import Mark, Modality, WindowState
from tasks_lib.sandbox import middle

LONGEST_BLOCK = 2_000
LONGEST_OLD_FEEDBACK = 500
LONGEST_CLIPBOARD = 500
LONGEST_TITLE = 200
MOST_WINDOWS = 30
LONGEST_MARKS = 6_000
_DEFAULTS = AgentSettings()


def system_prompt(view: View, shown: tuple[int, int] | None, settings: AgentSettings = _DEFAULTS) -> str:
    """Say who the model is, what it can do and how it answers; the same for every step of a stage.

    Parameters
    ----------
    view : View
        Its modality and screen decide.
    shown : tuple of int or None
        Size of the picture that the model is shown, pixels; None where it is shown none.
    settings : AgentSettings
        Form of the replies, variant, marks.
    """
    modality = view.brief.modality
    variant = VARIANTS[settings.prompt]
    native = settings.replies == "tools"
    work = []
    if modality is Modality.CODE and not native:
        work.append(CODE)
    if modality is Modality.FIGURE:
        seen = " and shown the figure" if shown else ", not shown the figure"
        work.append(("" if native else VEUSZ) + RENDERED.format(name=view.brief.figure_name, shown=seen))
    if modality is not Modality.CODE:
        if not native:
            work.append(ACTIONS.format(calls=_calls(explained=variant.explained, marks=settings.marks != "none")))
        width, height = shown or (view.observation.width, view.observation.height)
        work.append((PLACES if shown else BLIND).format(width=width, height=height))
    answer = (variant.tools if native else variant.blocks).format(work="\n".join(work))
    return "\n\n".join(part for part in (ROLES[modality], answer.strip(), variant.rules) if part)


def _calls(*, explained: bool, marks: bool) -> str:
    # Calls that need numbered marks are offered where there are marks.
    offered = {kind: call for kind, call in CALLS.items() if marks or "id" not in call.parameters}
    return "\n".join(
        f"{describe(kind)}: {call.what}" if explained else describe(kind) for kind, call in offered.items()
    )


def task_prompt(brief: Brief, settings: AgentSettings = _DEFAULTS) -> str:
    """Say what is to be done; the same for every step of a stage, and never left out of a request.

    Parameters
    ----------
    brief : Brief
        The stage.
    settings : AgentSettings
        How much help is given.
    """
    parts = [f"# Task\n{brief.instruction}"]
    if settings.hints and brief.hints:
        parts.append("# Hints\n" + "\n".join(f"- {hint}" for hint in brief.hints))
    if settings.help == "template+hints" and brief.modality is Modality.FIGURE:
        parts.append(
            "# Template\nA script for a figure of this kind, to start from. Names in capitals are to be replaced, and "
            f"what the task does not ask for is to be left out.\n```veusz\n{template_for(brief).rstrip()}\n```"
        )
    if brief.inputs:
        parts.append("# Files at the start\n" + "\n".join(f"- {path}" for path in brief.inputs))
    parts.append("# Files to leave behind\n" + "\n".join(f"- {path}: {what}" for path, what in brief.deliverables))
    if brief.endpoints:
        parts.append("# Services\n" + "\n".join(map(_service, brief.endpoints)))
    return "\n\n".join(parts)


def state_prompt(
    view: View,
    shown: tuple[int, int] | None,
    settings: AgentSettings = _DEFAULTS,
    *,
    pictures: Sequence[str] = (),
    history: Sequence[Turn] = (),
) -> str:
    """Say how things stand.

    Parameters
    ----------
    view : View
        What the agent knows.
    shown : tuple of int or None
        Size of the picture that the model is shown, pixels; None where it is shown none.
    settings : AgentSettings
    pictures : sequence of str
        What the pictures of the message show, in their order.
    history : sequence of Turn
        Earlier steps to be told again.
    """
    parts = [f"# Budget\nstep {view.step}, {_left(view)}"]
    if view.brief.modality is not Modality.CODE and view.observation.width:
        parts.append(_screen(view, blind=shown is None))
    if view.marks and settings.marks != "none":
        parts.append(_marks(view, shown, settings))
    if view.figure is not None and shown is None:
        parts.append("# Figure\nVeusz rendered the figure of your last script.")
    if len(pictures) > 1:
        parts.append("# Pictures\n" + "\n".join(f"{n}. {what}" for n, what in enumerate(pictures, start=1)))
    if history:
        parts.append("# Your last blocks\n" + "\n\n".join(map(_turn, history)))
    notices = (*(("The screen looks exactly as before your last reply.",) if view.unchanged else ()), *view.notices)
    if notices:
        parts.append("# Notice\n" + "\n".join(notices))
    if view.memory:
        parts.append(f"# Your notes\n{view.memory}")
    parts.append("Give the next reply.")
    return "\n\n".join(parts)


def _service(name: str) -> str:
    """Say how scripts find a database: by names of variables, never by their values."""
    from tasks_lib.databases.servers import Dialect  # only stages that have databases pay for the import

    if name not in tuple(Dialect):
        return f"- {name}"
    dialect = Dialect(name)
    return f"- {dialect.service}: its address is in the scripts' environment, {', '.join(dialect.address_variables)}"


def _left(view: View) -> str:
    words = [f"{view.steps_left} replies", f"{max(0.0, view.seconds_left):.0f} s"]
    if view.tokens_left is not None:
        words.append(f"{view.tokens_left} tokens")
    return f"left: {', '.join(words)}"


def _screen(view: View, *, blind: bool) -> str:
    seen = view.observation
    front = next((window.title for window in seen.windows if window.focused), "none")
    lines = [f"window in front: {_title(front)}", "windows:"]
    shown = seen.windows[:MOST_WINDOWS]
    lines += [f"- {_title(window.title)} (id {window.id}{_place(window) if blind else ''})" for window in shown] or [
        "- none"
    ]
    lines.append(f"clipboard: {cut(seen.clipboard, LONGEST_CLIPBOARD) or 'empty'}")
    return "# Screen\n" + "\n".join(lines)


def _title(title: str) -> str:
    """Return a title as part of a line: files that are open stand in it, and it must not open a section."""
    return cut(" ".join("".join(char if char.isprintable() else " " for char in title).split()), LONGEST_TITLE)


def _place(window: WindowState) -> str:
    return f", from ({window.x}, {window.y}), {window.width} x {window.height} pixels"


def _marks(view: View, shown: tuple[int, int] | None, settings: AgentSettings) -> str:
    """List the marks; their places are told where the numbers are not seen, or can be clicked at by pixel."""
    screen = (view.observation.width, view.observation.height)
    scale = (shown[0] / screen[0], shown[1] / screen[1]) if shown and all(screen) else (1.0, 1.0)
    lines: list[str] = []
    size = 0
    for mark in view.marks:
        line = _mark(mark, scale)
        size += len(line) + 1
        if size > LONGEST_MARKS:
            lines.append(f"… and {len(view.marks) - len(lines)} more")
            break
        lines.append(line)
    call = "mouse_move_id" if settings.replies == "tools" else "computer.mouse.move_id"
    return f"# Marks\nNumber, role, text and box (left, top, width, height); {call} goes to the middle of one.\n" + (
        "\n".join(lines)
    )


def _mark(mark: Mark, scale: tuple[float, float]) -> str:
    left, top, width, height = (round(value * factor) for value, factor in zip(mark.box, (*scale, *scale), strict=True))
    text = f' "{cut(" ".join(mark.text.split()), 80)}"' if mark.text.strip() else ""
    return f"- {mark.id} {mark.role}{text} ({left}, {top}, {width}, {height})"


def _turn(turn: Turn) -> str:
    # The feedback of the newest block stands in a part of its own; of older ones short ends are enough.
    came = f"\n-> {middle(turn.feedback, LONGEST_OLD_FEEDBACK)}" if turn.feedback else ""
    return f"step {turn.step}:\n{cut(turn.block, LONGEST_BLOCK)}{came}"
