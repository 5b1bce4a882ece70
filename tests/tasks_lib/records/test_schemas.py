"""The JSON Schemas in docs/schemas: up to date, good schemas, true of real documents, and with units."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tasks_lib.records import DOCUMENTS, Evidence, Lease, RunManifest, Step, load_json
from tasks_lib.records.schemas import FOLDER, drifted_schemas, main, schema_name, schema_text, write_schemas

ALL = pytest.mark.parametrize("model", DOCUMENTS, ids=lambda model: model.__name__)
ROOT = Path(__file__).resolve().parents[3]


def test_the_schemas_in_the_repository_are_up_to_date():
    assert drifted_schemas() == [], "run `python -m tasks_lib.records.schemas` and commit the files"
    assert ROOT / "docs" / "schemas" == FOLDER


def test_names():
    assert [schema_name(model) for model in (Evidence, RunManifest, Step)] == [
        "evidence.schema.json",
        "run-manifest.schema.json",
        "step.schema.json",
    ]
    assert len({schema_name(model) for model in DOCUMENTS}) == len(DOCUMENTS)


@ALL
def test_every_schema_is_a_good_one_and_closed(model):
    schema = load_json(schema_text(model))
    Draft202012Validator.check_schema(schema)
    objects = [schema, *schema.get("$defs", {}).values()]
    assert all(part.get("additionalProperties") is False for part in objects if part.get("type") == "object")


@ALL
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_every_document_keeps_to_its_schema(documents, model, data):
    validator = Draft202012Validator(load_json(schema_text(model)))
    tree = load_json(data.draw(documents(model)).to_json())
    assert [error.message for error in validator.iter_errors(tree)] == []
    assert not validator.is_valid(tree | {"colour": "red"})


# A quantity with a unit says it: after a comma or alone, as in "wall clock of the act phase, s".
UNITS = ("s", "s since boot", "pixels", "bytes", "MiB", "US dollars", "in `unit`", "in [0", "size of the picture")
LENGTHS = {"x", "y", "width", "height", "size"}


def says_a_unit(description: str) -> bool:
    parts = {part.strip() for chunk in description.split(";") for part in (*chunk.split(", "), chunk.split(",")[-1])}
    # Ratios and counts that were averaged have no unit, but say what they are made of.
    ratio = " / " in description or "fraction" in description or description.startswith("mean ") or "%" in description
    return ratio or bool(parts & set(UNITS))


def quantities(schema: dict) -> list[tuple[str, str]]:
    """Return name and description of every field that holds a number with a unit.

    These are all numbers that are not counts: fractional ones, and whole ones named like a length, or after a unit.
    """
    found = []
    for part in [schema, *schema.get("$defs", {}).values()]:
        for name, field in part.get("properties", {}).items():
            kinds = {option.get("type") for option in (field, *field.get("anyOf", ()))}
            whole = "integer" in kinds and (name in LENGTHS or name.endswith(("_mb", "_bytes", "_seconds", "_px")))
            if "number" in kinds or whole:
                found.append((f"{part['title']}.{name}", field.get("description", "")))
    return found


@ALL
def test_every_quantity_says_its_unit(model):
    silent = [name for name, said in quantities(load_json(schema_text(model))) if not says_a_unit(said)]
    assert silent == [], "give the field a description that ends in its unit"


def test_the_rule_of_units_can_tell():
    assert says_a_unit("wall clock, s")
    assert says_a_unit("s")
    assert not says_a_unit("wall clock")
    assert not says_a_unit("how many times")
    assert not says_a_unit("")
    assert ("Lease.machine_start", "start time of that process, s since boot") in quantities(
        load_json(schema_text(Lease))
    )


@pytest.fixture
def folder(tmp_path):
    assert sorted(write_schemas(tmp_path)) == sorted(schema_name(model) for model in DOCUMENTS)
    assert write_schemas(tmp_path) == []
    return tmp_path


def test_drift_is_named_with_the_command_that_mends_it(folder, capsys):
    assert main(["--check"], folder) == 0
    (folder / "step.schema.json").write_text("{}", encoding="utf-8")
    (folder / "task.schema.json").unlink()
    (folder / "gone.schema.json").write_text("{}", encoding="utf-8")
    assert main(["--check"], folder) == 1
    said = capsys.readouterr().err
    assert "gone.schema.json, step.schema.json, task.schema.json" in said
    assert "run `python -m tasks_lib.records.schemas`" in said
    assert not (folder / "task.schema.json").exists(), "a check writes nothing"
    assert main([], folder) == 0
    assert capsys.readouterr().out.split() == ["gone.schema.json", "step.schema.json", "task.schema.json"]
    assert main(["--check"], folder) == 0
    assert not (folder / "gone.schema.json").exists()


def test_line_ends_count(folder):
    path = folder / "step.schema.json"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert drifted_schemas(folder) == ["step.schema.json"]


def test_the_command_runs():
    done = subprocess.run(
        [sys.executable, "-m", "tasks_lib.records.schemas", "--check"],
        cwd=ROOT, capture_output=True, text=True, encoding="utf-8", env=os.environ | {"PYTHONWARNINGS": "error"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
