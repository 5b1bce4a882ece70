"""Results of the potential, one JSON file each in a folder outside the repository: a second build computes nothing."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

Tree = dict[str, Any]


def default_folder() -> Path:
    """Return the user's cache folder for builds."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "matassay" / "databases"


class Cache:
    """Answers kept under the digest of their questions.

    Parameters
    ----------
    folder : Path
        Made where it is absent.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, question: Tree, compute: Callable[[], Tree]) -> Tree:
        """Return the kept answer to a question, or compute, keep and return it.

        Parameters
        ----------
        question : dict
            Everything that the answer depends on: structure, settings, versions.
        compute : callable
            Gives the answer; called only where none is kept.
        """
        text = json.dumps(question, sort_keys=True, allow_nan=False)
        path = self.folder / f"{hashlib.sha256(text.encode()).hexdigest()}.json"
        if path.is_file():
            found: Tree = json.loads(path.read_text(encoding="utf-8"))["answer"]
            return found
        answer = compute()
        record = json.dumps({"question": question, "answer": answer}, sort_keys=True, allow_nan=False)
        draft = path.with_suffix(".draft")
        draft.write_text(record, encoding="utf-8", newline="\n")
        draft.replace(path)
        return answer
