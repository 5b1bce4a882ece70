"""`matassay afm experiment`: the five published experiments on twin, recordings or a microscope, each as a flow."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from tasks_lib.cli.afm_options import ApproachOption, InstrumentOption, WorkerOption, back_end_name
from tasks_lib.cli.console import Exit, explained, out, print_json, say
from tasks_lib.cli.options import JsonOption, StoreOption, open_store
from tasks_lib.cli.settings import load_settings
from tasks_lib.episodes import load_engine
from tasks_lib.records.errors import ConfigurationError

if TYPE_CHECKING:
    from tasks_lib.instruments.experiments import Report
    from tasks_lib.instruments.experiments.folder import ExperimentFolder
    from tasks_lib.store import Store


def experiment(
    name: Annotated[
        str | None, typer.Argument(help="pid-calibration, step-edge, friction-load, graphene-layers or indenter.")
    ] = None,
    instrument: InstrumentOption = "twin",
    worker: WorkerOption = None,
    folder: Annotated[Path | None, typer.Option(help="Where the recorded .nid files of a replay lie.")] = None,
    approach: ApproachOption = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the sample, of the noise, and of a search.")] = 0,
    points: Annotated[
        int, typer.Option(min=32, max=1024, help="Points and lines of a frame; at a microscope, of the fine ones.")
    ] = 128,
    setpoint: Annotated[
        list[float] | None, typer.Option(metavar="VOLT", help="Of the friction sweep; may be repeated.")
    ] = None,
    free_deflection: Annotated[
        float | None, typer.Option(metavar="VOLT", help="What the free lever shows; friction-load counts from there.")
    ] = None,
    newton_per_volt: Annotated[
        float | None, typer.Option(help="Normal force by volt of deflection, where it was calibrated.")
    ] = None,
    store: StoreOption = None,
    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="EXPERIMENT", help="Go on with one that was cut; its order stands."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Do a published experiment; on the digital twin what it finds is compared with the truth.

    Elsewhere the first frame is scanned with what the instrument is set to. Frames, picture and report are kept under
    experiments/ in the store. Exit code 1: a frame was not valid, or did not hold what was looked for.

    Example: matassay afm experiment graphene-layers --seed 3

    Example: matassay afm experiment friction-load --instrument replay --folder load-files
    """
    with explained():
        from tasks_lib.instruments.tuning.extra import require_packages

        require_packages()
        from tasks_lib.instruments.experiments import ExperimentError
        from tasks_lib.instruments.experiments.folder import ExperimentFolder

        place = open_store(store, load_settings())
        if (name is None) == (resume is None):
            msg = "name an experiment to begin, or one to go on with by --resume"
            raise ConfigurationError(msg)
        if resume is not None:
            kept = ExperimentFolder(place, resume)
            kept.order()
        else:
            kept = _begun(
                place, experiment=name, back_end=back_end_name(instrument), worker=worker, may_approach=approach,
                folder=None if folder is None else str(folder.resolve()), seed=seed, points=points,
                setpoints_v=tuple(setpoint or ()), free_deflection_v=free_deflection, newton_per_volt=newton_per_volt,
            )  # fmt: skip
        load_engine().warm_up()
        say(f"experiment {kept.experiment_id}, store {place.url}")
    try:
        with explained(interrupts=False):
            try:
                report = load_engine().experiment(place.url, kept.experiment_id)
            except ExperimentError as error:
                say(f"matassay: {error}")
                say(f"go on with:\n  {_resume_command(kept)}")
                raise typer.Exit(Exit.VOID_OR_UNPROVED) from error
    except KeyboardInterrupt:
        say("interrupted; the settings of before are restored, every frame is kept")
        say(f"go on with:\n  {_resume_command(kept)}")
        raise typer.Exit(Exit.INTERRUPTED) from None
    _show(report, place, kept.experiment_id, as_json=json)


def _begun(place: Store, **fields: object) -> ExperimentFolder:
    from pydantic import ValidationError

    from tasks_lib.instruments.experiments.folder import ExperimentFolder, ExperimentOrder

    try:
        order = ExperimentOrder.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        msg = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise ConfigurationError(msg) from error
    order.check_reach()
    folder = ExperimentFolder(place, _new_id(place, order.experiment, order.seed))
    folder.begin(order)
    return folder


def _resume_command(folder: ExperimentFolder) -> str:
    words = ["matassay", "afm", "experiment", "--resume", folder.experiment_id, "--store", folder.store.url]
    return shlex.join(words)


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
