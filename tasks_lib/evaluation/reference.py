"""The reference of getters and metrics for task authors, made from the registries.

``python -m tasks_lib.evaluation.reference [--check]`` writes ``docs/getters-and-metrics.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tasks_lib.evaluation import describe
from tasks_lib.evaluation.units import known_units
from tasks_lib.records import dump_json

PAGE = Path(__file__).resolve().parents[2] / "docs" / "getters-and-metrics.md"
COMMAND = "python -m tasks_lib.evaluation.reference"

_INTRODUCTION = """\
# Getters and metrics

Made by `python -m tasks_lib.evaluation.reference` from the docstrings; do not edit.

A criterion of a task names a *getter*, which reads one value from what the agent left behind, and a *metric*, which
compares it:

```yaml
- id: c-c-centre
  points: 1
  reads: { getter: fityk-peaks, path: c1s.peaks, arguments: { field: center, near: 284.8 } }
  compares: { metric: number, want: 284.8, tolerance: 0.1, unit: eV }
  why: the aliphatic carbon is the charge reference
```

What is wanted stands in `want`, or in a `gold` file, which the getter of the criterion reads with the same arguments.
To read it in another way, give the metric the argument `gold_as`, such as `gold_as: { getter: json, pointer: /a }`.

A file that is missing, empty, truncated, of another format, too large or hostile fails the criterion with the reason. A
wrong name or argument is a fault of the task. A missing value (NaN, null, an empty cell) equals nothing, and a truth
value is no number. What cannot be read because of the harness, such as a screenshot that is not there or an OCR engine
that is not installed, is no failure of the agent: the episode is VOID.

Of a program with a window, read first what it saved or exported, then its window titles, and the final screen only for
what nothing else says. The functions of `tasks_lib.evaluation.detectors`, on which the getters of the screen rest, say
how often each is right. A region of the screen is compared with a reference picture, whose transparent pixels do not
count, like this:

```yaml
  reads: { getter: screen-picture, arguments: { window: 2D FFT, region: [0, 135, 180, 130] } }
  compares: { metric: region-similar, gold: output.png, arguments: { gold_as: { getter: image, what: pixels } } }
```
"""


def render() -> str:
    """Return the reference as Markdown."""
    known = describe()
    parts = [_INTRODUCTION, "## Getters\n"]
    parts += [
        _section(row, "" if row["needs_path"] else "Takes no `path`: it reads the final screen.")
        for row in known["getters"]
    ]
    parts.append("## Metrics\n")
    for row in known["metrics"]:
        takes = ["`want` or `gold`"] if row["needs_want"] else []
        takes += ["`tolerance`, `relative`, `unit`"] if row["takes_tolerance"] else []
        parts.append(_section(row, f"Takes {' and '.join(takes)}." if takes else ""))
    parts.append("## Units\n")
    parts += [f"* {kind}: {', '.join(f'`{name}`' for name in names)}" for kind, names in known_units()]
    parts.append("\nProducts, quotients and powers of these are units too, such as `eV/atom`, `g/cm^3` or `Å^-1`.")
    return "\n".join(parts) + "\n"


def _section(row: dict[str, Any], takes: str) -> str:
    lines = [f"### `{row['name']}`\n", row["summary"]]
    lines += [f"\n{row['details']}"] if row["details"] else []
    lines += [f"\n{takes}"] if takes else []
    if row["arguments"]:
        lines += ["\n| argument | type | default | meaning |", "| --- | --- | --- | --- |"]
        for argument in row["arguments"]:
            default = "required" if argument["required"] else f"`{dump_json(argument['default']).strip()}`"
            what = argument["what"].replace("``", "`").replace("|", "\\|")
            lines.append(f"| `{argument['name']}` | {argument['type']} | {default} | {what} |")
    return "\n".join(lines).replace("``", "`") + "\n"


def main(arguments: Sequence[str] | None = None, page: Path = PAGE) -> int:
    """Write the page, or with ``--check`` say whether it is out of date; returns the exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Write the reference of getters and metrics.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is out of date")
    if not parser.parse_args(arguments).check:
        page.write_text(render(), encoding="utf-8", newline="\n")
        return 0
    if page.is_file() and page.read_bytes() == render().encode():
        return 0
    sys.stderr.write(f"{page}: out of date; run `{COMMAND}` and commit the file\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
