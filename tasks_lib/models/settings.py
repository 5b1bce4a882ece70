"""The ``[models.NAME]`` tables of ``matassay.toml``."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator, model_validator

from tasks_lib.records import Record, Usage
from tasks_lib.records.errors import ConfigurationError

_OURS = frozenset(
    {
        "messages", "model", "stream", "stream_options", "tools", "temperature", "seed", "max_tokens", "n", "input",
        "max_completion_tokens", "instructions", "max_output_tokens", "system", "contents", "systemInstruction",
    }
)  # fmt: skip
# Some endpoints take no seed, and some no temperature above 1: better said here than by status 400 in the night.
_WITHOUT_SEED = frozenset({"anthropic", "openai-responses"})
# What people paste along with the address.
_ENDINGS = ("/chat/completions", "/responses", "/messages")


class ImageSettings(Record):
    """How a screenshot is prepared for a model."""

    enabled: bool = Field(default=True, description="false for a model that takes no pictures: none is sent")
    max_long_edge: int | None = Field(default=None, ge=64, le=8192, description="longer side at most, pixels")
    multiple_of: int = Field(default=1, ge=1, le=64, description="both sides are cut to a multiple of this, pixels")
    format: Literal["png", "jpeg", "webp"] = "png"
    quality: int = Field(default=90, ge=1, le=100, description="of jpeg")


class Prices(Record):
    """US dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0, description="input tokens served from a cache; as `input` if None")
    cache_write: float | None = Field(
        default=None, ge=0, description="input tokens written to a cache; as `input` if None"
    )

    def cost(self, usage: Usage) -> float | None:
        """Return the cost in US dollars, or None where a token count is missing."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = min(usage.cached_tokens or 0, usage.input_tokens)
        written = min(usage.cache_write_tokens or 0, usage.input_tokens - cached)
        paid = (
            (usage.input_tokens - cached - written, self.input),
            (cached, self.input if self.cached is None else self.cached),
            (written, self.input if self.cache_write is None else self.cache_write),
            (usage.output_tokens, self.output),
        )
        return sum(tokens * price for tokens, price in paid) / 1e6


class ModelSettings(Record):
    """A model: where it answers, how it is asked."""

    provider: Literal["openai", "openai-responses", "anthropic", "gemini"] = Field(
        default="openai",
        description="the dialect: `openai` are chat completions, which most servers speak; `openai-responses`,"
        " `anthropic` (Messages), `gemini` (generateContent)",
    )
    base_url: str = Field(description="up to and with the version, as https://host/v1; what follows is added")
    model: str = Field(min_length=1, description="the name that the endpoint knows")
    api_key_env: str | None = Field(
        default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="environment variable that holds the key"
    )
    temperature: float | None = Field(default=None, ge=0, le=2)
    seed: int | None = None
    max_tokens: int | None = Field(default=4096, gt=0, description="tokens of one reply at most")
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = Field(
        default="max_tokens",
        description="what chat completions call `max_tokens`: OpenAI's reasoning models take the longer name alone,"
        " most other servers the shorter one",
    )
    read_seconds: float = Field(default=180.0, gt=0, le=3600, description="longest wait for one whole reply, s")
    stream: bool = Field(default=True, description="ask for the reply in pieces, so that a stall is seen early")
    stall_seconds: float = Field(
        default=60.0,
        gt=0,
        le=3600,
        description="longest silence within a streamed reply, s; raise it for models that think without a sign",
    )
    stream_usage: bool = Field(
        default=True,
        description="ask chat completions for the usage of a streamed reply; false for servers that refuse"
        " `stream_options`",
    )
    max_concurrency: int = Field(default=32, ge=1, le=1000, description="calls to this model at a time at most")
    attempts: int = Field(default=5, ge=1, le=20, description="requests for one reply at most")
    image: ImageSettings = ImageSettings()
    price_per_million: Prices | None = None
    extra_body: dict[str, Any] = Field(default_factory=dict, description="further fields of the request")

    @field_validator("base_url", "model")
    @classmethod
    def _one_line(cls, value: str) -> str:
        if not value.isprintable():
            msg = "it holds line ends or other characters that cannot be seen: type it anew"
            raise ValueError(msg)
        return value

    @field_validator("base_url")
    @classmethod
    def _plain_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            msg = "base_url is an http(s) address: write e.g. 'http://127.0.0.1:8000/v1'"
            raise ValueError(msg)
        if parts.username or parts.password or parts.query or parts.fragment:
            msg = "base_url holds no user, password, query or fragment: put the key into the variable of `api_key_env`"
            raise ValueError(msg)
        plain = value.rstrip("/")
        for ending in _ENDINGS:
            plain = plain.removesuffix(ending)
        return plain

    @field_validator("extra_body")
    @classmethod
    def _nothing_of_ours(cls, value: dict[str, Any]) -> dict[str, Any]:
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            msg = f"extra_body is sent as JSON, which cannot hold it ({error}): write texts for dates, no nan, no inf"
            raise ValueError(msg) from None
        if taken := sorted(_OURS & value.keys()):
            msg = f"extra_body may not hold {', '.join(taken)}: these have settings of their own or are fixed"
            raise ValueError(msg)
        return value

    @model_validator(mode="after")
    def _taken_by_the_dialect(self) -> ModelSettings:
        if self.seed is not None and self.provider in _WITHOUT_SEED:
            msg = f"provider {self.provider!r} takes no seed: leave `seed` out, its replies cannot be repeated"
            raise ValueError(msg)
        if self.provider == "anthropic" and self.temperature is not None and self.temperature > 1:
            msg = f"provider 'anthropic' takes a temperature from 0 to 1, not {self.temperature}"
            raise ValueError(msg)
        return self


def load_models(path: Path | None) -> dict[str, ModelSettings]:
    """Read the models that a settings file names.

    Parameters
    ----------
    path : Path or None
        A ``matassay.toml``; tables other than ``models`` are left to their owners. None where there is no such file.

    Returns
    -------
    dict of str to ModelSettings
        By name, sorted; empty where the file names none.

    Raises
    ------
    ConfigurationError
        If the file cannot be read or a table does not fit; the message names file, line, field and value.
    """
    if path is None:
        return {}
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path}: cannot read the settings ({error}): give a UTF-8 TOML file"
        raise ConfigurationError(msg) from error
    try:
        tables = tomllib.loads(text).get("models", {})
    except tomllib.TOMLDecodeError as error:
        msg = f"{path}: not valid TOML: {error}"
        raise ConfigurationError(msg) from error
    if not isinstance(tables, dict):
        msg = f"{path}: `models` is {tables!r}: write a table [models.NAME] for each model"
        raise ConfigurationError(msg)
    return {name: _model(path, text, name, tables[name]) for name in sorted(tables)}


def find_model(models: Mapping[str, ModelSettings], name: str, role: str = "model") -> ModelSettings:
    """Return the settings of a model by its name.

    Parameters
    ----------
    models : mapping of str to ModelSettings
        From `load_models`.
    name : str
    role : str
        What the message calls it, such as ``judge``.

    Raises
    ------
    ConfigurationError
        If there is no such model; the message lists those there are.
    """
    if name not in models:
        known = ", ".join(sorted(models)) or "none"
        msg = f"{role} {name!r} is not in matassay.toml (models there: {known}): add [models.{name}] (docs/models.md)"
        raise ConfigurationError(msg)
    return models[name]


def _model(path: Path, text: str, name: str, table: object) -> ModelSettings:
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,99}", name):
        rule = "a model's name has lower-case letters, digits, dots and dashes"
        msg = f"{path}:{_line(text, name)}: {rule}, got {name!r}: rename it"
        raise ConfigurationError(msg)
    try:
        return ModelSettings.model_validate(table)
    except ValidationError as error:
        lines = []
        for fault in error.errors(include_url=False, include_context=False):
            keys = [str(part) for part in fault["loc"]]
            field = ".".join(["models", name, *keys])
            if fault["type"] == "extra_forbidden":
                known = ", ".join(sorted(ModelSettings.model_fields))
                why = f"no such setting; known are {known}" if len(keys) == 1 else "no such setting"
            elif fault["type"] == "missing":
                why = "is missing"
            else:
                why = fault["msg"].removeprefix("Value error, ")
                # Keys are pasted into these two by mistake: their values are not repeated.
                if not keys or keys[0] not in {"api_key_env", "base_url"}:
                    why += f" (got {fault['input']!r})"
            lines.append(f"{path}:{_line(text, name, *keys)}: {field}: {why}")
        raise ConfigurationError("\n".join(lines)) from None


def _line(text: str, name: str, *keys: str) -> int:
    """Find the line of a key in its table, or of the table's head; tomllib keeps no places."""
    quoted = rf"(?:{re.escape(name)}|\"{re.escape(name)}\"|'{re.escape(name)}')"
    head = re.compile(rf"^\s*\[\s*models\s*\.\s*{quoted}\s*(?:\.|\])")
    start, inside = 1, False
    for number, line in enumerate(text.splitlines(), start=1):
        if head.match(line):
            inside, start = True, start if inside else number
        elif re.match(r"^\s*\[", line):
            inside = False
        if inside and keys and any(re.match(rf"^\s*\"?{re.escape(key)}\"?\s*[=.]", line) for key in keys):
            return number
    return start
