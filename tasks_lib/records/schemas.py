"""JSON Schemas of the documents, for readers in other languages: ``python -m tasks_lib.records.schemas [--check]``."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tasks_lib.records import DOCUMENTS, Document, dump_json

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "schemas"
COMMAND = "python -m tasks_lib.records.schemas"


def schema_name(model: type[Document]) -> str:
    """Return the file name of a document's schema, such as ``run-manifest.schema.json``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", model.__name__).lower() + ".schema.json"


def schema_text(model: type[Document]) -> str:
    """Return a document's schema (draft 2020-12) as it stands in its file: what a reader accepts."""
    return dump_json({"$schema": "https://json-schema.org/draft/2020-12/schema", **model.model_json_schema()})


def write_schemas(folder: Path = FOLDER) -> list[str]:
    """Write the schemas that differ, remove those of documents that are gone, and return the names of both."""
    changed = drifted_schemas(folder)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {schema_name(model): schema_text(model) for model in DOCUMENTS}
    for name in changed:
        if name in texts:
            (folder / name).write_text(texts[name], encoding="utf-8", newline="\n")
        else:
            (folder / name).unlink()
    return changed


def drifted_schemas(folder: Path = FOLDER) -> list[str]:
    """Return the names of schema files that are missing, that differ from the models or that have no model, sorted."""
    wanted = {schema_name(model): schema_text(model).encode() for model in DOCUMENTS}
    found = {path.name: path.read_bytes() for path in folder.glob("*.schema.json")}
    return sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER) -> int:
    """Write the schemas, or with ``--check`` say which drifted; returns the exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Write the JSON Schemas of the documents.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is out of date")
    if parser.parse_args(arguments).check:
        drifted = drifted_schemas(folder)
        if drifted:
            sys.stderr.write(f"{folder}: out of date: {', '.join(drifted)}; run `{COMMAND}` and commit the files\n")
        return 1 if drifted else 0
    for name in write_schemas(folder):
        sys.stdout.write(f"{name}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
