"""Predictions that nobody thought about, made of the references alone: what they earn, a score is worth nothing below.

They know where the picture of their own task lies, as every contestant does.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tasks_lib.evaluation.alignment.trajectories import Call, Trajectory, canonical_text
from tasks_lib.records import Json

Predictions = Mapping[str, Trajectory]


def copies(references: Sequence[Trajectory]) -> Predictions:
    """Return the references as predictions: the ceiling."""
    return {one.id: _bare(one) for one in references}


def argument_swap(references: Sequence[Trajectory], seed: int) -> Predictions:
    """Return the right tools in the right order, each with arguments that a call of another task gave it.

    A tool that no other task calls is called without arguments.
    """
    calls: dict[str, list[tuple[str, Call]]] = {}
    for one in references:
        for call in one.calls:
            calls.setdefault(call.tool, []).append((one.id, call))
    return {one.id: _swapped(one, calls, _draw(f"swap {seed} {one.id}")) for one in references}


def family_template(references: Sequence[Trajectory], seed: int) -> Predictions:
    """Return the whole reference of another task of the same family; a family of one task has no prediction."""
    families: dict[str, list[Trajectory]] = {}
    for one in references:
        families.setdefault(one.family, []).append(one)
    found = {}
    for one in references:
        others = [other for other in families[one.family] if other.id != one.id]
        if others:
            other = _draw(f"template {seed} {one.id}").choice(others)
            steps = tuple(tuple(_given(call, call, other.id, one.id) for call in step) for step in other.steps)
            found[one.id] = Trajectory(one.id, one.kind, steps)
    return found


def _draw(name: str) -> random.Random:
    return random.Random(name)  # noqa: S311 - a guess, no secret


def _bare(one: Trajectory) -> Trajectory:
    return replace(one, dependencies=None, alternatives=())


def _swapped(one: Trajectory, calls: Mapping[str, list[tuple[str, Call]]], draw: random.Random) -> Trajectory:
    def other(call: Call) -> Call:
        donors = [(task, donor) for task, donor in calls[call.tool] if task != one.id]
        if not donors:
            return Call(call.tool, {}, canonical_text({}))
        task, donor = draw.choice(donors)
        return _given(call, donor, task, one.id)

    return Trajectory(one.id, one.kind, tuple(tuple(other(call) for call in step) for step in one.steps))


def _given(call: Call, donor: Call, task: str, own: str) -> Call:
    arguments = _renamed(donor.arguments, task, own)
    return Call(call.tool, arguments, canonical_text(arguments))


def _renamed(value: Json, task: str, own: str) -> Json:
    """Put the own task's id where names of files begin with the other one's."""
    if isinstance(value, str):
        return re.sub(rf"(?<!\w){re.escape(task)}(?=(?:_\w+)?\.\w+)", lambda _: own, value) if task in value else value
    if isinstance(value, list):
        return [_renamed(item, task, own) for item in value]
    if isinstance(value, Mapping):
        return {key: _renamed(item, task, own) for key, item in value.items()}
    return value
