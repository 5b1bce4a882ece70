"""The agent that plays replies which are there already: oracle, near misses, replay, nop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tasks_lib.agents.protocol import Reply, View
from tasks_lib.agents.targets import TargetAbsentError, Targets
from tasks_lib.records import Step
from tasks_lib.records.errors import TaskError

DONE = "```decision\nDONE\n```"
WAIT = "```decision\nWAIT\n```"
# How often in a row a target is waited for. Each wait ends when the screen has changed, or after the loop's limit.
PATIENCE = 2
_STUCK = "The transcript cannot go on: "


class TranscriptAgent:
    """Plays replies one after another and then says DONE.

    Parameters
    ----------
    name : str
        Key of the registry.
    replies : iterable of Reply
        What to answer.
    targets : Targets, optional
        Where the pictures of named targets are. Replies then hold pixels in their place; a target that is not there
        is waited for, and then the agent gives up: it never clicks where it does not see what it wants.
    """

    def __init__(self, name: str, replies: Iterable[Reply] = (), targets: Targets | None = None) -> None:
        self.name = name
        self._replies = iter(tuple(replies))
        self._targets = targets
        self._next: Reply | None = None
        self._waits = 0

    def reply(self, view: View) -> Reply:
        """Give the next reply, WAIT where its target is not to be seen yet, FAIL where it is not to be seen at all."""
        if self._next is None:
            self._next, self._waits = next(self._replies, Reply(DONE)), 0
        if self._targets is None:
            reply = self._next
        else:
            try:
                reply = replace(self._next, text=self._targets.fill(self._next.text, view))
            except TaskError as error:
                if isinstance(error, TargetAbsentError) and self._waits < PATIENCE:
                    self._waits += 1
                    return Reply(f"Not yet to be seen: {error}\n\n{WAIT}")
                return Reply(f"{_STUCK}{error}\n\n```decision\nFAIL\n```")
        self._next = None
        return reply

    def close(self) -> None:
        """Nothing is held."""


def stuck_reason(reply: str) -> str:
    """Return why a transcript could not go on, from the last reply of its play; empty where it could."""
    return reply.removeprefix(_STUCK).split("\n", 1)[0] if reply.startswith(_STUCK) else ""


def recorded(steps: Iterable[Step]) -> tuple[Reply, ...]:
    """Turn the steps of a recorded trajectory back into replies."""
    return tuple(Reply(step.reply, shown=step.shown, marks=step.marks) for step in steps)
