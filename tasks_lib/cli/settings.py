"""What ``matassay.toml`` and the environment say; the command line overrides both."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from tasks_lib.agents.settings import AgentSettings
from tasks_lib.databases.upstreams import Upstreams
from tasks_lib.episodes import EPISODES_AT_ONCE
from tasks_lib.records import MachineSettings, Record, SpendingLimit
from tasks_lib.records.errors import ConfigurationError

SETTINGS_FILE = "matassay.toml"


class RunSettings(Record):
    """Table ``[run]``."""

    concurrency: int = Field(default=EPISODES_AT_ONCE, ge=1, le=64, description="episodes at once")
    seed: int = Field(default=0, ge=0)
    retries: int = Field(default=1, ge=0, le=5, description="new attempts after an error that may pass")
    hints: bool = True
    budget_usd: float | None = Field(default=None, gt=0, description="US dollars that a run may spend at models")
    budget_tokens: int | None = Field(default=None, gt=0, description="tokens, in and out, that a run may spend")
    cache: bool = Field(default=False, description="keep replies of models, and use them again for the same request")

    @property
    def limit(self) -> SpendingLimit:
        """What a run may spend."""
        return SpendingLimit(usd=self.budget_usd, tokens=self.budget_tokens)


class ServeSettings(Record):
    """Table ``[serve]``."""

    port: int = Field(default=4200, ge=0, le=65535)
    database_url: str | None = None
    nightly_cron: str = "0 3 * * *"
    time_zone: str = "UTC"
    nightly_benchmark: str = "smoke"
    night_usd: float | None = Field(default=None, gt=0, description="US dollars that all runs of a night may spend")
    night_tokens: int | None = Field(default=None, gt=0, description="tokens that all runs of a night may spend")

    @property
    def night_limit(self) -> SpendingLimit:
        """What all runs of a night may spend together."""
        return SpendingLimit(usd=self.night_usd, tokens=self.night_tokens)


class StoreSettings(Record):
    """Table ``[store]``."""

    url: str = "artifacts"


class Settings(Record):
    """The whole file; ``[models.NAME]`` is read by the models room."""

    store: StoreSettings = StoreSettings()
    run: RunSettings = RunSettings()
    agent: AgentSettings = AgentSettings()
    machine: MachineSettings = MachineSettings()
    serve: ServeSettings = ServeSettings()
    databases: Upstreams = Upstreams()
    models: dict[str, Any] = Field(default_factory=dict)


def settings_file() -> Path | None:
    """Return the settings file: ``$MATASSAY_CONFIG``, else ``matassay.toml`` here, else None."""
    named = os.environ.get("MATASSAY_CONFIG")
    path = Path(named) if named else Path(SETTINGS_FILE)
    if named and not path.is_file():
        msg = f"MATASSAY_CONFIG names {named!r}, which is no file: mend the variable or unset it"
        raise ConfigurationError(msg)
    if path.exists() and not path.is_file():
        msg = f"{path.resolve()} is no file: remove it, or name the settings file in MATASSAY_CONFIG"
        raise ConfigurationError(msg)
    return path.resolve() if path.is_file() else None


def load_settings() -> Settings:
    """Read the settings.

    Raises
    ------
    ConfigurationError
        If the file is no TOML or has an unknown key or a bad value; the message names file, key and value.
    """
    path = settings_file()
    if path is None:
        return Settings()
    try:
        return Settings.model_validate(tomllib.loads(path.read_text(encoding="utf-8")), strict=True)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path} is no TOML: {error}; mend that line"
        raise ConfigurationError(msg) from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        rule = _known(first["loc"]) if first["type"] == "extra_forbidden" else first["msg"]
        msg = f"{path}: {key} = {first.get('input')!r}: {rule}; see README, Settings"
        raise ConfigurationError(msg) from error


def _known(place: tuple[int | str, ...]) -> str:
    """Say which keys, or tables, there are where an unknown one stands."""
    holder: object = Settings()
    for part in place[:-1]:
        holder = getattr(holder, str(part), None)
    what = "table" if len(place) == 1 else "key"
    names = sorted(type(holder).model_fields) if isinstance(holder, Record) else []
    return f"there is no such {what}" + (f"; there are {', '.join(names)}" if names else "")


def store_url(given: str | None, settings: Settings) -> str:
    """Return the store's address: the option, else ``$MATASSAY_STORE``, else the settings file's."""
    return given or os.environ.get("MATASSAY_STORE") or settings.store.url
