"""The agent table as CSV and JSON, for spreadsheets and scripts."""

from __future__ import annotations

import csv
import io

from tasks_lib.records import FailureClass, RunSummary, dump_json

COLUMNS = (
    "agent",
    "kind",
    "group",
    "episodes",
    "passed",
    "void",
    "pending",
    "strict_rate",
    "strict_low",
    "strict_high",
    "conditional_rate",
    "score",
    "steps",
    "steps_star",
    "false_termination_rate",
    *(f"failed_{kind.name.lower()}" for kind in FailureClass),
)


def summary_csv(summary: RunSummary) -> str:
    """Return the rows of a summary as CSV: a heading, comma, line feeds, full precision; a missing figure is empty.

    Parameters
    ----------
    summary : RunSummary

    Returns
    -------
    str
    """
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in summary.rows:
        low, high = row.strict_interval or (None, None)
        failed = {f"failed_{kind.name.lower()}": row.failures.get(kind, 0) for kind in FailureClass}
        writer.writerow({**row.model_dump(mode="json"), "strict_low": low, "strict_high": high, **failed})
    return out.getvalue()


def summary_json(summary: RunSummary) -> str:
    """Return the rows of a summary and its counts as strict JSON; a missing figure is null."""
    return dump_json(
        {
            "run_id": summary.run_id,
            "benchmark": summary.benchmark,
            "written": summary.written.isoformat(),
            "counts": {"judged": summary.done, "void": summary.void, "pending": summary.pending},
            "rows": [row.model_dump(mode="json") for row in summary.rows],
        }
    )
