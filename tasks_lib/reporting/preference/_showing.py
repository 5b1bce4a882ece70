"""Trajectories as a person reads them: whole where they are short, cut and said so where not."""

from __future__ import annotations

from dataclasses import dataclass

from tasks_lib.evaluation.alignment import Call, Trajectory
from tasks_lib.records import Json
from tasks_lib.reporting._text import cap, value_text

_MOST_CALLS = 200
_MOST_CHARACTERS = 2000


@dataclass(frozen=True)
class ShownCall:
    """One call: its tool, arguments by name, and what came back (empty where the file does not say)."""

    tool: str
    arguments: tuple[tuple[str, str], ...]
    result: str


@dataclass(frozen=True)
class ShownTrajectory:
    """Steps with their calls, the calls that are left out, and the final reply."""

    steps: tuple[tuple[ShownCall, ...], ...]
    calls: int
    left_out: int
    reply: str


def shown_trajectory(trajectory: Trajectory) -> ShownTrajectory:
    """Return what a page shows of a trajectory."""
    left = _MOST_CALLS
    steps = []
    for step in trajectory.steps:
        steps.append(tuple(_shown_call(call) for call in step[:left]))
        left -= len(steps[-1])
        if left == 0:
            break
    calls = len(trajectory.calls)
    return ShownTrajectory(
        tuple(steps), calls, max(0, calls - _MOST_CALLS), cap(trajectory.final_reply.strip(), 3 * _MOST_CHARACTERS)
    )


def shown_text(text: str) -> str:
    """Return a text, its middle cut out where it is long."""
    return cap(text.strip(), 2 * _MOST_CHARACTERS)


def _shown_call(call: Call) -> ShownCall:
    arguments = call.arguments
    if isinstance(arguments, dict):
        named = tuple((str(name), _text(value)) for name, value in arguments.items())
    else:
        named = () if arguments is None else (("", _text(arguments)),)
    return ShownCall(call.tool, named, "" if call.result is None else _text(call.result))


def _text(value: Json) -> str:
    # Names are taken out when the page is made, after the cut; what a cut leaves of a name tells nobody's.
    return "null" if value is None else value_text(value, str, _MOST_CHARACTERS)
