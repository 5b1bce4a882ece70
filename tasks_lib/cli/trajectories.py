"""`matassay trajectories`: what agents did, in the formats of others and back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tasks_lib.cli.console import explained, out, print_json, say
from tasks_lib.cli.options import JsonOption, StoreOption, TaskdefsOption, TaskOption, open_store, taskdefs_root
from tasks_lib.cli.settings import load_settings, settings_file
from tasks_lib.cli.trajectory_baselines import baselines
from tasks_lib.cli.trajectory_judge import judge
from tasks_lib.cli.trajectory_preference import prefer, preferences
from tasks_lib.cli.trajectory_replay import replay_calls
from tasks_lib.cli.trajectory_scores import score
from tasks_lib.cli.trajectory_sweep import sweep
from tasks_lib.episodes import read_manifest
from tasks_lib.interop import (
    Foreign,
    Trajectory,
    export_chat,
    export_osworld,
    import_into,
    read_chat,
    read_osworld,
    trajectories,
)
from tasks_lib.interop.inspect import need
from tasks_lib.models import Redactor, load_models
from tasks_lib.records import Outcome
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import Store
from tasks_lib.taskdefs import load_all

trajectories_app = typer.Typer(no_args_is_help=True, help="What agents did, in the formats of others and back.")
trajectories_app.command("score")(score)
trajectories_app.command("baselines")(baselines)
trajectories_app.command("replay")(replay_calls)
trajectories_app.command("judge")(judge)
trajectories_app.command("prefer")(prefer)
trajectories_app.command("preferences")(preferences)
trajectories_app.command("sweep")(sweep)


class Form(StrEnum):
    """A format of trajectories."""

    INSPECT = "inspect"
    OSWORLD = "osworld"
    CHAT = "chat"


class Kept(StrEnum):
    """Which episodes are written."""

    PASS = "pass"
    JUDGED = "judged"
    ALL = "all"


_KEPT = {
    Kept.PASS: frozenset({Outcome.PASS}),
    Kept.JUDGED: frozenset({Outcome.PASS, Outcome.FAIL}),
    Kept.ALL: frozenset({*Outcome, None}),
}
# Players whose steps are the tasks' own solutions.
_SOLUTIONS = frozenset({"oracle", "replay", "scripted-llm"})


@trajectories_app.command("export")
def export(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run.")],
    form: Annotated[Form, typer.Option("--format", help="inspect: .eval logs; osworld: folders; chat: JSONL.")],
    folder: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Gets the files; nothing is replaced.")],
    task: TaskOption = None,
    agent: Annotated[
        list[str] | None, typer.Option("--agent", metavar="LABEL", help="Only this player; may be repeated.")
    ] = None,
    outcome: Annotated[
        Kept | None, typer.Option("--outcome", help="Which episodes; by default pass for chat and all otherwise.")
    ] = None,
    pictures: Annotated[bool, typer.Option("--pictures/--no-pictures", help="Screenshots in chat JSONL.")] = True,
    store: StoreOption = None,
    taskdefs: TaskdefsOption = None,
    json: JsonOption = False,
) -> None:
    """Write the trajectories of a run in another format. Secrets are hidden, and no gold is written.

    Example: matassay trajectories export 20261130-030000-smoke --format inspect --out logs
    """
    with explained():
        if form is Form.INSPECT:
            need()
        place = open_store(store, load_settings())
        manifest = read_manifest(place, run_id)
        tasks = load_all(taskdefs_root(taskdefs))
        kept = _KEPT[outcome or (Kept.PASS if form is Form.CHAT else Kept.ALL)]
        found = [
            trajectory
            for trajectory in trajectories(place, run_id, tasks, _redactor(), only=task or (), players=agent or ())
            if trajectory.outcome in kept
        ]
        if not found:
            msg = f"run {run_id!r} holds no such trajectory: loosen --task, --agent or --outcome"
            raise ConfigurationError(msg)
        if form is Form.INSPECT:
            from tasks_lib.interop.inspect.logs import export_inspect

            files = export_inspect(place, manifest, found, folder)
        elif form is Form.OSWORLD:
            files = export_osworld(place, found, folder)
        else:
            chat = export_chat(place, found, folder / f"{run_id}.jsonl", pictures=pictures)
            files = [chat.conversations, chat.index]
    if form is Form.CHAT:
        _warn(found)
    if json:
        print_json({"run": run_id, "format": form, "episodes": len(found), "files": [str(path) for path in files]})
        return
    for path in files:
        out.print(str(path), soft_wrap=True, markup=False)
    out.print(f"{len(found)} episodes, {sum(one.steps for one in found)} steps")


def _redactor() -> Redactor:
    """Hide what the environment calls secret, and the keys of the models, whatever their variables are called."""
    file = settings_file()
    names = [settings.api_key_env for settings in load_models(file).values()] if file else []
    keys = (os.environ.get(name) for name in names if name)
    return Redactor.from_environment() | Redactor(key for key in keys if key)


def _warn(found: list[Trajectory]) -> None:
    solutions = sorted({one.spec.agent for one in found if one.spec.agent in _SOLUTIONS})
    if solutions:
        say(
            f"matassay: {', '.join(solutions)} played the tasks' own solutions: a model that is trained on them "
            "cannot be measured by these tasks any more"
        )


@trajectories_app.command("import")
def import_(
    source: Annotated[Path, typer.Argument(metavar="PATH", help="An .eval log, a .jsonl file or a folder.")],
    form: Annotated[
        Form | None, typer.Option("--format", help="By default .eval: inspect, .jsonl: chat, a folder: osworld.")
    ] = None,
    task: Annotated[
        str | None, typer.Option("--task", metavar="ID", help="The task that all of it is of, where it says none.")
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="LABEL", help="Who played.")] = None,
    run_id: Annotated[str | None, typer.Option("--run", metavar="RUN", help="Name of the new run.")] = None,
    store: StoreOption = None,
    taskdefs: TaskdefsOption = None,
    json: JsonOption = False,
) -> None:
    """Make a run of trajectories in another format, for the agent `replay`. Scores in them are claims, not verdicts.

    Example: matassay trajectories import logs/other.eval --task c1s-two-components
    """
    with explained():
        chosen = form or _form_of(source)
        place = open_store(store, load_settings())
        tasks = load_all(taskdefs_root(taskdefs))
        made = import_into(
            place,
            _read(chosen, source, task, agent),
            tasks,
            source=source.name or str(source),
            form=chosen,
            run_id=run_id,
        )
    for remark in made.remarks:
        say(f"matassay: {remark}")
    if json:
        print_json(
            {
                "run": made.run,
                "episodes": list(made.episodes),
                "players": list(made.players),
                "steps": made.steps,
                "remarks": list(made.remarks),
            }
        )
        return
    out.print(f"run {made.run}: {len(made.episodes)} episodes, {made.steps} steps", soft_wrap=True, markup=False)
    for line in _next(made.run, made.players, place):
        out.print(line, soft_wrap=True, markup=False)


def _next(run: str, players: tuple[str, ...], place: Store) -> Iterator[str]:
    for player in players:
        yield f"play it: matassay run --task TASK --agent replay --replay {run}:{player} --store {place.url}"


def _form_of(source: Path) -> Form:
    if source.is_dir():
        return Form.OSWORLD
    known = {".eval": Form.INSPECT, ".jsonl": Form.CHAT}.get(source.suffix.lower())
    if known is None or not source.exists():
        msg = f"{source} is no folder, no .eval and no .jsonl file: give one that is there, or --format"
        raise ConfigurationError(msg)
    return known


def _read(form: Form, source: Path, task: str | None, player: str | None) -> Iterator[Foreign]:
    if form is Form.INSPECT:
        need()
        from tasks_lib.interop.inspect.logs import read_inspect

        return read_inspect(source, task=task, player=player)
    reads = read_osworld if form is Form.OSWORLD else read_chat
    return reads(source, task=task, player=player)
