"""Tool calls as the alignment sees them, and the one text that stands for a call's arguments."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property

from tasks_lib.records import Json, clean_text

# An id of the published set is four digits of the family and four of the instance.
_FAMILY_DIGITS = 4


def canonical_text(arguments: Json) -> str:
    """Write arguments as the encoder sees them: compact JSON, keys sorted at every level, no escapes.

    A string is a JSON string, so ``"{}"`` and ``{}`` differ. The tool's name is no part of it.

    Parameters
    ----------
    arguments
        Any value that came out of JSON, with NaN and the infinities.

    Returns
    -------
    str
        Text that UTF-8 can carry: a lone surrogate has become U+FFFD.
    """
    return clean_text(json.dumps(arguments, ensure_ascii=False, sort_keys=True, separators=(",", ":")))


def text_digest(text: str) -> str:
    """Return the sha256 of a text in UTF-8, in hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call: `tool` is its qualified name without outer spaces, `text` its arguments in canonical form."""

    tool: str
    arguments: Json
    text: str
    result: Json = None


@dataclass(frozen=True)
class Trajectory:
    """The calls of one task, step by step; a step without calls keeps its place."""

    id: str
    kind: str
    steps: tuple[tuple[Call, ...], ...]
    question: str = ""
    # Pairs (i, j) of `calls`: j needs what i gave. None: the task does not say.
    dependencies: tuple[tuple[int, int], ...] | None = None
    # Other ways to do the task that count as much; of a reference alone.
    alternatives: tuple[Trajectory, ...] = ()
    # What the model said in the end.
    final_reply: str = ""
    # Turns of the dialogue of which no call could be read, and places of what stands among the calls and is none.
    illegal_turns: int = 0
    unreadable: tuple[str, ...] = ()

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """All calls in the order of the steps."""
        return tuple(call for step in self.steps for call in step)

    @cached_property
    def step_of(self) -> tuple[int, ...]:
        """The step of each of `calls`, counted from 0."""
        return tuple(index for index, step in enumerate(self.steps) for _ in step)

    @property
    def family(self) -> str:
        """The task family: the first four digits of the id, or the id itself where it does not start with these."""
        head = self.id[:_FAMILY_DIGITS]
        return head if len(head) == _FAMILY_DIGITS and head.isascii() and head.isdigit() else self.id
