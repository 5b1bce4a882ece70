"""A study on disk and on paper: rows that a cut study goes on from, a table in Markdown, a plot."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from tasks_lib.instruments.tuning.study import THRESHOLD, StudyCase, StudyRow, StudySummary
from tasks_lib.records.errors import ConfigurationError

_OBJECTIVES = {"ssim": "SSIM", "tracking": "tracking"}


def read_rows(path: Path) -> dict[StudyCase, StudyRow]:
    """Read the rows of a study; the torn last line of a killed one is cut off the file.

    Raises
    ------
    ConfigurationError
        If a whole line is no row; the message names file and line.
    """
    if not path.exists():
        return {}
    data = path.read_bytes()
    whole, newline, torn = data.rpartition(b"\n")
    if torn:
        path.write_bytes(whole + newline)
    rows: dict[StudyCase, StudyRow] = {}
    for number, line in enumerate(whole.split(b"\n") if whole else (), start=1):
        try:
            row = StudyRow.model_validate_json(line)
        except ValidationError as error:
            msg = f"{path}:{number} is no row of a study: {error.errors()[0]['msg']}; mend it or take another file"
            raise ConfigurationError(msg) from error
        rows[row.case] = row
    return rows


def append_row(path: Path, row: StudyRow) -> None:
    """Add a row to the file of a study."""
    with path.open("a", encoding="utf-8", newline="\n") as file:
        file.write(row.model_dump_json() + "\n")


def study_table(summaries: Sequence[StudySummary]) -> str:
    """Return the summaries as a table in Markdown, scene by scene, the best strategy of a scene first."""
    head = (
        "scene", "strategy", "objective", f"reached {THRESHOLD:g} (95 %)", "stable picks", "scans", "first hit",
        "SSIM, fresh", "error / setpoint",
    )  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for one in sorted(summaries, key=_order):
        low, high = (round(100 * end) for end in one.interval)
        cells = (
            one.scene,
            one.strategy,
            _OBJECTIVES[one.objective],
            f"{one.reached}/{one.searches} ({low}–{high})",
            f"{one.stable}/{one.searches}",
            f"{one.mean_scans:.0f}",
            _number(one.median_first_hit, ".0f"),
            _number(one.mean_fresh_ssim, ".3f"),
            _number(one.mean_fresh_error, ".3f"),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def study_plot(summaries: Sequence[StudySummary]) -> bytes:
    """Return success rate with its interval and the share of stable picks, one panel a scene, as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    scenes = list(dict.fromkeys(one.scene for one in sorted(summaries, key=_order)))
    names = sorted({_name(one) for one in summaries}, reverse=True)
    place = {name: at for at, name in enumerate(names)}
    figure = Figure(figsize=(1.6 + 2.1 * len(scenes), 1.6 + 0.26 * len(names)), dpi=90, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(scenes), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, scenes, strict=True):
        found = [one for one in summaries if one.scene == name]
        at = [place[_name(one)] for one in found]
        rate = [100 * one.reached / one.searches for one in found]
        ends = [
            [share - 100 * one.interval[0] for one, share in zip(found, rate, strict=True)],
            [100 * one.interval[1] - share for one, share in zip(found, rate, strict=True)],
        ]
        axes.errorbar(rate, at, xerr=_positive(ends), fmt="o", ms=5, color="#0072B2", capsize=2, label="reached")
        stable = [100 * one.stable / one.searches for one in found]
        axes.plot(stable, at, "d", ms=6, mfc="none", color="#D55E00", label="stable picks")
        fewest, most = min(one.searches for one in found), max(one.searches for one in found)
        axes.set_title(f"{name} (n = {most if fewest == most else f'{fewest} to {most}'})", fontsize=9)
        axes.set_xlim(-5, 105)
        axes.set_xlabel("%")
        axes.grid(axis="x", color="#dddddd")
    panels[0].set_yticks(range(len(names)), names, fontsize=8)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, fontsize=8)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _positive(ends: list[list[float]]) -> list[list[float]]:
    """Wilson's bound of 0 of n is 0 but for rounding."""
    return [[max(0.0, one) for one in side] for side in ends]


def _order(one: StudySummary) -> tuple[object, ...]:
    return (one.scene == "all", one.scene, -one.reached / one.searches, one.mean_scans, one.strategy, one.objective)


def _name(one: StudySummary) -> str:
    return f"{one.strategy}, {_OBJECTIVES[one.objective]}"


def _number(value: float | None, shape: str) -> str:
    return "-" if value is None else format(value, shape)


def rows_of(known: dict[StudyCase, StudyRow], wanted: Iterable[StudyCase]) -> list[StudyRow]:
    """Return the rows of the cases that are known, in the order of the cases."""
    return [known[case] for case in wanted if case in known]
