"""The gold of the database tasks: the committed files are what the snapshot says, and say which snapshot that is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pymatgen.core import Lattice, Structure

from infra.golds import GOLDS, Gold, database, gold
from infra.golds.__main__ import ROOT, everything, main
from tasks_lib.databases import Snapshot, load
from tasks_lib.taskdefs import load_all

DOMAINS = ("mp", "oqmd", "optimade")


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return load()


def test_the_committed_gold_is_what_the_snapshot_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out


def test_every_task_that_asks_a_database_has_gold_from_the_snapshot() -> None:
    tasks = [loaded for loaded in load_all(ROOT.parent).tasks if loaded.task.stages[0].endpoints]
    made = {path.split("/gold/")[0] for path in everything()}
    assert {f"{loaded.task.domain}/{loaded.id}" for loaded in tasks} == made


def test_gold_names_its_database(snapshot: Snapshot) -> None:
    documents = [json.loads(data) for path, data in everything(("mp",)).items() if path.endswith(".json")]
    assert documents
    for document in documents:
        assert document["database"] == database(snapshot)
        assert document["database"]["digest"] == snapshot.digest
        assert document["how"]


def test_an_answer_may_be_values_a_structure_or_several_files(snapshot: Snapshot) -> None:
    salt = Structure.from_spacegroup("Fm-3m", Lattice.cubic(5.64), ["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]])
    assert list(Gold("d/t", "h", lambda _: [1, 2]).files(snapshot)) == ["answer.json"]
    assert list(Gold("d/t", "h", lambda _: {"density": 1.0}).files(snapshot)) == ["answer.json"]
    files = Gold("d/t", "h", lambda _: {"cell.vasp": salt, "answer.json": 3}).files(snapshot)
    assert list(files) == ["answer.json", "cell.vasp"]
    assert Gold("d/t", "h", lambda _: salt).files(snapshot)["answer.vasp"].startswith(b"d/t: h\n")


def test_a_task_has_one_gold() -> None:
    everything()
    name = next(iter(GOLDS))
    with pytest.raises(ValueError, match="is computed by"):
        gold(name, how="twice")(lambda _: None)


def test_a_gold_that_was_changed_by_hand_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("infra.golds.__main__.ROOT", tmp_path)
    assert main(["oqmd"]) == 0
    assert main(["--check", "oqmd"]) == 0
    victim = min(tmp_path.rglob("answer.json"))
    victim.write_text(victim.read_text(encoding="utf-8").replace("1", "2", 1), encoding="utf-8", newline="\n")
    capsys.readouterr()
    assert main(["--check", "oqmd"]) == 1
    assert f"{victim.relative_to(tmp_path)}: differs" in capsys.readouterr().out
