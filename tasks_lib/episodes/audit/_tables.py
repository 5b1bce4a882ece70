"""An audit as markdown, for the documentation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tasks_lib.episodes.audit._course import Audit, Row
from tasks_lib.statistics import Agreement


def figure(value: float | None, interval: tuple[float, float] | None) -> str:
    """Return a figure with its interval: ``0.987 [0.953, 0.996]``; a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:.3f}" if interval is None else f"{value:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]"


def cells(row: Row) -> tuple[str, ...]:
    """Return a row of the table of figures: domain, level, states, TP FP FN TN, precision, recall, F1."""
    found: Agreement = row.agreement
    return (
        row.domain,
        row.level,
        str(row.states),
        str(found.true_positives),
        str(found.false_positives),
        str(found.false_negatives),
        str(found.true_negatives),
        figure(found.precision, found.precision_interval),
        figure(found.recall, found.recall_interval),
        figure(found.f1, found.f1_interval),
    )


HEAD = ("domain", "level", "states", "TP", "FP", "FN", "TN", "precision", "recall", "F1")


def kinds(audit: Audit) -> tuple[tuple[str, int, int], ...]:
    """Return kind, number of states and number of those accepted, played kinds first."""
    states: Counter[str] = Counter(state.kind for state in audit.states)
    accepted: Counter[str] = Counter(state.kind for state in audit.states if state.accepted)
    derived = {state.kind for state in audit.states if state.adversarial}
    order = sorted(states, key=lambda kind: (kind in derived, kind))
    return tuple((kind, states[kind], accepted[kind]) for kind in order)


def markdown(audit: Audit) -> str:
    """Return the figures, how many states of each kind were wrongly accepted, and each disagreement, as tables."""
    lines = [_line(HEAD), _line(["---"] * len(HEAD)), *(_line(cells(row)) for row in audit.rows), ""]
    lines += [_line(("state", "states", "wrongly accepted")), _line(["---"] * 3)]
    lines += [_line(map(str, row)) for row in kinds(audit)]
    if audit.disagreements:
        lines += ["", _line(("task", "state", "criterion", "known", "said")), _line(["---"] * 5)]
        lines += [
            _line((state.task_id, f"{state.kind}: {state.name}", found.criterion or "(task)", word(found.truth),
                   word(found.said)))
            for state, found in audit.disagreements
        ]  # fmt: skip
    whole = [
        f"{len(audit.states)} states, {len(audit.disagreements)} disagreements, "
        f"{len(audit.accepted)} adversarial states accepted, {audit.broken} decisions not made."
    ]
    return "\n".join([*lines, "", *whole]) + "\n"


def word(value: bool | None) -> str:
    """Return what is known or said in words; a dash where nothing is."""
    return {True: "met", False: "not met", None: "–"}[value]


def _line(values: Iterable[str]) -> str:
    return f"| {' | '.join(value.replace('|', '/') for value in values)} |"
