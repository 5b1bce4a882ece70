"""`matassay afm experiment`: the five published experiments on the twin, each as a flow."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from tasks_lib.cli.console import Exit, explained, out, print_json, say
from tasks_lib.cli.options import JsonOption, StoreOption, open_store
from tasks_lib.cli.settings import load_settings
from tasks_lib.episodes import load_engine

if TYPE_CHECKING:
    from tasks_lib.instruments.experiments import Report
    from tasks_lib.store import Store


def experiment(
    name: Annotated[
        str, typer.Argument(help="pid-calibration, step-edge, friction-load, graphene-layers or indenter.")
    ],
    seed: Annotated[int, typer.Option(min=0, help="Of the sample, of the noise, and of a search.")] = 0,
    points: Annotated[int, typer.Option(min=32, max=1024, help="Points and lines of a frame.")] = 128,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Do a published experiment on the digital twin and compare what it finds with the truth.

    Frames, picture and report are kept under experiments/ in the store. Exit code 1: a frame was not valid, or did not
    hold what was looked for.

    Example: matassay afm experiment graphene-layers --seed 3
    """
    with explained():
        from tasks_lib.instruments.tuning.extra import require_packages

        require_packages()
        from tasks_lib.instruments.experiments import ExperimentError
        from tasks_lib.instruments.experiments.folder import ExperimentFolder, ExperimentOrder

        place = open_store(store, load_settings())
        folder = ExperimentFolder(place, _new_id(place, name, seed))
        folder.begin(ExperimentOrder(experiment=name, seed=seed, points=points))
        load_engine().warm_up()
        say(f"experiment {folder.experiment_id}, store {place.url}")
    try:
        with explained(interrupts=False):
            try:
                report = load_engine().experiment(place.url, folder.experiment_id)
            except ExperimentError as error:
                say(f"matassay: {error}")
                raise typer.Exit(Exit.VOID_OR_UNPROVED) from error
    except KeyboardInterrupt:
        say("interrupted; the settings of before are restored")
        raise typer.Exit(Exit.INTERRUPTED) from None
    _show(report, place, folder.experiment_id, as_json=json)


def _new_id(place: Store, name: str, seed: int) -> str:
    """Name an experiment by its time; two within one second get a number."""
    from tasks_lib.instruments.experiments.folder import ROOT
    from tasks_lib.records import slug

    base = slug(f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{name}-seed-{seed}")
    found, number = base, 1
    while place.exists(f"{ROOT}/{found}"):
        number += 1
        found = f"{base}.{number}"
    return found


def _show(report: Report, place: Store, experiment_id: str, *, as_json: bool) -> None:
    from tasks_lib.instruments.experiments.showing import HEAD, report_rows, summary

    if as_json:
        print_json({"event": "experiment-ended", "experiment_id": experiment_id, **report.model_dump(mode="json")})
        return
    out.print(summary(report), markup=False, soft_wrap=True)
    shown = Table(*HEAD[:-1])
    for row in report_rows(report):
        shown.add_row(*row[:-1])
    out.print(shown)
    for remark in report.remarks:
        out.print(f"remark: {remark}", markup=False, soft_wrap=True)
    where = place.local_path(f"experiments/{experiment_id}") or f"{place.url}/experiments/{experiment_id}"
    out.print(f"frames, picture and report: {where}", soft_wrap=True, markup=False)
