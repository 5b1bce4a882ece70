"""Contents of text files: UTF-8, line feeds, a line feed at the end."""

from __future__ import annotations

import json
from collections.abc import Iterable


def text_file(rows: Iterable[str]) -> bytes:
    """Return a file of these lines, as bytes."""
    return ("\n".join(rows) + "\n").encode("utf-8")


def json_file(value: object) -> bytes:
    """Return a JSON file, as bytes, with an indent of two; keys keep their order."""
    return (json.dumps(value, indent=2) + "\n").encode("utf-8")
