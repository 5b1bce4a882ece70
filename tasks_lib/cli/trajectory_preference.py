"""`matassay trajectories prefer` and `preferences`: which of two models people prefer, task by task."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from tasks_lib.cli.console import Exit, err, explained, out, print_json, say
from tasks_lib.cli.options import JsonOption
from tasks_lib.cli.trajectory_files import names_of, tell_some
from tasks_lib.evaluation.alignment import read_trajectories
from tasks_lib.reporting import scrub
from tasks_lib.reporting.preference import (
    BallotBox,
    PreferencePage,
    Preferences,
    count,
    prepare_study,
    read_answers,
)
from tasks_lib.statistics import PreferenceShare

_LOOK = 0.5  # s between two looks for Ctrl-C


def prefer(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="JSON of a model's trajectories.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="JSON of another model's.")],
    results: Annotated[
        Path, typer.Option("--results", metavar="FILE", help="Gets the answers; those that it holds are gone on with.")
    ],
    references: Annotated[Path | None, typer.Option(help="JSON of references, whose questions are shown.")] = None,
    rater: Annotated[str, typer.Option(help="Who answers; draws order and sides together with the seed.")] = "",
    seed: Annotated[int, typer.Option(min=0, help="Draws the tasks, their order and the sides.")] = 0,
    most: Annotated[
        int | None, typer.Option("--pairs", min=1, help="Most pairs; the same ones for all raters.")
    ] = None,
    hide: Annotated[
        list[str] | None, typer.Option(help="A name to blot out in what is shown, beside the files'; may be repeated.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Say which of two trajectories does a task better, in the browser, without knowing whose they are.

    Open the address that is printed; it is good for one browser of this machine. Keys 1 and 2 choose, 0 is a tie, u
    takes the last answer back. Every answer is kept at once: stop whenever you like, and start the command again to go
    on. Exit code 1: pairs without an answer are left.

    Example: matassay trajectories prefer gpt.json claude.json --results ann.jsonl --rater ann --pairs 40
    """
    with explained():
        names = names_of([first, second])
        files = [read_trajectories(path) for path in (first, second)]
        asked = read_trajectories(references) if references else None
        for file in (*files, *([asked] if asked else [])):
            tell_some(f"{file.name}: ", [str(one) for one in file.oddities])
        study = prepare_study(
            files[0], files[1], (names[0], names[1]), references=asked, rater=rater, seed=seed, most=most
        )
        if study.identical:
            say(f"matassay: {len(study.identical)} tasks are left out, their two trajectories are the same")
        with BallotBox(results, study) as box:
            if box.next is not None:
                _ask(PreferencePage(study, box, hide or ()), box.answered, len(study.pairs))
            left = len(study.pairs) - box.answered
        found = count([read_answers(results)])
    _show(found, json=json)
    if left:
        say(f"{left} of {len(study.pairs)} pairs have no answer yet: start the same command again to go on")
    raise typer.Exit(Exit.VOID_OR_UNPROVED if left else Exit.DONE)


def preferences(
    results: Annotated[list[Path], typer.Argument(metavar="RESULTS…", help="Files of `prefer`, one a person.")],
    json: JsonOption = False,
) -> None:
    """Count the answers of one or several people: share of preference, interval, agreement.

    Example: matassay trajectories preferences ann.jsonl bob.jsonl
    """
    with explained():
        found = count([read_answers(path) for path in results])
    _show(found, json=json)


def _ask(page: PreferencePage, answered: int, pairs: int) -> None:
    with page:
        say(f"{answered} of {pairs} pairs are answered; the page is at")
        err.print(f"  {page.url}", markup=False, soft_wrap=True)  # an address that is cut in two leads nowhere
        say("for one browser of this machine. `Finish` there ends it, and so does Ctrl-C; every answer is kept.")
        try:
            while not page.finished.wait(_LOOK):
                pass
        except KeyboardInterrupt:
            say("stopped")


def _show(found: Preferences, *, json: bool) -> None:
    if json:
        print_json(
            {
                "first": found.first,
                "second": found.second,
                "all": _record(found.share),
                "raters": {name: _record(share) for name, share in found.raters.items()},
                "left": _record(found.left),
                "alpha": found.alpha,
            }
        )
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in ("rater", "answers", "ties", f"prefer {scrub(found.first)}", "95 %", "p"):
        table.add_column(Text(head), justify="left" if head == "rater" else "right")
    rows = {name or "(no name)": share for name, share in found.raters.items()}
    if len(rows) > 1:
        rows["all"] = found.share
    rows["the left side"] = found.left
    for name, share in rows.items():
        table.add_row(Text(scrub(name)), *_cells(share))
    out.print(table)
    if found.alpha is not None:
        out.print(f"Krippendorff's alpha of the raters: {found.alpha:.3f}")


def _cells(share: PreferenceShare | None) -> list[str]:
    if share is None:
        return ["0", "0", "", "", ""]
    span = f"{share.low:.3f} to {share.high:.3f}"
    return [str(share.answers), str(share.ties), f"{share.share:.3f}", span, f"{share.p:.3g}"]


def _record(share: PreferenceShare | None) -> dict[str, Any] | None:
    if share is None:
        return None
    return {name: getattr(share, name) for name in share.__slots__}
