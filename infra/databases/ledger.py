"""The ledger of numbers: which entry has which number, for good, so that ids outlive a new build."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tasks_lib.databases.identifiers import FIRST_NUMBER

FILE = Path(__file__).with_name("numbers.json")


def numbers(keys: Iterable[str], file: Path = FILE) -> dict[str, int]:
    """Return each key's number; new keys get the next ones, in the order of `keys`, and are written down.

    Parameters
    ----------
    keys : iterable of str
        Keys of starting structures.
    file : Path
        The ledger; made where it is absent. A key is never taken out, so no number is given twice.
    """
    known: dict[str, int] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    highest = max(known.values(), default=FIRST_NUMBER)
    wanted = list(keys)
    fresh = [key for key in wanted if key not in known]
    known |= {key: number for number, key in enumerate(fresh, highest + 1)}
    if fresh:
        text = json.dumps(dict(sorted(known.items(), key=lambda item: item[1])), indent=0, ensure_ascii=False) + "\n"
        file.write_text(text, encoding="utf-8", newline="\n")
    return {key: known[key] for key in wanted}
