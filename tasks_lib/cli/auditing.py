"""`matassay evaluator-audit`: what the evaluators say of end states whose truth is known."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from tasks_lib.cli.console import Exit, explained, out, print_json, say
from tasks_lib.cli.options import (
    DomainOption,
    JsonOption,
    StoreOption,
    TaskdefsOption,
    TaskOption,
    open_store,
    select,
    taskdefs_root,
)
from tasks_lib.cli.results import RunArgument
from tasks_lib.cli.settings import load_settings
from tasks_lib.episodes.audit import HEAD, Audit, Decision, Row, audit_run, cells, kinds, markdown, word
from tasks_lib.reporting import scrub
from tasks_lib.statistics import Agreement

# Of the evaluator's reason in the list of disagreements; --json has it whole.
_LONGEST_WHY = 240


def evaluator_audit(
    run_id: RunArgument,
    store: StoreOption = None,
    domain: DomainOption = None,
    task: TaskOption = None,
    least_f1: Annotated[
        float, typer.Option("--least-f1", min=0, max=1, help="Exit code 1 where F1 of a domain or of all is below.")
    ] = 0.99,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as markdown.")] = False,
    taskdefs: TaskdefsOption = None,
    json: JsonOption = False,
) -> None:
    """Audit the evaluators: judge the end states of a proof run, and right and adversarial ones made from them.

    What is true of a state follows from the proof, never from an evaluator. No machine is started. Exit code 1: an
    adversarial state was accepted, F1 is too low, a criterion could not be judged, or an episode is left out.

    Example: matassay evaluator-audit 20261130-030000-prove --domain xps
    """
    if json and as_markdown:
        say("matassay: --json and --markdown print the same audit in two ways: take one of them")
        raise typer.Exit(Exit.WRONG_USE)
    with explained():
        place = open_store(store, load_settings())
        chosen = select(taskdefs_root(taskdefs), None, domain, task)
        for problem in chosen.problems:
            say(f"matassay: {problem.error()}")
        audit = audit_run(place, run_id, chosen.tasks, lambda name: say(f"judging {name}"))
    low = [row for row in audit.rows if row.agreement.f1 is not None and row.agreement.f1 < least_f1]
    if json:
        print_json(_document(audit))
    elif as_markdown:
        typer.echo(markdown(audit), nl=False)
    else:
        _show(audit)
    _tell(audit, low, least_f1)
    wrong = audit.accepted or audit.broken or audit.left_out or low or chosen.problems or not audit.states
    raise typer.Exit(Exit.VOID_OR_UNPROVED if wrong else Exit.DONE)


def _tell(audit: Audit, low: list[Row], least_f1: float) -> None:
    for left in audit.left_out:
        say(f"left out: {left.episode_id}: {left.why}")
    for row in low:
        say(f"F1 of {row.domain} by {row.level} is {row.agreement.f1:.4f}, at least {least_f1} is wanted")
    if not audit.states:
        say("there is nothing to audit: name a run of `matassay prove` that played these tasks")


def _show(audit: Audit) -> None:
    figures = Table(*HEAD)
    for row in audit.rows:
        figures.add_row(*cells(row))
    out.print(figures)
    states = Table("state", "states", "wrongly accepted")
    for kind, number, accepted in kinds(audit):
        states.add_row(kind, str(number), str(accepted), style="red" if accepted else None)
    out.print(states)
    if audit.disagreements:
        listed = Table("task", "state", "criterion", "known", "said", "why", title="disagreements")
        for state, decision in audit.disagreements:
            why = decision.why if len(decision.why) <= _LONGEST_WHY else f"{decision.why[:_LONGEST_WHY]}…"
            listed.add_row(
                state.task_id, Text(scrub(f"{state.kind}: {state.name}")), decision.criterion or "(task)",
                word(decision.truth), word(decision.said), Text(scrub(why)),
            )  # fmt: skip
        out.print(listed)
    out.print(
        f"{len(audit.states)} states, {len(audit.disagreements)} disagreements, "
        f"{len(audit.accepted)} adversarial states accepted, {audit.broken} decisions not made, "
        f"{len(audit.left_out)} left out"
    )


def _document(audit: Audit) -> dict[str, Any]:
    return {
        "run": audit.run_id,
        "rows": [
            {"domain": row.domain, "level": row.level, "states": row.states, **_figures(row.agreement)}
            for row in audit.rows
        ],
        "kinds": [
            {"kind": kind, "states": number, "wrongly_accepted": accepted} for kind, number, accepted in kinds(audit)
        ],
        "states": len(audit.states),
        "adversarial": sum(state.adversarial for state in audit.states),
        "accepted": [f"{state.task_id}, {state.kind}: {state.name}" for state in audit.accepted],
        "disagreements": [
            {"task": state.task_id, "kind": state.kind, "state": state.name, "adversarial": state.adversarial,
             **_decision(decision)}
            for state, decision in audit.disagreements
        ],
        "broken": audit.broken,
        "left_out": [asdict(left) for left in audit.left_out],
    }  # fmt: skip


def _decision(decision: Decision) -> dict[str, Any]:
    """Return a decision; ``criterion`` is null for the task as a whole."""
    return {**asdict(decision), "criterion": decision.criterion or None}


def _figures(found: Agreement) -> dict[str, Any]:
    return {
        **asdict(found),
        "precision": found.precision,
        "precision_interval": found.precision_interval,
        "recall": found.recall,
        "recall_interval": found.recall_interval,
        "f1": found.f1,
        "f1_interval": found.f1_interval,
    }
