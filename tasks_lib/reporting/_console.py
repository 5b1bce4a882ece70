"""The agent table for a terminal, 80 columns wide and more."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from tasks_lib.records import AgentRow, RunSummary
from tasks_lib.reporting._render import number
from tasks_lib.reporting._text import scrub

_LEGEND = "strict: of all that are done; cond.: without VOID"


def console_table(summary: RunSummary, *, parts: bool = False) -> Table:
    """Return the agent table of a run; rates in per cent.

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
    table = Table(
        title=Text(scrub(f"{summary.benchmark} · {summary.run_id}")),
        caption=Text(f"{summary.done} judged, {summary.void} VOID, {summary.pending} pending\n{_LEGEND}"),
        box=SIMPLE_HEAD,
        show_edge=False,
        collapse_padding=True,
        pad_edge=False,
    )
    # The name folds where there is no room; figures never do.
    table.add_column("agent", min_width=10, overflow="fold")
    if parts:
        table.add_column("group", min_width=8, overflow="fold")
    for head in ("PASS", "VOID", "strict\n%", "95 %\ninterval", "cond.\n%", "Score\n%", "Steps", "Steps*", "FTR\n%"):
        table.add_column(head, justify="right", no_wrap=True)
    for row in summary.rows:
        if parts or row.kind == "all":
            table.add_row(*_cells(row, parts=parts), style="bold" if parts and row.kind == "all" else "")
    return table


def _cells(row: AgentRow, *, parts: bool) -> list[Text]:
    group = [Text("all" if row.kind == "all" else scrub(row.group))] if parts else []
    waiting = f" +{row.pending}" if row.pending else ""
    return [
        Text(row.agent),
        *group,
        Text(f"{row.passed}/{row.episodes}{waiting}"),
        Text(str(row.void), style="magenta" if row.void else ""),
        Text(_percent(row.strict_rate)),
        Text(_interval(row)),
        Text(_percent(row.conditional_rate)),
        Text(_percent(row.score)),
        Text(number(row.steps)),
        Text(number(row.steps_star)),
        Text(_percent(row.false_termination_rate)),
    ]


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _interval(row: AgentRow) -> str:
    if row.strict_interval is None:
        return "–"
    low, high = row.strict_interval
    return f"{100 * low:.0f}–{100 * high:.0f}"
