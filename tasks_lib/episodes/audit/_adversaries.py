"""End states that are wrong by construction, derived from what an oracle left: no machine plays them.

Each changes one deliverable, or the screen, of a state that is right. Of what was touched, as much is said as follows
from the change alone. Of what was not touched nothing is said: its evidence is the oracle's, and a decision on it would
be the same one, counted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import PurePosixPath

from tasks_lib.episodes.audit import _values
from tasks_lib.episodes.audit._spots import Spot, spots
from tasks_lib.episodes.audit._states import State
from tasks_lib.records import BlobRef, Json, Stage, Task

# Deliverables of tasks of other domains that are tried in place of one; of its own domain all are.
FOREIGN = 3


@dataclass(frozen=True)
class Donor:
    """A deliverable that the oracle of a task left."""

    task_id: str
    domain: str
    path: str
    data: bytes


def adversaries(
    task: Task,
    oracle: State,
    blob: Callable[[BlobRef], bytes],
    *,
    inputs: Mapping[str, bytes],
    gold: Mapping[str, bytes],
    donors: Sequence[Donor] = (),
    others: Sequence[State] = (),
    idle: State | None = None,
) -> Iterator[State]:
    """Derive adversarial end states of a task.

    Parameters
    ----------
    task : Task
    oracle : State
        The state to change; every criterion of it is met.
    blob : callable
        Returns the bytes of a file that the oracle left.
    inputs, gold : mapping of str to bytes
        The task's inputs, by their path in the work folder, and its gold files.
    donors : sequence of Donor
        Deliverables of oracles, the task's own among them.
    others : sequence of State
        What oracles of other tasks left, to be judged as it is; the task's own is passed over.
    idle : State, optional
        The state that ``nop`` left, for exchanges of screen and files.

    Yields
    ------
    State
        One at a time, in the order of stages and deliverables. A change that leaves the bytes as they were, or the
        same JSON value, is no change and is left out.
    """
    for spot, stage, data in spots(task, oracle, blob):
        yield from _of_file(spot, stage, data, inputs, gold, donors)
    if idle is not None:
        yield from _exchanged(task, oracle, idle)
    for other in others:
        # Some criterion may be met by accident, as "there are two data sets" is; the task is not solved.
        if other.task_id != oracle.task_id and set(other.evidence) == set(oracle.evidence):
            yield replace(
                oracle, kind="end state of another task", name=f"the oracle of {other.task_id}",
                evidence=other.evidence, criteria={}, solved=False, adversarial=True, data={},
            )  # fmt: skip


def _of_file(
    spot: Spot,
    stage: Stage,
    data: bytes,
    inputs: Mapping[str, bytes],
    gold: Mapping[str, bytes],
    donors: Sequence[Donor],
) -> Iterator[State]:
    yield spot.with_bytes("empty file", "no bytes", b"", spot.known(False))
    half = data[: len(data) // 2]
    if half and not _same(half, data):
        # Half a JSON document is none, unless it is half of a number. Half a table may hold all that is compared.
        broken = _values.parse(data) is not None and _values.parse(half) is None
        yield spot.with_bytes("truncated file", "the first half", half, spot.known(False if broken else None))
    path = PurePosixPath(spot.path)
    yield spot.renamed("other name", str(path.with_name(f"copy-of-{path.name}")))
    yield from _numbers(spot, data)
    yield from _entries(spot, data)
    told = stage.instruction.encode()
    others = [("instruction as file", "the instruction", told)]
    others += [("input as file", name, content) for name, content in sorted(inputs.items())]
    judged_by = {criterion.compares.gold for criterion in spot.reading}
    others += [("other gold", name, content) for name, content in sorted(gold.items()) if name not in judged_by]
    others += [
        ("other deliverable", donor.path, donor.data)
        for donor in donors
        if donor.task_id == spot.task.id and donor.path != spot.path
    ]
    others += [
        ("file of another task", f"{donor.path} of {donor.task_id}", donor.data) for donor in _nearest(spot, donors)
    ]
    for kind, what, content in others:
        if not _same(content, data):
            # Some criterion may be met by accident, as "there are two peaks" is; the task is not solved.
            yield spot.with_bytes(kind, what, content, spot.known(None))


def _nearest(spot: Spot, donors: Sequence[Donor]) -> list[Donor]:
    """Return files of the same kind from other tasks: all of the same domain, of the same name first, then a few."""
    path, domain = PurePosixPath(spot.path), spot.task.domain
    fitting = [
        donor
        for donor in donors
        if donor.task_id != spot.task.id and PurePosixPath(donor.path).suffix.lower() == path.suffix.lower()
    ]
    fitting.sort(key=lambda donor: (donor.domain != domain, PurePosixPath(donor.path).name != path.name, donor.task_id))
    of_domain = sum(donor.domain == domain for donor in fitting)
    return fitting[: max(of_domain, FOREIGN)]


def _same(one: bytes, other: bytes) -> bool:
    if one.split() == other.split():
        return True
    parsed = _values.parse(one)
    return parsed is not None and parsed == _values.parse(other)


def _numbers(spot: Spot, data: bytes) -> Iterator[State]:
    """Move numbers by more than their tolerance, one by one where a criterion says which, else all of a file."""
    document = _values.parse(data)
    pointers: dict[str, str] = {}
    for criterion in spot.reading if document is not None else ():
        pointer = criterion.reads.arguments.get("pointer", "")
        if criterion.reads.getter == "json" and criterion.compares.metric == "number" and pointer:
            value, room = _values.at(document, pointer), _values.tolerances(criterion)
            if _values.is_number(value) and room is not None and criterion.reads.arguments.get("unit") is None:
                pointers[criterion.id] = pointer
                changed = _values.put(document, pointer, _values.moved(value, room))
                if changed != document:
                    known = _one_wrong(spot, {pointer})
                    yield spot.with_bytes("beyond tolerance", f"{pointer} moved", _values.dump(changed), known)
    for one, other in combinations(sorted(set(pointers.values())), 2):
        yield from _swapped(spot, document, one, other)
    room = _values.widest(spot.reading)
    if room is not None:
        move = _values.move_in_json if document is not None else _values.move_in_table
        tabular = document is not None or any(criterion.reads.getter == "table" for criterion in spot.reading)
        changed_bytes = move(data, room) if tabular else None
        if changed_bytes is not None:
            yield spot.with_bytes("beyond tolerance", "every number moved", changed_bytes, spot.known(None))


def _entries(spot: Spot, data: bytes) -> Iterator[State]:
    """Leave out the last entry of a list or the last row of a table, or give one entry twice in its place."""
    getters = {criterion.reads.getter for criterion in spot.reading}
    if "json" in getters:
        document = _values.parse(data)
        for what, change in (
            ("the last is lost", _values.lose_entry),
            ("the first is given twice", _values.repeat_entry),
        ):
            changed = change(document)
            if changed is not None:
                yield spot.with_bytes("entry lost", what, _values.dump(changed), spot.known(None))
    elif "table" in getters:
        shorter = _values.lose_row(data)
        if shorter is not None:
            yield spot.with_bytes("entry lost", "the last row is lost", shorter, spot.known(None))


def _swapped(spot: Spot, document: Json, one: str, other: str) -> Iterator[State]:
    first, second = _values.at(document, one), _values.at(document, other)
    room = _values.widest(spot.reading)
    if room is None:
        return
    larger = max(first, second, key=abs)
    if abs(first - second) < _values.moved(larger, room) - larger:
        return  # the same answer within the tolerances
    changed = _values.put(_values.put(document, one, second), other, first)
    what = f"{one} and {other} exchanged"
    yield spot.with_bytes("answer of another criterion", what, _values.dump(changed), _one_wrong(spot, {one, other}))


def _one_wrong(spot: Spot, pointers: set[str]) -> dict[str, bool]:
    """Return what is known where the numbers at these pointers are wrong: what reads around them is unknown."""
    known: dict[str, bool] = {}
    for criterion in spot.reading:
        here = criterion.reads.arguments.get("pointer", "") if criterion.reads.getter == "json" else ""
        if here in pointers and criterion.compares.metric == "number":
            known[criterion.id] = False
        elif criterion.reads.getter == "json" and not any(_overlap(here, pointer) for pointer in pointers):
            known[criterion.id] = True
    return known


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/") or "" in (one, other)


def _exchanged(task: Task, oracle: State, idle: State) -> Iterator[State]:
    """Put the oracle's files under the screen of an agent that did nothing, and the other way round."""
    on_screen = [criterion.id for criterion in task.criteria if criterion.reads.path is None]
    in_files = [criterion.id for criterion in task.criteria if criterion.reads.path is not None]
    if set(idle.evidence) != set(oracle.evidence):
        return
    for kind, files, screen, wrong in (
        ("files without the screen", oracle, idle, on_screen),
        ("screen without the files", idle, oracle, in_files),
    ):
        if on_screen and wrong:
            evidence = {
                stage: found.model_copy(update={"final": screen.evidence[stage].final})
                for stage, found in files.evidence.items()
            }
            yield replace(
                oracle, kind=kind, name="final screen exchanged with that of nop", evidence=evidence,
                criteria=dict.fromkeys(wrong, False), solved=False, adversarial=True, data={},
            )  # fmt: skip
