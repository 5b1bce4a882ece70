"""The builder's books: kept results, lasting numbers, values of the literature."""

from __future__ import annotations

import json

import pytest

from infra.databases.cache import Cache
from infra.databases.ledger import numbers
from infra.databases.literature import FILE, Candidate, literature
from tasks_lib.databases import Provenance
from tasks_lib.databases.identifiers import FIRST_NUMBER


def test_a_question_is_computed_once(tmp_path):
    asked = []

    def answer():
        asked.append(1)
        return {"energy": -5.4}

    cache = Cache(tmp_path / "kept")
    assert cache.get({"a": 1, "b": 2}, answer) == {"energy": -5.4}
    assert Cache(tmp_path / "kept").get({"b": 2, "a": 1}, answer) == {"energy": -5.4}
    assert len(asked) == 1
    cache.get({"a": 1, "b": 3}, answer)
    assert len(asked) == 2


def test_a_failed_computation_is_not_kept(tmp_path):
    cache = Cache(tmp_path)
    with pytest.raises(ZeroDivisionError):
        cache.get({"a": 1}, lambda: {"x": 1 / 0})
    assert cache.get({"a": 1}, lambda: {"x": 2}) == {"x": 2}
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]


def test_numbers_last_and_new_ones_follow(tmp_path):
    file = tmp_path / "numbers.json"
    first = numbers(["b", "a"], file)
    assert first == {"b": FIRST_NUMBER + 1, "a": FIRST_NUMBER + 2}
    assert numbers(["c", "a"], file) == {"c": FIRST_NUMBER + 3, "a": FIRST_NUMBER + 2}
    before = file.read_bytes()
    assert numbers(["b"], file) == {"b": FIRST_NUMBER + 1}
    assert file.read_bytes() == before


def test_the_ledger_gives_no_number_twice():
    ledger = json.loads(FILE.with_name("numbers.json").read_text(encoding="utf-8"))
    assert len(set(ledger.values())) == len(ledger)


CANDIDATES = [
    Candidate("high", "TiO2", 136, -8.0),
    Candidate("low", "TiO2", 136, -9.0),
    Candidate("other", "TiO2", 141, -9.5),
]


def written(tmp_path, text):
    file = tmp_path / "literature.yaml"
    file.write_text(text, encoding="utf-8")
    return file


GROUP = "- {{property: {name}, source: 'A book (1999)', method: optical, values: [{values}]}}\n"


def test_a_value_goes_to_the_lowest_entry_of_its_space_group(tmp_path):
    file = written(tmp_path, GROUP.format(name="band_gap", values="[O2Ti, 136, 3]"))
    found = literature(CANDIDATES, file)
    assert set(found) == {"low"}
    gap = found["low"]["band_gap"]
    assert (gap.value, gap.unit, gap.provenance) == (3.0, "eV", Provenance.LITERATURE)
    assert gap.source == "A book (1999)"
    assert isinstance(gap.value, float)


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("band_gap", "[ZrO2, 136, 3.0]", "no such entry"),
        ("band_gap", "[TiO2, 62, 3.0]", "no such entry"),
        ("colour", "[TiO2, 136, 3.0]", "no such property"),
        ("band_gap", "[TiO2, 136, 3.0], [TiO2, 136, 3.1]", "given twice"),
    ],
)
def test_a_value_that_belongs_nowhere_is_refused(tmp_path, name, values, why):
    with pytest.raises(ValueError, match=why):
        literature(CANDIDATES, written(tmp_path, GROUP.format(name=name, values=values)))
