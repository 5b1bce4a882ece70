"""An agent that does something valid without any aim: the floor below every score."""

from __future__ import annotations

import random

from tasks_lib.agents.protocol import Reply, View
from tasks_lib.records import Modality

_KEYS = ("enter", "escape", "tab", "up", "down", "left", "right", "space", "ctrl+z", "ctrl+a")
_CLICKS = ("single_click", "double_click", "right_click")
# It does not look, so it waits no longer than a program needs to take an event up.
_QUIET = 0.1
_WORDS = ("0", "1", "C1s", "284.8", "peak", "data")


class RandomAgent:
    """Answers with valid actions of the stage's modality, the same for the same seed and step.

    It never says that it is done: it goes on until a budget is spent.

    Parameters
    ----------
    seed : int
        Of the choices.
    """

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def reply(self, view: View) -> Reply:
        """Draw an action."""
        # Anew for each step, so that a reply depends on seed and step alone.
        draw = random.Random(f"{self._seed}/{view.step}")  # noqa: S311  # play, no secret
        if view.brief.modality is Modality.CODE:
            return Reply(f"```python\n{_script(draw, view)}\n```")
        if view.brief.modality is Modality.FIGURE and draw.random() < 0.3:
            return Reply(f"```veusz\n{_figure(draw)}\n```")
        return Reply("```python\n" + "\n".join(_actions(draw, view)) + "\n```", quiet=_QUIET)

    def close(self) -> None:
        """Nothing is held."""


def _actions(draw: random.Random, view: View) -> list[str]:
    width, height = max(1, view.observation.width), max(1, view.observation.height)
    move = f"computer.mouse.move_abs({draw.randrange(width)}, {draw.randrange(height)})"
    kind = draw.choice(("click", "drag", "scroll", "key", "text"))
    if kind == "click":
        return [move, f"computer.mouse.{draw.choice(_CLICKS)}()"]
    if kind == "drag":
        return [move, f"computer.mouse.drag({draw.randrange(width)}, {draw.randrange(height)})"]
    if kind == "scroll":
        return [move, f'computer.mouse.scroll("{draw.choice(("up", "down"))}")']
    if kind == "key":
        return [f'computer.keyboard.press("{draw.choice(_KEYS)}")']
    return [f'computer.keyboard.write("{draw.choice(_WORDS)}")']


def _script(draw: random.Random, view: View) -> str:
    """Write some number into one of the deliverables."""
    path = draw.choice([path for path, _ in view.brief.deliverables] or ["out.txt"])
    return (
        "from pathlib import Path\n"
        f"path = Path({path!r})\n"
        "path.parent.mkdir(parents=True, exist_ok=True)\n"
        f'path.write_text("{draw.uniform(0, 100):.4f}\\n", encoding="utf-8")'
    )


def _figure(draw: random.Random) -> str:
    low = draw.randrange(0, 50)
    return (
        "Add('page', name='page1', autoadd=False)\nTo('page1')\n"
        "Add('graph', name='graph1', autoadd=False)\nTo('graph1')\n"
        f"Add('function', name='f', autoadd=False)\nSet('f/function', 'x**{draw.randrange(1, 4)} + {low}')"
    )
