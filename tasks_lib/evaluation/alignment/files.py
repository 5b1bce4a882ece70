"""Reads trajectories from files of the published format.

The published program stops at the first step or call that is no object, takes the later of two tasks with one id, and
sees no task at all in ``{"results": […]}``. Here the same files are read, what is odd is left out as the published
program would or could not, and every oddity is told with its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tasks_lib.evaluation.alignment.published_parsing import illegal_turns
from tasks_lib.evaluation.alignment.trajectories import Call, Trajectory, canonical_text
from tasks_lib.records import clean_text
from tasks_lib.records.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes beyond which nothing is scored: similarities need memory for calls of one task squared."""

    file_bytes: int = 1 << 30
    calls: int = 5_000
    characters: int = 1_000_000
    alternatives: int = 50


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something in a file that is not as the format has it: where, and what was made of it."""

    place: str
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"


@dataclass(frozen=True)
class TrajectoryFile:
    """What a file holds: trajectories by id in the order of the file, and what was odd."""

    name: str
    trajectories: Mapping[str, Trajectory]
    oddities: tuple[Oddity, ...] = ()
    repeated: tuple[str, ...] = ()


def read_trajectories(path: Path, limits: Limits = Limits()) -> TrajectoryFile:
    """Read references or predictions.

    Parameters
    ----------
    path : Path
        JSON: a list of tasks, or an object of tasks by id. A task has ``id``, ``type`` and ``steps``, a step ``calls``,
        a call ``name`` and ``arguments``, and for strict mode ``result``. Replay and judges read ``result``,
        ``final_reply`` and ``dialogue`` as well. A reference may have ``question``,
        ``dependencies`` (pairs ``[i, j]`` of calls counted from 0: j needs what i gave) and ``alternatives`` (objects
        with ``steps`` and ``dependencies`` that count as much). Everything else is ignored.
    limits : Limits, optional
        A trajectory beyond them is left out and told.

    Returns
    -------
    TrajectoryFile
        Trajectories and oddities.

    Raises
    ------
    ConfigurationError
        If the file is too large, no JSON, nested too deep, or its root is neither list nor object.
    OSError
        If the file cannot be read.
    """
    if (size := path.stat().st_size) > limits.file_bytes:
        msg = f"{path}: a file of trajectories has at most {limits.file_bytes} bytes, this one has {size}: split it"
        raise ConfigurationError(msg)
    return parse_trajectories(path.read_bytes(), str(path), limits)


def parse_trajectories(data: bytes, name: str, limits: Limits = Limits()) -> TrajectoryFile:
    """Read references or predictions from the bytes of a file called `name`; see `read_trajectories`."""
    # A thread of its own begins with an empty stack, so how deep JSON may nest does not depend on who calls.
    with ThreadPoolExecutor(max_workers=1) as fresh:
        return fresh.submit(_read, data, name, limits).result()


def _read(data: bytes, name: str, limits: Limits) -> TrajectoryFile:
    reading = _Reading(limits)
    try:
        root = json.loads(data.decode("utf-8-sig"))
        tasks = reading.tasks(root, name)
    except RecursionError:
        msg = f"{name}: JSON is nested too deep ({_deepest(data)}): flatten it"
        raise ConfigurationError(msg) from None
    except UnicodeDecodeError as error:
        msg = f"{name}: a file of trajectories is UTF-8, byte {error.start} is not: write it anew"
        raise ConfigurationError(msg) from error
    except ValueError as error:
        msg = f"{name}: a file of trajectories is JSON: {error}: write it anew"
        raise ConfigurationError(msg) from error
    return TrajectoryFile(name, tasks, tuple(reading.oddities), tuple(reading.repeated))


_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


def _deepest(data: bytes) -> str:
    depth = deepest = place = 0
    for found in _STRING_OR_BRACKET.finditer(data.decode("utf-8-sig")):
        sign = found.group()
        if sign in "[{":
            depth += 1
            if depth > deepest:
                deepest, place = depth, found.start()
        elif sign in "]}":
            depth -= 1
    return f"{deepest} levels at character {place}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _unreadable(steps: Any) -> Iterator[str]:
    """Give the places of steps and calls that are no objects."""
    for i, step in enumerate(steps if isinstance(steps, list) else []):
        if not isinstance(step, dict):
            yield f"steps[{i}]"
        elif isinstance(calls := step.get("calls"), list):
            yield from (f"steps[{i}].calls[{j}]" for j, call in enumerate(calls) if not isinstance(call, dict))


@dataclass
class _Reading:
    """Walks through a root and notes what is odd."""

    limits: Limits
    oddities: list[Oddity] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    _places: dict[str, str] = field(default_factory=dict)

    def tasks(self, root: Any, name: str) -> dict[str, Trajectory]:
        found: dict[str, Trajectory] = {}
        for place, task in self._entries(root, name):
            key = clean_text(str(task.get("id", "")))
            if not key:
                self._note(place, "the task has no id and is left out")
                continue
            if key in self._places:
                self._note(place, f"id {key!r} stands at {self._places[key]} too; the later one counts")
                self.repeated.append(key)
                found.pop(key, None)
            self._places[key] = place
            trajectory = self._trajectory(task, key, place)
            if trajectory is not None:
                found[key] = trajectory
        return found

    def _entries(self, root: Any, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        if isinstance(root, list):
            named = [(f"[{index}]", task) for index, task in enumerate(root)]
        elif isinstance(root, dict):
            named = [(f"[{key!r}]", self._with_id(task, key)) for key, task in root.items()]
        else:
            msg = f"{name}: the root is a list of tasks or an object of tasks by id, got {type(root).__name__}"
            raise ConfigurationError(msg)
        for place, task in named:
            if isinstance(task, dict):
                yield place, task
            else:
                self._note(place, f"a task is an object, got {type(task).__name__}; it is left out")

    @staticmethod
    def _with_id(task: Any, key: str) -> Any:
        return {"id": key, **task} if isinstance(task, dict) else task

    def _trajectory(self, task: dict[str, Any], key: str, place: str) -> Trajectory | None:
        steps = tuple(
            self._step(step, f"{place}.steps[{i}]") for i, step in enumerate(self._list(task, "steps", place))
        )
        found = Trajectory(key, str(task.get("type") or ""), steps, str(task.get("question") or ""))
        found = replace(
            found,
            dependencies=self._dependencies(task, len(found.calls), place),
            alternatives=self._alternatives(task, key, place),
            final_reply=clean_text(_text(task.get("final_reply"))),
            illegal_turns=illegal_turns(task),
            unreadable=tuple(_unreadable(task.get("steps"))),
        )
        if (number := len(found.calls)) > self.limits.calls:
            self._note(place, f"{number} calls, at most {self.limits.calls} are scored; task {key!r} is left out")
            return None
        if (longest := max((len(call.text) for call in found.calls), default=0)) > self.limits.characters:
            what = f"arguments of {longest} characters, at most {self.limits.characters} are scored"
            self._note(place, f"{what}; task {key!r} is left out")
            return None
        return found

    def _alternatives(self, task: dict[str, Any], key: str, place: str) -> tuple[Trajectory, ...]:
        others = self._list(task, "alternatives", place)
        if len(others) > self.limits.alternatives:
            self._note(place, f"{len(others)} alternatives, the first {self.limits.alternatives} are read")
        found = []
        for index, other in enumerate(others[: self.limits.alternatives]):
            where = f"{place}.alternatives[{index}]"
            if not isinstance(other, dict):
                self._note(where, f"an alternative is an object, got {type(other).__name__}; it is left out")
                continue
            # An alternative has none of its own: nothing nests.
            own = {"type": task.get("type"), "question": task.get("question"), **other, "alternatives": None}
            if (trajectory := self._trajectory(own, key, where)) is not None:
                found.append(trajectory)
        return tuple(found)

    def _dependencies(self, task: dict[str, Any], calls: int, place: str) -> tuple[tuple[int, int], ...] | None:
        if not isinstance(task.get("dependencies"), list):
            return None
        found = []
        for index, pair in enumerate(task["dependencies"]):
            numbers = pair if isinstance(pair, list) else []
            if len(numbers) == 2 and all(type(one) is int and 0 <= one < calls for one in numbers):
                found.append((numbers[0], numbers[1]))
            else:
                what = f"a dependency is a pair of numbers of calls from 0 to {calls - 1}, got {str(pair)[:80]}"
                self._note(f"{place}.dependencies[{index}]", f"{what}; it is left out")
        return tuple(sorted(set(found)))

    def _step(self, step: Any, place: str) -> tuple[Call, ...]:
        if not isinstance(step, dict):
            self._note(place, f"a step is an object, got {type(step).__name__}; it counts as a step without calls")
            return ()
        return tuple(
            self._call(call, f"{place}.calls[{index}]")
            for index, call in enumerate(self._list(step, "calls", place))
            if self._is_object(call, f"{place}.calls[{index}]")
        )

    def _call(self, call: dict[str, Any], place: str) -> Call:
        arguments = call.get("arguments")
        text = canonical_text(arguments)
        if "\ufffd" in text:
            self._note(place, "the arguments hold a lone surrogate or U+FFFD; it is read as U+FFFD")
        return Call(clean_text(str(call.get("name", ""))).strip(), arguments, text, call.get("result"))

    def _is_object(self, call: Any, place: str) -> bool:
        if isinstance(call, dict):
            return True
        self._note(place, f"a call is an object, got {type(call).__name__}; it is left out")
        return False

    def _list(self, owner: dict[str, Any], key: str, place: str) -> list[Any]:
        found = owner.get(key)
        if isinstance(found, list):
            return found
        if found:
            self._note(f"{place}.{key}", f"a list is wanted, got {type(found).__name__}; it counts as empty")
        return []

    def _note(self, place: str, what: str) -> None:
        self.oddities.append(Oddity(place, what))
