"""End states that are right as well, derived from what an oracle left: they show whether an evaluator is too strict."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from tasks_lib.episodes.audit import _values
from tasks_lib.episodes.audit._spots import Spot, spots
from tasks_lib.episodes.audit._states import State
from tasks_lib.records import BlobRef, Json, Task

# Of the tolerance: as far as a value goes that is still right.
NEAR = 0.9


def variants(task: Task, oracle: State, blob: Callable[[BlobRef], bytes]) -> Iterator[State]:
    """Derive end states that solve a task as its oracle does, in another form or within the tolerance.

    JSON keeps its value with other spaces and another order of keys (RFC 8259), a table with the line ends of RFC 4180.
    A number may be off by as much as the task says.

    Parameters
    ----------
    task : Task
    oracle : State
        The state to change; every criterion of it is met.
    blob : callable
        Returns the bytes of a file that the oracle left.

    Yields
    ------
    State
        Solved, and not adversarial. What is known is said of the criteria that read the changed file.
    """
    for spot, _, data in spots(task, oracle, blob):
        getters = {criterion.reads.getter for criterion in spot.reading}
        document = _values.parse(data)
        if getters == {"json"} and document is not None:
            text = json.dumps(_turned(document), ensure_ascii=True, indent=3)
            yield _right(spot, "other layout", "spaces and order of keys", f"{text}\n".encode())
            yield from _within(spot, document)
        if getters == {"table"} and b"\r" not in data:
            yield _right(spot, "other layout", "line ends", data.rstrip(b"\n").replace(b"\n", b"\r\n"))


def _right(spot: Spot, kind: str, what: str, data: bytes) -> State:
    return spot.with_bytes(kind, what, data, spot.known(True), solved=True)


def _turned(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _turned(item) for key, item in reversed(value.items())}
    return [_turned(item) for item in value] if isinstance(value, list) else value


def _within(spot: Spot, document: Json) -> Iterator[State]:
    for criterion in spot.reading:
        pointer, want = criterion.reads.arguments.get("pointer", ""), criterion.compares.want
        room = _values.tolerances(criterion)
        if criterion.compares.metric == "number" and pointer and room is not None and _values.is_number(want):
            limit = max(room[0], room[1] * abs(want))
            alone = [other.id for other in spot.reading if other.reads.arguments.get("pointer", "") == pointer]
            # A unit that is written, or another one in the file, would make `want` another number there.
            plain = _values.is_number(_values.at(document, pointer)) and criterion.reads.arguments.get("unit") is None
            if limit > 0 and plain and alone == [criterion.id]:
                for sign, side in ((1, "above"), (-1, "below")):
                    changed = _values.put(document, pointer, want + sign * NEAR * limit)
                    what = f"{pointer} {side} by {NEAR} of the tolerance"
                    yield _right(spot, "within tolerance", what, _values.dump(changed))
