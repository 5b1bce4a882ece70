"""`matassay record`: a person does a task on its desktop, and what was done becomes the draft of its oracle."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from tasks_lib.cli.console import Exit, explained, out, print_json, say
from tasks_lib.cli.desk import TerminalDesk
from tasks_lib.cli.options import JsonOption, StoreOption, TaskdefsOption, open_store, select, taskdefs_root
from tasks_lib.cli.settings import load_settings
from tasks_lib.episodes import build_environments, load_work, open_run
from tasks_lib.episodes.recording import Recording, record_episode, recorded_stages, recording_manifest
from tasks_lib.records import Stage, Verdict
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.reporting import scrub
from tasks_lib.sandbox import provider
from tasks_lib.sandbox.viewing import viewing_problems
from tasks_lib.taskdefs import LoadedTask, write_target

_DRAFTS = Path("artifacts") / "drafts"
_SCREENS = "screens"
_TARGETS = Path("targets") / "draft"


def record(
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task's id.")],
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help=f"Where the draft goes; by default {_DRAFTS}/TASK.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an oracle that is there.")] = False,
    until_file: Annotated[
        Path | None,
        typer.Option("--until-file", metavar="FILE", help="End when this file exists, without a terminal."),
    ] = None,
    hints: Annotated[
        bool, typer.Option("--hints/--no-hints", help="The set-up of runs with hints, or that of runs without.")
    ] = True,
    store: StoreOption = None,
    unsafe_local: Annotated[bool, typer.Option("--unsafe-local", help="Run without bubblewrap.")] = False,
    taskdefs: TaskdefsOption = None,
    json: JsonOption = False,
) -> None:
    """Do a task yourself on its desktop, in the browser; what you do becomes the draft of an oracle.

    Open the address that is printed; it is good for one browser of this machine. Enter in the terminal ends the
    recording: the end state is judged, and the draft is written. Ctrl-C ends it without a verdict.

    Ends with 0 where every criterion is met, with 1 where one is not or the episode is VOID.

    Example: matassay record active-range --out drafts/active-range
    """
    with explained():
        settings = load_settings()
        root = taskdefs_root(taskdefs)
        chosen = select(root, None, None, [task])
        for problem in chosen.problems:
            raise problem.error()
        (loaded,) = chosen.tasks
        machine = settings.machine.model_copy(update={"isolated": settings.machine.isolated and not unsafe_local})
        manifest = recording_manifest(loaded, chosen.digest, machine, hints=hints)
        place = folder if folder is not None else _DRAFTS / loaded.id
        files = {stage.id: place / _name(loaded, stage) for stage in recorded_stages(loaded)}
        desk = TerminalDesk(until_file)
        problems = provider(machine.provider).problems(desktop=True) + viewing_problems()
        _check(place, files, force=force, problems=problems)
        target = open_store(store, settings)
        open_run(target, manifest)
        build_environments(manifest, root, say)
        work = load_work(target, manifest.run_id, manifest.episodes[0].id, root)
        recording = record_episode(work, desk)
        _write(recording, files, place)
    if json:
        print_json(_record(recording, manifest.run_id, manifest.episodes[0].id, files))
    else:
        _show(recording, manifest.run_id, files)
    if recording.interrupted:
        raise typer.Exit(Exit.INTERRUPTED)
    passed = recording.verdict is not None and recording.verdict.earned == recording.verdict.points
    raise typer.Exit(Exit.DONE if passed else Exit.VOID_OR_UNPROVED)


def _name(loaded: LoadedTask, stage: Stage) -> str:
    return "oracle.md" if len(loaded.task.stages) == 1 else f"oracle.{stage.id}.md"


def _check(place: Path, files: dict[str, Path], *, force: bool, problems: list[str]) -> None:
    """Refuse before anybody has worked for nothing."""
    if problems:
        raise ConfigurationError("; ".join(problems))
    there = [file for file in (*files.values(), *_pictures(place)) if file.exists() or file.is_symlink()]
    if there and not force:
        msg = f"{there[0]} is there already: give another --out, or replace it with --force"
        raise ConfigurationError(msg)
    for folder in (place, place / _SCREENS, place / _TARGETS):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass  # it can be written to


def _pictures(place: Path) -> list[Path]:
    return sorted([*(place / _TARGETS).glob("*.png"), *(place / _SCREENS).glob("*.png")])


def _write(recording: Recording, files: dict[str, Path], place: Path) -> None:
    """Write transcripts, targets and the screens before the steps."""
    if any(draft.steps for draft in recording.drafts.values()):
        for old in _pictures(place):
            old.unlink()  # of the draft that is replaced
    for stage, draft in recording.drafts.items():
        if draft.steps:
            files[stage].write_text(draft.transcript(), encoding="utf-8", newline="\n")
    for target in (target for draft in recording.drafts.values() for target in draft.targets.values()):
        write_target(place, target, replace=True)
    for (stage, number), png in recording.screens.items():
        (place / _SCREENS / f"{stage}-{number:02d}.png").write_bytes(png)


def _record(recording: Recording, run: str, episode: str, files: dict[str, Path]) -> dict[str, Any]:
    verdict, void = recording.verdict, recording.void
    return {
        "run": run,
        "episode": episode,
        "interrupted": recording.interrupted,
        "points": None if verdict is None else verdict.points,
        "earned": None if verdict is None else verdict.earned,
        "criteria": [] if verdict is None else [entry.model_dump(mode="json") for entry in verdict.criteria],
        "void": None if void is None else void.model_dump(mode="json"),
        "drafts": {
            stage: {
                "file": str(files[stage]) if draft.steps else None,
                "steps": len(draft.steps),
                "targets": sorted(draft.targets),
                "notes": list(draft.notes),
            }
            for stage, draft in recording.drafts.items()
        },
    }


def _show(recording: Recording, run: str, files: dict[str, Path]) -> None:
    for line in _lines(recording, run, files):
        out.print(line, markup=False, soft_wrap=True)
    if recording.verdict is not None:
        out.print(_criteria(recording.verdict))
        out.print(f"{recording.verdict.earned} of {recording.verdict.points} points")


def _lines(recording: Recording, run: str, files: dict[str, Path]) -> Iterator[str]:
    if recording.interrupted:
        yield "interrupted: nothing was judged"
    if recording.void is not None:
        yield scrub(f"VOID({recording.void.reason}): {recording.void.message}")
    for stage, draft in recording.drafts.items():
        if not draft.steps:
            yield f"stage {stage}: nothing was done, so there is no draft"
            continue
        yield f"{files[stage]}: {len(draft.steps)} steps, {len(draft.targets)} targets cut"
        yield from (scrub(f"  {note}") for note in draft.notes)
        if draft.targets:
            pictures = shlex.quote(str(files[stage].parent / _TARGETS))
            yield f"  read it, and give the targets of {pictures} names below taskdefs/targets"
    yield f"run {run}"


def _criteria(verdict: Verdict) -> Table:
    table = Table("criterion", "", "points", "why")
    for entry in verdict.criteria:
        mark = "met" if entry.passed else "not met"
        table.add_row(entry.id, mark, str(entry.points), Text(scrub(entry.why)), style=None if entry.passed else "red")
    return table
