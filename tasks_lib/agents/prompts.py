"""The words that a model is asked with; they are made from the `View` alone."""

from __future__ import annotations

from tasks_lib.agents._work import cut
from tasks_lib.agents.actions import CALLS, describe
from tasks_lib.agents.protocol import Turn, View
from tasks_lib.records import Modality
from tasks_lib.sandbox import middle

LONGEST_BLOCK = 2_000
LONGEST_OLD_FEEDBACK = 500
LONGEST_CLIPBOARD = 500
MOST_WINDOWS = 30

_FORMAT = """\
Answer in fenced blocks. Text outside them is not acted on.

{blocks}
```decision
one word: DONE when the task is finished and you have checked it, FAIL when it cannot be done, WAIT to let a program \
work on; such a word overrides the other blocks of the reply, so give it in a reply of its own
```

```memory
optional: notes that you will see again in the next step; they replace the notes before
```

A reply without a block that can be done costs a step. Only DONE and FAIL end the work."""

_ACTIONS = """\
```python
computer.mouse.move_abs(412, 96)
computer.mouse.single_click()
```
Each line is one call from this list, with plain numbers and quoted texts as arguments. There are no variables, \
imports, loops or expressions. The whole block is checked before any of it is done; one bad line and nothing is done.

{calls}

Coordinates are pixels of the screenshot that you are shown ({width} x {height}), counted from its top left corner.
"""

_CODE = """\
```python
# a whole Python 3 script
```
The script is written to a file and run in the work folder. You are told its return code and the ends of its output. \
Every script starts afresh: variables do not live on, files do. A return code of 0 does not end the work.
"""

_VEUSZ = """\
```veusz
# a whole Veusz document script: Add('page'), To(...), Set(...), ImportFileCSV(...)
```
The script makes the document anew: Veusz runs it in the work folder, keeps it as {name}.vsz and exports {name}.pdf \
and {name}.png. You are told its messages and shown the figure. Alternatively, but not in the same reply, work on the \
open windows:

"""

_ROLE = {
    Modality.GUI: "You operate desktop programs of materials science through mouse and keyboard.",
    Modality.CODE: "You solve problems of materials science by writing Python scripts.",
    Modality.FIGURE: "You make scientific figures with the plotting program Veusz, by script or through its windows.",
}


def system_prompt(view: View, shown: tuple[int, int]) -> str:
    """Say who the model is, what it can do and how it answers.

    Parameters
    ----------
    view : View
        Its modality and screen decide.
    shown : tuple of int
        Size of the picture that the model is shown, pixels.
    """
    modality = view.brief.modality
    # Calls that need numbered marks are not offered: the screenshot that is shown has none.
    offered = {kind: call for kind, call in CALLS.items() if "id" not in call.parameters}
    calls = "\n".join(f"{describe(kind)}: {call.what}" for kind, call in offered.items())
    actions = _ACTIONS.format(calls=calls, width=shown[0], height=shown[1])
    figure = _VEUSZ.format(name=view.brief.figure_name) + actions
    blocks = {Modality.GUI: actions, Modality.CODE: _CODE, Modality.FIGURE: figure}[modality]
    return f"{_ROLE[modality]}\n\n{_FORMAT.format(blocks=blocks)}"


def user_prompt(view: View, *, hints: bool = True) -> str:
    """Say what is to be done and how things stand.

    Parameters
    ----------
    view : View
        What the agent knows.
    hints : bool
        Whether the stage's hints are told.
    """
    brief = view.brief
    parts = [f"# Task\n{brief.instruction}"]
    if hints and brief.hints:
        parts.append("# Hints\n" + "\n".join(f"- {hint}" for hint in brief.hints))
    if brief.inputs:
        parts.append("# Files at the start\n" + "\n".join(f"- {path}" for path in brief.inputs))
    parts.append("# Files to leave behind\n" + "\n".join(f"- {path}: {what}" for path, what in brief.deliverables))
    if brief.endpoints:
        parts.append("# Services\n" + "\n".join(map(_service, brief.endpoints)))
    parts.append(f"# Budget\nstep {view.step}, {_left(view)}")
    if view.screenshot is not None:
        parts.append(_screen(view))
    if view.figure is not None:
        parts.append("# Figure\nThe last picture is the figure as Veusz rendered it; it is not part of the screen.")
    if view.history:
        parts.append("# Your last blocks\n" + "\n\n".join(map(_turn, view.history)))
    if view.feedback:
        parts.append(f"# What came of your last reply\n{view.feedback}")
    if view.unchanged:
        parts.append("# Notice\nThe screen looks exactly as before your last reply.")
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


def _screen(view: View) -> str:
    seen = view.observation
    front = next((window.title for window in seen.windows if window.focused), "none")
    lines = [f"window in front: {front}", "windows:"]
    lines += [f"- {window.title} (id {window.id})" for window in seen.windows[:MOST_WINDOWS]] or ["- none"]
    lines.append(f"clipboard: {cut(seen.clipboard, LONGEST_CLIPBOARD) or 'empty'}")
    return "# Screen\n" + "\n".join(lines)


def _turn(turn: Turn) -> str:
    # The feedback of the newest block stands in a part of its own; of older ones short ends are enough.
    came = f"\n-> {middle(turn.feedback, LONGEST_OLD_FEEDBACK)}" if turn.feedback else ""
    return f"step {turn.step}:\n{cut(turn.block, LONGEST_BLOCK)}{came}"
