"""Agents that play replies which are there already: oracle, near misses, replay, nop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tasks_lib.agents.protocol import Reply, View
from tasks_lib.records import NearMiss, Step
from tasks_lib.records.errors import TaskError
from tasks_lib.taskdefs.edits import edit

DONE = "```decision\nDONE\n```"


class TranscriptAgent:
    """Plays replies one after another and then says DONE.

    Parameters
    ----------
    name : str
        Key of the registry.
    replies : sequence of Reply
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


def apply_near_miss(transcript: Sequence[str], near_miss: NearMiss) -> tuple[str, ...]:
    """Edit an oracle's replies into those of a near miss.

    Parameters
    ----------
    transcript : sequence of str
        The oracle's replies, of all stages that the edits are for.
    near_miss : NearMiss
        The edits; every occurrence is replaced, in one pass.

    Returns
    -------
    tuple of str
        The edited replies.

    Raises
    ------
    TaskError
        If a text to replace stands in no reply.
    """
    for old in near_miss.replace:
        if not any(old in reply for reply in transcript):
            msg = f"near miss {near_miss.id!r} replaces {old!r}, which no reply of the oracle holds: mend `replace`"
            raise TaskError(msg)
    return tuple(edit(reply, near_miss.replace) for reply in transcript)
