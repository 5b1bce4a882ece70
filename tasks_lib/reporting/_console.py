"""The agent table for a terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from tasks_lib.records import AgentRow, RunSummary
from tasks_lib.reporting._render import number, percent
from tasks_lib.reporting._text import scrub


def console_table(summary: RunSummary, *, parts: bool = False) -> Table:
    """Return the agent table of a run.

    Parameters
    ----------
    summary : RunSummary
    parts : bool, optional
        Also a row for every modality and domain.

    Returns
    -------
    rich.table.Table
        Strict rate with its interval, conditional rate and number of VOIDs always stand together.
    """
    counts = f"{summary.done} judged, {summary.void} VOID, {summary.pending} pending"
    table = Table(title=Text(scrub(f"{summary.benchmark} · {summary.run_id}")), caption=Text(counts))
    table.add_column("agent")
    if parts:
        table.add_column("group")
    for name in ("episodes", "PASS", "VOID", "strict"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("95 % interval", no_wrap=True)
    for name in ("conditional", "Score", "Steps", "Steps*", "FTR"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in summary.rows:
        if parts or row.kind == "all":
            table.add_row(*_cells(row, parts=parts), style="bold" if parts and row.kind == "all" else "")
    return table


def _cells(row: AgentRow, *, parts: bool) -> list[Text]:
    group = [Text("all" if row.kind == "all" else f"{row.kind} {scrub(row.group)}")] if parts else []
    waiting = f" (+{row.pending})" if row.pending else ""
    return [
        Text(row.agent),
        *group,
        Text(f"{row.episodes}{waiting}"),
        Text(str(row.passed)),
        Text(str(row.void), style="magenta" if row.void else ""),
        Text(percent(row.strict_rate)),
        Text(_interval(row)),
        Text(percent(row.conditional_rate)),
        Text(percent(row.score)),
        Text(number(row.steps)),
        Text(number(row.steps_star)),
        Text(percent(row.false_termination_rate)),
    ]


def _interval(row: AgentRow) -> str:
    if row.strict_interval is None:
        return "–"
    low, high = row.strict_interval
    return f"{100 * low:.0f}–{100 * high:.0f} %"
