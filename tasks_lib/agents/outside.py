"""An agent whose replies come from outside: another program is asked, and the loop waits for its answer.

Everything that drives a stage from without (an environment for training, a tool server) answers through this one
adapter, so it meets the same loop, parser, budgets and records as every other agent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tasks_lib.agents.prompts import state_prompt, task_prompt
from tasks_lib.agents.protocol import Reply, View
from tasks_lib.agents.settings import AgentSettings
from tasks_lib.models import DeadlineError

LEFT = "The program that plays has left.\n\n```decision\nFAIL\n```"
# The loop looks at its clock again, which may have been held meanwhile.
_LOOK = 1.0


class OutsideAgent:
    """Hands each view out and waits until somebody answers it.

    `reply` and `close` are called by the loop, everything else by the one outside, in another thread.

    Parameters
    ----------
    name : str
        As in the episode's spec.
    ask : callable
        Takes each view out; must not block.
    clock : callable
        Seconds, for tests.
    """

    def __init__(self, name: str, ask: Callable[[View], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = name
        self._ask = ask
        self._tick = clock
        self._changed = threading.Condition()
        self._answer: str | None = None
        self._asking = False
        self._left = False
        self._holding = threading.Lock()
        self._held = 0.0
        self._held_since: float | None = None

    def reply(self, view: View) -> Reply:
        """Wait for the answer.

        Raises
        ------
        DeadlineError
            If the stage's time ends before there is one.
        """
        began = self.clock()
        with self._changed:
            self._answer, self._asking = None, not self._left
        if self._asking:
            self._ask(view)
        with self._changed:
            try:
                while self._answer is None and not self._left:
                    left = view.seconds_left - (self.clock() - began)
                    if left <= 0:
                        msg = f"no reply from outside within {view.seconds_left:.0f} s"
                        raise DeadlineError(msg)
                    self._changed.wait(min(_LOOK, left))
                text = LEFT if self._answer is None else self._answer
            finally:
                self._asking = False
        return Reply(text, seconds=self.clock() - began)

    def close(self) -> None:
        """Ask for nothing any more; idempotent."""
        with self._changed:
            self._left = True
            self._changed.notify_all()

    def answer(self, text: str) -> bool:
        """Answer the view that was handed out; False where nothing is asked, and then nothing comes of it."""
        with self._changed:
            if not self._asking or self._left or self._answer is not None:
                return False
            self._answer = text
            self._changed.notify_all()
        return True

    def leave(self) -> None:
        """Answer what is asked, now and later, with FAIL; idempotent."""
        self.close()

    def clock(self) -> float:
        """Return the seconds that count for the budget; for `play`."""
        with self._holding:
            return (self._tick() if self._held_since is None else self._held_since) - self._held

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no time of the budget pass: what happens meanwhile is no doing of the one who plays."""
        with self._holding:
            self._held_since = since = self._tick()
        try:
            yield
        finally:
            with self._holding:
                self._held += self._tick() - since
                self._held_since = None


def shown_size(view: View) -> tuple[int, int] | None:
    """Return the size of the picture that is shown outside, pixels: the screen itself; None without a desktop."""
    return None if view.screenshot is None else (view.observation.width, view.observation.height)


def pictures(view: View) -> list[bytes]:
    """Return what is shown outside: the screen, with the marks where there are some, and the figure; as PNG."""
    return [png for png in (view.marked or view.screenshot, view.figure) if png is not None]


def told(view: View, settings: AgentSettings, *, task: bool) -> str:
    """Say in words what a model would be told.

    Parameters
    ----------
    view : View
    settings : AgentSettings
        Whether hints are told.
    task : bool
        Whether to say again what is to be done.
    """
    parts = [task_prompt(view.brief, settings)] if task else []
    if view.feedback:
        parts.append(f"# What came of your last reply\n{view.feedback}")
    return "\n\n".join([*parts, state_prompt(view, shown_size(view), settings)])


__all__ = ["LEFT", "OutsideAgent", "pictures", "shown_size", "told"]
