"""The agent that guesses: any brief gets a script that writes every deliverable."""

from __future__ import annotations

import ast
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks_lib.agents import Brief, GuessAgent, View, parse_reply
from tasks_lib.agents.guess.agent import content
from tasks_lib.agents.guess.shapes import columns, how_many, json_shape, json_shapes, keys
from tasks_lib.agents.guess.structures import cif, poscar
from tasks_lib.agents.guess.textbook import MATERIALS, atoms, formulas, material
from tasks_lib.agents.guess.values import Knowledge, fill
from tasks_lib.evaluation.readers.structures import read_structure
from tasks_lib.evaluation.readers.tables import read_table
from tasks_lib.records import Decision, Modality
from tasks_lib.records.identifiers import check_relative_path


def brief(instruction: str, **deliverables: str) -> Brief:
    return Brief(Modality.CODE, instruction, deliverables=tuple(deliverables.items()))


def ask(given_brief: Brief, step: int = 1, seed: int = 0) -> str:
    return GuessAgent(seed).reply(View(brief=given_brief, step=step, steps_left=9, seconds_left=60.0)).text


def write_all(given_brief: Brief, folder: Path) -> None:
    """Run the script in a bare interpreter, without any package."""
    script = parse_reply(ask(given_brief), Modality.CODE).script
    assert script is not None
    subprocess.run([sys.executable, "-I", "-S", "-c", script.text], cwd=folder, check=True, timeout=60)


def files_of(script: str) -> dict[str, str]:
    """Read path -> text from the script's one table, which its one loop writes."""
    loop = ast.parse(script).body[-1]
    assert isinstance(loop, ast.For)
    assert isinstance(loop.iter, ast.Call)
    assert isinstance(loop.iter.func, ast.Attribute)
    found: dict[str, str] = ast.literal_eval(loop.iter.func.value)
    return found


def is_path(text: str) -> bool:
    try:
        return bool(check_relative_path(text))
    except ValueError:
        return False


NAME = st.text("abcXYZ 019_'\"`é{}", min_size=1, max_size=12).map(lambda name: f"f{name.strip()}")
SUFFIX = st.sampled_from([".json", ".csv", ".cif", ".vasp", ".txt", "", ".tsv", ".png"])
PATHS = st.lists(st.builds(lambda n, s: n + s, NAME, SUFFIX).filter(is_path), min_size=1, max_size=4, unique=True)
WORDS = st.lists(
    st.sampled_from(
        ["{", "}", "[", "]", '"gap_ev"', ":", "number", ",", "…", "Columns:", "a, b and c", "keys", "Si", "TiO2",
         "five", "list of", "objects", "whole numbers",
         "mp-149", "```", "```python", "```decision\nFAIL\n```", "band gap", ".",
         "\n", "number of atoms", "\\", "'''"]
    ),
    max_size=40,
).map(" ".join)  # fmt: skip


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(instruction=WORDS | st.text(max_size=300), paths=PATHS, what=st.text(max_size=40), seed=st.integers(0, 9))
def test_any_brief_gets_a_script_that_writes_every_deliverable(
    instruction: str, paths: list[str], what: str, seed: int
) -> None:
    given_brief = Brief(Modality.CODE, instruction, deliverables=tuple((path, what) for path in paths))
    reply = ask(given_brief, seed=seed)
    assert reply == ask(given_brief, seed=seed)
    parsed = parse_reply(reply, Modality.CODE)
    assert not parsed.problems
    assert not parsed.notes
    assert parsed.script is not None
    written = files_of(parsed.script.text)
    assert set(written) == set(paths)
    assert all(written.values())


def test_the_script_runs_without_any_package(tmp_path: Path) -> None:
    given_brief = brief(
        'Write gap.json as {"band_gap_ev": number, "ids": ["mp-…"]}, and the table out/t.csv. Columns: id, density.',
        **{"gap.json": "the gap of silicon", "out/t.csv": "any five", "Si.cif": "silicon", "POSCAR": "silicon"},
    )
    write_all(given_brief, tmp_path)
    assert json.loads((tmp_path / "gap.json").read_text())["band_gap_ev"] == 1.12
    assert read_table((tmp_path / "out/t.csv").read_bytes())["columns"] == ["id", "density"]
    for name, form in (("Si.cif", "cif"), ("POSCAR", "poscar")):
        assert read_structure((tmp_path / name).read_bytes(), form)["reduced-formula"] == "Si"


def test_says_done_after_the_script_and_where_it_has_none() -> None:
    known = brief("Write a.txt please, thank you.", **{"a.txt": "x"})
    for reply in (ask(known, 2), ask(known, 7), ask(brief("Nothing is to be left behind."))):
        assert parse_reply(reply, Modality.CODE).decision is Decision.DONE
    for modality in (Modality.GUI, Modality.FIGURE):
        done = ask(Brief(modality, "Draw.", deliverables=(("a.vsz", "x"),)))
        assert parse_reply(done, modality).decision is Decision.DONE


def test_many_and_long_deliverables_stay_one_script() -> None:
    many = {f"d{number}.json": "x" for number in range(150)}
    parsed = parse_reply(ask(brief("List " + '{"a": [{"gap": number}]} ' * 5 + "for any 50.", **many)), Modality.CODE)
    assert parsed.script is not None
    assert all(name in parsed.script.text for name in many)


@pytest.mark.parametrize(
    ("instruction", "wanted"),
    [
        ('Give {"band_gap_ev": number, "id": "mp-..."} of GaAs.', {"band_gap_ev": 1.42, "id": "mp-2534"}),
        ('Give {"a": number (Å), "stable": true or false} of MgO.', {"a": 4.212, "stable": True}),
        ('Write {"GaAs": number, "InP": number}, band gaps in eV.', {"GaAs": 1.0, "InP": 1.0}),
        ('Write {"density": number, "space_group": integer} of rutile.', {"density": 4.23, "space_group": 136}),
        ('Write {"k_vrh": number, "g_vrh": number} of Si', {"k_vrh": 98.0, "g_vrh": 58.8}),
        ('For LiF: {"crystal_system": text, "symbol": text}', {"crystal_system": "cubic", "symbol": "Fm-3m"}),
        ("with the keys formation_energy and volume_per_atom, of NaCl", {"formation_energy": -2.13}),
    ],
)
def test_textbook_answers(instruction: str, wanted: dict[str, Any]) -> None:
    answer = json.loads(content(brief(instruction), "a.json", "the answer", 0))
    for key, value in wanted.items():
        if instruction.startswith('Write {"GaAs'):
            assert isinstance(answer[key], float)
        else:
            assert answer[key] == value, key


def test_lists_are_as_long_as_asked_for_and_without_repeats() -> None:
    answer = json.loads(content(brief('Name any five: {"ids": ["mp-…", …]}'), "a.json", "ids", 0))
    assert len(answer["ids"]) == len(set(answer["ids"])) == 5
    rows = json.loads(content(brief('[{"formula": text, "gap": number}, …] for the first 4'), "a.json", "rows", 0))
    assert [row["formula"] for row in rows] == ["Si", "Ge", "C", "Sn"]


def test_shapes_that_instructions_tell() -> None:
    assert json_shape('a.json, a list of objects {"id": text, "gap": number}', "a.json") == [
        {"id": "text", "gap": "number"}
    ]
    told = 'Write a.json, a list of 2 objects with two keys:\n"entry_id", a whole number; "gap" in eV.'
    assert json_shape(told, "a.json") == [{"entry_id": "a whole number", "gap": "in eV"}]
    assert json.loads(content(brief(told), "a.json", "x", 0))[1]["entry_id"] == 32
    assert json_shape('two keys: "ids", the list of their ids, and "cost", in meV.', "a") == {
        "ids": ["the list of their ids, and"], "cost": "in meV"
    }  # fmt: skip
    ids = json.loads(content(brief("Write a.json, a list of the entry ids as whole numbers."), "a.json", "x", 0))
    assert ids == [149, 32, 66]
    assert json_shape("Write a.json.", "a.json") is None
    two = 'Write a.json as {"a": number}. ' + "Then wait. " * 20 + 'Write b.json as {"b": number}.'
    assert [json_shape(two, path) for path in ("a.json", "b.json")] == [{"a": "number"}, {"b": "number"}]


def test_shapes_that_instructions_show() -> None:
    assert json_shapes('as {"volume": number}, and [1] of (0, 1]') == [(3, {"volume": "number"})]
    assert json_shapes('{"a": {"b": [number, number]}, "c": "text"}')[0][1] == {"a": {"b": ["number"] * 2}, "c": "text"}
    assert json_shapes("{a: number in eV, b: [..]}")[0][1] == {"a": "number in eV", "b": []}
    assert columns("Columns: atom (its number, from 1), bonds (how many), mean.", "a") == ["atom", "bonds", "mean"]
    assert columns("into s.csv with the columns h,k,l,d_angstrom.", "s.csv") == ["h", "k", "l", "d_angstrom"]
    assert keys("a file with the keys gap_ev and formula.") == ["gap_ev", "formula"]
    assert [how_many(text) for text in ("any five", "exactly 12 of", "the first 99 of", "some")] == [5, 12, 50, 3]


@given(st.text('{}[]:," …abc\n', max_size=120))
def test_any_text_has_shapes_or_none(text: str) -> None:
    for _, shape in [*json_shapes(text), (0, json_shape(text, "a") or "x")]:
        json.dumps(fill(shape, Knowledge(text, random.Random(0))))  # noqa: S311 - no secret


def test_formulas_in_prose() -> None:
    assert formulas("Take GaAs and SrTiO3 from the CIF; write POSCAR. In silicon, No.") == ["GaAs", "SrTiO3", "Si"]
    assert formulas("Li-Fe-O phases in NaCl.cif") == ["Li", "Fe", "O"]
    assert material("O2Ti").formula == "TiO2"
    assert material("ScN").prototype == "rocksalt"


@pytest.mark.parametrize("formula", [*MATERIALS, "ScN", "Y3Al5O12", "Xe"])
def test_every_structure_can_be_read(formula: str) -> None:
    for text, form in ((cif(material(formula)), "cif"), (poscar(material(formula)), "poscar")):
        found = read_structure(text.encode(), form)
        assert atoms(str(found["reduced-formula"])) == atoms(formula)
