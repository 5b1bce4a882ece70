"""The agent that plays replies which are there already: oracle, near misses, replay, nop."""

from __future__ import annotations

from collections.abc import Iterable

from tasks_lib.agents.protocol import Reply, View
from tasks_lib.records import Step

DONE = "```decision\nDONE\n```"


class TranscriptAgent:
    """Plays replies one after another and then says DONE.

    Parameters
    ----------
    name : str
        Key of the registry.
    replies : iterable of Reply
        What to answer.
    """

    def __init__(self, name: str, replies: Iterable[Reply] = ()) -> None:
        self.name = name
        self._replies = iter(tuple(replies))

    def reply(self, view: View) -> Reply:
        """Give the next reply."""
        return next(self._replies, Reply(DONE))

    def close(self) -> None:
        """Nothing is held."""


def recorded(steps: Iterable[Step]) -> tuple[Reply, ...]:
    """Turn the steps of a recorded trajectory back into replies."""
    return tuple(Reply(step.reply, shown=step.shown) for step in steps)
