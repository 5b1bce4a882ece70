"""`matassay afm`: tune the gains of a microscope, and compare the strategies that do it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tasks_lib.cli.afm_options import ApproachOption, InstrumentOption, WorkerOption, back_end_name
from tasks_lib.cli.console import Exit, explained, out, print_json, say
from tasks_lib.cli.options import JsonOption, StoreOption, open_store
from tasks_lib.cli.settings import load_settings
from tasks_lib.episodes import load_engine
from tasks_lib.instruments.tuning.extra import require_packages
from tasks_lib.records.errors import ConfigurationError

if TYPE_CHECKING:
    from tasks_lib.instruments.frame import Gains
    from tasks_lib.instruments.tuning.box import GainBox
    from tasks_lib.instruments.tuning.folder import TuningFolder
    from tasks_lib.instruments.tuning.progress import ScanEvent
    from tasks_lib.instruments.tuning.session_records import TuningOrder, TuningResult
    from tasks_lib.instruments.tuning.study import StudyCase, StudyRow
    from tasks_lib.store import Store

afm_app = typer.Typer(help="Tune a microscope, and compare strategies of tuning.", no_args_is_help=True)


@afm_app.command("tune")
def tune(
    instrument: InstrumentOption = "twin",
    worker: WorkerOption = None,
    approach: ApproachOption = False,
    probe_lines: Annotated[
        int | None, typer.Option(min=8, max=4096, help="Lines of a probe frame at a real microscope; all by default.")
    ] = None,
    scene: Annotated[
        str | None, typer.Option(help="What is under the tip of the twin, particles by default; see `afm limits`.")
    ] = None,
    strategy: Annotated[str | None, typer.Option(help="How gains are searched; see `afm limits`.")] = None,
    objective: Annotated[str, typer.Option(help="tracking, or the published ssim.")] = "tracking",
    budget: Annotated[int, typer.Option(min=1, max=10_000, help="Scans of the search.")] = 12,
    seed: Annotated[int, typer.Option(min=0, help="Of the search and of the twin's noise.")] = 0,
    start: Annotated[
        str | None, typer.Option(metavar="P,I,D", help="Gains that the twin has before, 50,1000,0 by default.")
    ] = None,
    p: Annotated[str | None, typer.Option("--p", metavar="LOW,HIGH", help="P gains that are searched.")] = None,
    i: Annotated[str | None, typer.Option("--i", metavar="LOW,HIGH", help="I gains that are searched.")] = None,
    d: Annotated[str | None, typer.Option("--d", metavar="LOW,HIGH", help="D gains that are searched.")] = None,
    fresh_frames: Annotated[int, typer.Option(min=2, max=20, help="Frames before, and of each candidate.")] = 3,
    store: StoreOption = None,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="TUNING", help="Go on with a tuning; its order stands.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Search gains, verify them on fresh frames, apply them or put the previous ones back.

    On the digital twin, or on a microscope behind a worker, whose secret is in MATASSAY_WORKER_TOKEN. Every scan is
    kept under tunings/ in the store. Exit code 1: frames could not be judged, the previous gains are restored.

    Example: matassay afm tune --scene rough --budget 20

    Example: matassay afm tune --instrument nanosurf --worker http://127.0.0.1:8765 --probe-lines 16
    """
    with explained():
        require_packages()
        from tasks_lib.instruments.tuning.folder import TuningFolder
        from tasks_lib.instruments.tuning.session import TuningFailedError

        place = open_store(store, load_settings())
        if resume is None:
            order = _order(
                strategy, scene, start, back_end=back_end_name(instrument), worker=worker, may_approach=approach,
                probe_lines=probe_lines, objective=objective, budget=budget, seed=seed, fresh_frames=fresh_frames,
                box=_box(p=p, i=i, d=d),
            )  # fmt: skip
            folder = TuningFolder(place, _new_id(place, _under(order), order.strategy))
            folder.begin(order)
        else:
            folder = TuningFolder(place, resume)
            order = folder.order()
        load_engine().warm_up()
        say(f"tuning {folder.tuning_id}: {order.strategy} on {_under(order)}, {order.budget} scans, store {place.url}")
    try:
        with explained(interrupts=False):
            try:
                listener = _print_event if json else _say_event
                result = load_engine().tune(place.url, folder.tuning_id, listener)
            except TuningFailedError as error:
                say(f"matassay: {error}")
                say(f"go on with:\n  {_resume_command(folder)}")
                raise typer.Exit(Exit.VOID_OR_UNPROVED) from error
    except KeyboardInterrupt:
        say("interrupted; the previous gains are restored, every scan is kept")
        say(f"go on with:\n  {_resume_command(folder)}")
        raise typer.Exit(Exit.INTERRUPTED) from None
    _show(result, place, as_json=json)


@afm_app.command("limits")
def limits(json: JsonOption = False) -> None:
    """Print what a tuning can be given: scenes with their probe frames, strategies, objectives, the box of gains.

    Example: matassay afm limits
    """
    with explained():
        require_packages()
        from tasks_lib.instruments.tuning.box import GainBox
        from tasks_lib.instruments.tuning.objective import Objective
        from tasks_lib.instruments.tuning.scenes import SCENES
        from tasks_lib.instruments.tuning.session_records import TuningOrder
        from tasks_lib.instruments.tuning.strategies import STRATEGIES

        box, order = GainBox(), TuningOrder()
        found = {
            "scenes": {
                name: {**one.scan.model_dump(mode="json"), "setpoint_v": one.setpoint} for name, one in SCENES.items()
            },
            "strategies": sorted(STRATEGIES),
            "default_strategy": order.strategy,
            "objectives": [one.value for one in Objective],
            "box": box.model_dump(mode="json"),
        }
    if json:
        print_json(found)
        return
    for name, one in SCENES.items():
        scan = one.scan
        out.print(
            f"scene {name}: {1e6 * scan.width_m:g} µm, {scan.points} x {scan.lines}, {scan.time_per_line_s:g} s a line,"
            f" setpoint {one.setpoint:g} V",
            soft_wrap=True,
            markup=False,
        )
    out.print(f"strategies: {', '.join(sorted(STRATEGIES))}; by default {order.strategy}", soft_wrap=True)
    out.print(f"objectives: {', '.join(one.value for one in Objective)}", soft_wrap=True)
    ends = (f"{name.upper()} {getattr(box, name)[0]} to {getattr(box, name)[1]}" for name in ("p", "i", "d"))
    out.print(f"box: {', '.join(ends)}", soft_wrap=True)


@afm_app.command("pid-study")
def pid_study(
    folder: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Gets rows.jsonl, table.md and study.png.")],
    scene: Annotated[list[str] | None, typer.Option(help="Only this scene; may be repeated.")] = None,
    strategy: Annotated[list[str] | None, typer.Option(help="Only this strategy; may be repeated.")] = None,
    objective: Annotated[list[str] | None, typer.Option(help="tracking or ssim; both by default.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Searches for each scene, strategy and objective.")] = 20,
    budget: Annotated[int, typer.Option(min=1, max=10_000, help="Scans of each search.")] = 45,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    json: JsonOption = False,
) -> None:
    """Run strategies x scenes x seeds on the twin and report success, stable picks and scans to success.

    Rows are kept as they come, and the same command goes on where a study was cut.

    Example: matassay afm pid-study --out study --scene particles --strategy gp-ei --strategy random --workers 2
    """
    with explained(interrupts=False):
        require_packages()
        from tasks_lib.instruments.tuning.study import run_cases, summarise
        from tasks_lib.instruments.tuning.study_report import append_row, read_rows, rows_of, study_plot, study_table

        wanted = _cases(scene, strategy, objective, seeds, budget)
        folder.mkdir(parents=True, exist_ok=True)
        rows = read_rows(folder / "rows.jsonl")
        todo = [case for case in wanted if case not in rows]
        say(f"{len(wanted)} searches, {len(wanted) - len(todo)} of them are in {folder / 'rows.jsonl'}")

        def keep(row: StudyRow) -> None:
            append_row(folder / "rows.jsonl", row)
            rows[row.case] = row
            if json:
                print_json({"event": "search-ended", **row.model_dump(mode="json")})
            else:
                case, done = row.case, len(rows_of(rows, wanted))
                say(f"{done}/{len(wanted)} {case.scene} {case.strategy} {case.objective} seed {case.seed}: {_hit(row)}")

        try:
            run_cases(todo, workers=workers, on_row=keep)
        except KeyboardInterrupt:
            say("interrupted; the rows are kept, and the same command goes on")
            raise typer.Exit(Exit.INTERRUPTED) from None
        summaries = summarise(rows_of(rows, wanted))
        table = study_table(summaries)
        (folder / "table.md").write_text(table, encoding="utf-8", newline="\n")
        (folder / "study.png").write_bytes(study_plot(summaries))
    if json:
        print_json({"event": "study-ended", "summaries": [one.model_dump(mode="json") for one in summaries]})
    else:
        out.print(table, soft_wrap=True, markup=False, end="")
        out.print(f"table and plot: {folder / 'table.md'}, {folder / 'study.png'}", soft_wrap=True, markup=False)


def _order(strategy: str | None, place: str | None, start: str | None, **fields: object) -> TuningOrder:
    from tasks_lib.instruments.tuning.scenes import scene
    from tasks_lib.instruments.tuning.session_records import TuningOrder

    if fields["back_end"] == "nanosurf" and (place or start):
        msg = "--scene and --start are the twin's: a microscope has its own sample and its own gains"
        raise ConfigurationError(msg)
    if fields["back_end"] != "nanosurf" and fields["probe_lines"] is not None:
        msg = "--probe-lines is for a real microscope: every scene of the twin has its own probe frame"
        raise ConfigurationError(msg)
    if place is not None:
        scene(place)
        fields["scene"] = place
    if start is not None:
        fields["start"] = _gains(start)
    if strategy is not None:
        _among("strategy", [strategy])
        fields["strategy"] = strategy
    _among("objective", [str(fields["objective"])])
    order = TuningOrder.model_validate(fields)
    order.check_reach()
    return order


def _under(order: TuningOrder) -> str:
    return order.scene if order.back_end == "twin" else order.back_end


def _box(**ends: str | None) -> GainBox:
    from pydantic import ValidationError

    from tasks_lib.instruments.tuning.box import GainBox

    try:
        given = {name: tuple(int(one) for one in text.split(",")) for name, text in ends.items() if text is not None}
        return GainBox.model_validate(given)
    except ValidationError as error:
        msg = f"the box of gains: {error.errors()[0]['msg']}"
        raise ConfigurationError(msg) from error
    except ValueError as error:
        msg = f"the ends of a gain are two whole numbers, as --i 500,9000: {error}"
        raise ConfigurationError(msg) from error


def _among(kind: str, names: Sequence[str]) -> None:
    from tasks_lib.instruments.tuning.objective import Objective
    from tasks_lib.instruments.tuning.strategies import STRATEGIES

    have = sorted(STRATEGIES) if kind == "strategy" else [one.value for one in Objective]
    for name in names:
        if name not in have:
            msg = f"there is no {kind} {name!r}; take one of {', '.join(have)}"
            raise ConfigurationError(msg)


def _gains(text: str) -> Gains:
    from tasks_lib.instruments.frame import Gains

    parts = text.split(",")
    try:
        p, i, d = (int(part) for part in parts)
        return Gains(p=p, i=i, d=d)
    except ValueError as error:
        msg = f"gains are three whole numbers that are not negative, as 50,1000,0, not {text!r}"
        raise ConfigurationError(msg) from error


def _new_id(place: Store, scene: str, strategy: str) -> str:
    """Name a tuning by its time; two within one second get a number."""
    from tasks_lib.instruments.tuning.folder import TUNINGS
    from tasks_lib.records import slug

    base = slug(f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{scene}-{strategy}")
    name, number = base, 1
    while place.exists(f"{TUNINGS}/{name}"):
        number += 1
        name = f"{base}.{number}"
    return name


def _resume_command(folder: TuningFolder) -> str:
    return shlex.join(["matassay", "afm", "tune", "--resume", folder.tuning_id, "--store", folder.store.url])


def _cases(
    scene: Sequence[str] | None,
    strategy: Sequence[str] | None,
    objective: Sequence[str] | None,
    seeds: int,
    budget: int,
) -> list[StudyCase]:
    from tasks_lib.instruments.tuning.objective import Objective
    from tasks_lib.instruments.tuning.scenes import SCENES
    from tasks_lib.instruments.tuning.scenes import scene as known_scene
    from tasks_lib.instruments.tuning.strategies import STRATEGIES
    from tasks_lib.instruments.tuning.study import cases

    for name in scene or ():
        known_scene(name)
    _among("strategy", strategy or ())
    _among("objective", objective or ())
    pairs = [
        (name, Objective(one))
        for name in strategy or sorted(STRATEGIES)
        for one in objective or [one.value for one in Objective]
    ]
    return cases(list(scene or SCENES), pairs, seeds, budget)


def _hit(row: StudyRow) -> str:
    held = "-" if row.fresh_ssim is None else f"{row.fresh_ssim:.3f}"
    return f"SSIM {held} on fresh frames, {'stable' if row.stable else 'unstable'}, {row.scans} scans"


def _print_event(event: ScanEvent) -> None:
    print_json({"event": event.kind, **event.model_dump(mode="json", exclude={"kind", "schema_version"})})


def _say_event(event: ScanEvent) -> None:
    if event.record is None:
        return
    gains, record = event.plan.gains, event.record
    score = "; ".join(record.tracking.problems) if record.score is None else f"score {record.score:.3f}"
    say(f"{event.plan.label}: P {gains.p}, I {gains.i}, D {gains.d}: {score}")


def _show(result: TuningResult, place: Store, *, as_json: bool) -> None:
    if as_json:
        print_json({"event": "tuning-ended", **result.model_dump(mode="json")})
        return
    out.print(result.message, markup=False, soft_wrap=True)
    for name, one in (("before", result.before), ("best", result.after)):
        similar = "-" if one.ssim_levelled is None else f"{one.ssim_levelled:.3f}"
        error = "-" if one.error_share is None else f"{one.error_share:.3f}"
        out.print(f"  {name}: SSIM {similar}, error {error} of the setpoint, {one.judged} frames", markup=False)
    where = place.local_path(f"tunings/{result.tuning_id}") or f"{place.url}/tunings/{result.tuning_id}"
    out.print(f"scans and pictures: {where}", soft_wrap=True, markup=False)
