"""Two snapshots side by side: each way of moving is told as what it is, and nothing else is told."""

from __future__ import annotations

import pytest

from tasks_lib.databases import Entry, Snapshot
from tasks_lib.databases.alteration import altered
from tasks_lib.databases.comparison import Comparison, compare


def _one(snapshot: Snapshot, formula: str) -> Entry:
    return next(entry for entry in snapshot if entry.formula == formula)


def _empty(found: Comparison, *but: str) -> bool:
    parts = ("gone", "new", "renumbered", "hulls", "symmetry", "values")
    return not any(getattr(found, name) for name in parts if name not in but)


def test_a_snapshot_is_the_same_as_itself(small_snapshot: Snapshot) -> None:
    found = compare(small_snapshot, small_snapshot, scale=0)
    assert found.same
    assert _empty(found)
    assert found.before.digest == small_snapshot.digest


def test_entries_gone_and_new(small_snapshot: Snapshot) -> None:
    entry = _one(small_snapshot, "MgTiO3")
    fewer = altered(small_snapshot, name="fewer", gone=[entry.number])
    gone, new = compare(small_snapshot, fewer), compare(fewer, small_snapshot)
    assert [one.entry for one in gone.gone] == [one.entry for one in new.new] == [entry.id]
    assert not gone.same
    assert _empty(gone, "gone", "hulls")


def test_an_id_given_anew_is_no_entry_gone(small_snapshot: Snapshot) -> None:
    entry = _one(small_snapshot, "NaCl")
    moved = altered(small_snapshot, name="moved", renumbered={entry.number: 9_000_777})
    found = compare(small_snapshot, moved)
    assert [(one.before, one.after) for one in found.renumbered] == [(entry.id, "matassay-9000777")]
    assert (found.gone, found.new) == ((), ())


def test_a_lowered_energy_moves_the_hull(small_snapshot: Snapshot) -> None:
    unstable = next(entry for entry in small_snapshot if not entry.value("is_stable"))
    moved = altered(small_snapshot, name="moved", energies={unstable.number: -1.0})
    found = compare(small_snapshot, moved)
    assert _empty(found, "hulls", "values")
    assert any((one.entry, one.name, bool(one.after)) == (unstable.id, "is_stable", True) for one in found.hulls)
    assert {one.name for one in found.values} == {"energy_per_atom", "formation_energy_per_atom"}


def test_space_groups_stand_apart_from_values(small_snapshot: Snapshot) -> None:
    entry = _one(small_snapshot, "MgO")
    changed = altered(small_snapshot, name="x", values={entry.number: {"space_group_number": 221, "band_gap": None}})
    found = compare(small_snapshot, changed)
    assert [(one.name, one.before, one.after) for one in found.symmetry] == [("space_group_number", 225, 221)]
    assert [(one.name, one.after) for one in found.values] == [("band_gap", None)]
    assert str(found.values[0]) == f"{entry.id} (MgO): band_gap was 7.8, is missing"


@pytest.mark.parametrize(("shift", "scale", "counts"), [(5e-4, 1, False), (5e-4, 0, True), (5e-3, 1, True),
                                                         (5e-3, 10, False)])  # fmt: skip
def test_values_count_beyond_their_tolerance(
    small_snapshot: Snapshot, shift: float, scale: float, counts: bool
) -> None:
    entry = _one(small_snapshot, "FeO")
    moved = altered(small_snapshot, name="x", energies={entry.number: shift})
    found = compare(small_snapshot, moved, scale=scale)
    assert any(one.name == "energy_per_atom" for one in found.values) == counts


def test_a_stretched_cell_is_a_change_of_the_structure(small_snapshot: Snapshot) -> None:
    entry = _one(small_snapshot, "MgO")
    stretched = tuple(tuple(1.01 * x for x in row) for row in entry.structure.lattice)
    structure = entry.structure.model_copy(update={"lattice": stretched})
    others = [one for one in small_snapshot if one.number != entry.number]
    moved = Snapshot(small_snapshot.header, [*others, entry.model_copy(update={"structure": structure})])
    assert [one.name for one in compare(small_snapshot, moved).values] == ["structure"]


def test_it_travels_as_json(small_snapshot: Snapshot) -> None:
    moved = altered(small_snapshot, name="x", gone=[_one(small_snapshot, "MgTiO3").number])
    found = compare(small_snapshot, moved)
    assert Comparison.model_validate_json(found.model_dump_json()) == found
