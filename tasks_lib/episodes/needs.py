"""What a run needs besides machines: Python environments that are built, databases of a known version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tasks_lib.episodes.services import SETTING, database_settings
from tasks_lib.records import Json, RunManifest
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.sandbox import environments
from tasks_lib.taskdefs import LoadedTask

_ENVIRONMENTS = "environments"


def asks_a_database(loaded: LoadedTask) -> bool:
    """Say whether any stage of a task reaches a database."""
    return any(stage.endpoints for stage in loaded.task.stages)


def needs_of(tasks: Iterable[LoadedTask], databases: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Return what a manifest's settings say of the environments and databases that tasks use; empty for none.

    Parameters
    ----------
    tasks : iterable of LoadedTask
    databases : mapping or None
        What the databases serve (`database_settings`, `live_settings`); None for the snapshot without faults.
    """
    tasks = tuple(tasks)
    stages = [stage for loaded in tasks for stage in loaded.task.stages]
    names = sorted({stage.environment for stage in stages if stage.environment is not None})
    needs: dict[str, Json] = {_ENVIRONMENTS: names} if names else {}
    if any(map(asks_a_database, tasks)):
        needs[SETTING] = database_settings() if databases is None else dict(databases)
    return needs


def build_environments(manifest: RunManifest, taskdefs: Path, say: Callable[[str], None]) -> None:
    """Build the Python environments of a run that are not there yet.

    One that cannot be built stops nothing: its episodes are VOID, the others are played.

    Parameters
    ----------
    manifest : RunManifest
    taskdefs : Path
        Root of the task definitions, with the requirements.
    say : callable
        Told what is built, and what could not be.
    """
    for name in manifest.settings.get(_ENVIRONMENTS, ()):
        try:
            environment = environments.find(str(name), taskdefs)
            if environment.is_built:
                continue
            say(f"building the Python environment {name!r}, once; it takes about a minute")
            environments.build(environment)
        except ConfigurationError as error:
            say(f"{error}; the tasks that need it will be VOID")
