"""How the models of a run decode: recorded when the run is planned, a part of what two runs have in common."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from tasks_lib.models import ModelSettings, load_models
from tasks_lib.records import Json, RunManifest, dump_json
from tasks_lib.records.errors import ConfigurationError

SETTING = "models"
"""Key of a manifest's settings under which it stands."""
# What an answer depends on; where it comes from and how long one waits for it may change.
_DECIDE = frozenset({"provider", "model", "temperature", "seed", "max_tokens", "image"})


def decoding(settings: ModelSettings) -> dict[str, Json]:
    """Return what a model's answers depend on; further fields of the request, which may hold anything, as a digest."""
    found: dict[str, Json] = settings.model_dump(mode="json", include=set(_DECIDE))
    if settings.extra_body:
        found["extra_body_sha256"] = hashlib.sha256(dump_json(settings.extra_body).encode()).hexdigest()
    return found


def decoding_settings(names: Iterable[str], models_file: Path | None) -> dict[str, Json]:
    """Return what a manifest records of the models of a run; nothing where no model plays."""
    wanted = set(names)
    known = load_models(models_file) if wanted else {}
    recorded = {name: decoding(known[name]) for name in sorted(wanted & known.keys())}
    return {SETTING: recorded} if recorded else {}


def check_decoding(manifest: RunManifest, models_file: Path | None) -> None:
    """Refuse to go on with a run whose models decode in another way now: its scores would be of two kinds.

    Raises
    ------
    ConfigurationError
        If a model of the run has other settings than the manifest says; one that is gone is told elsewhere.
    """
    planned = manifest.settings.get(SETTING) or {}
    known = load_models(models_file) if planned else {}
    for name in sorted(planned.keys() & known.keys()):
        present = decoding(known[name])
        for key in sorted(planned[name].keys() | present.keys()):
            was, is_ = planned[name].get(key), present.get(key)
            if was != is_:
                msg = (
                    f"run {manifest.run_id!r} was planned with [models.{name}] {key} = {was!r}, and {models_file} has "
                    f"{is_!r}: put it back, or start another run"
                )
                raise ConfigurationError(msg)
