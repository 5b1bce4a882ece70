"""What the databases of a run serve: the snapshot, the snapshot with faults, or the public databases themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tasks_lib.databases.upstreams import Upstreams
from tasks_lib.episodes.live_databases import LIVE, check_key, live_settings
from tasks_lib.episodes.services import SETTING, database_settings
from tasks_lib.records import Json, RunManifest
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.taskdefs import LoadedTask

if TYPE_CHECKING:
    from tasks_lib.databases.servers import FaultSettings


def databases_for(
    tasks: Iterable[LoadedTask], upstreams: Upstreams, *, live: bool, faults: Sequence[str]
) -> dict[str, Json] | None:
    """Return what the manifest says of the databases; None for the snapshot without faults.

    Parameters
    ----------
    tasks : iterable of LoadedTask
    upstreams : Upstreams
        Where live databases answer.
    live : bool
    faults : sequence of str
        Each ``NAME=VALUE``.

    Raises
    ------
    ConfigurationError
        If no task asks a database, the two are mixed, a fault is none of the dialects asked, or a key is missing.
    """
    if not live and not faults:
        return None
    endpoints = {name for loaded in tasks for stage in loaded.task.stages for name in stage.endpoints}
    if not endpoints:
        msg = "--live and --fault are for tasks that ask a database, and none here does: select such tasks"
        raise ConfigurationError(msg)
    if live and faults:
        msg = "a live database plays no faults of ours: give --live or --fault, not both"
        raise ConfigurationError(msg)
    if live:
        if "mp" in endpoints:
            check_key()
        return live_settings(upstreams)
    settings = read_faults(faults)
    from tasks_lib.databases.servers import Dialect

    for name in sorted(endpoints & set(Dialect)):
        settings.check(Dialect(name))
    return database_settings(settings)


def check_databases(manifest: RunManifest, *, live: bool, faults: Sequence[str]) -> None:
    """Refuse to go on with a run over other databases than it was planned with.

    Raises
    ------
    ConfigurationError
        If ``--live`` or ``--fault`` are given and the manifest says otherwise.
    """
    planned = manifest.settings.get(SETTING) or {}
    wanted = read_faults(faults).model_dump(mode="json", exclude_defaults=True) if faults else {}
    if (live and planned.get("mode") != LIVE) or (faults and planned.get("faults") != wanted):
        what = "the public databases" if planned.get("mode") == LIVE else "the snapshot"
        msg = (
            f"run {manifest.run_id!r} was planned with {what} and faults {planned.get('faults') or 'none'}, which "
            "stays: leave --live and --fault out, or start another run"
        )
        raise ConfigurationError(msg)


def read_faults(given: Sequence[str]) -> FaultSettings:
    """Read faults as they stand on a command line, each ``NAME=VALUE``.

    Raises
    ------
    ConfigurationError
        If one is unknown or out of bounds.
    """
    from pydantic import ValidationError

    from tasks_lib.databases.servers import FaultSettings

    pairs = {}
    for one in given:
        name, mark, value = one.partition("=")
        if not mark:
            msg = f"a fault is NAME=VALUE, got {one!r}: write for instance rate_limited=2"
            raise ConfigurationError(msg)
        pairs[name] = value
    try:
        return FaultSettings.model_validate(pairs)
    except ValidationError as error:
        first = error.errors()[0]
        known = ", ".join(FaultSettings.model_fields)
        msg = f"fault {'.'.join(map(str, first['loc'])) or given}: {first['msg']}; there are {known}"
        raise ConfigurationError(msg) from error
