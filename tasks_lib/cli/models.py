"""`matassay models`: what models the settings name, and what each of them can do."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from tasks_lib.cli.console import Exit, explained, out, print_json
from tasks_lib.cli.options import JsonOption
from tasks_lib.cli.settings import load_settings, settings_file
from tasks_lib.models import ModelSettings, find_model, load_models
from tasks_lib.models.capabilities import Finding, claimed, examine
from tasks_lib.records import Usage
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.reporting import scrub

models_app = typer.Typer(help="List the models of matassay.toml and try what they can do.", no_args_is_help=True)


@models_app.command("list")
def list_models(json: JsonOption = False) -> None:
    """List the models of the settings file; nothing is asked of them.

    Example: matassay models list
    """
    with explained():
        models = load_models(settings_file())
    if json:
        print_json([
            {"name": name, "key": _key(model), **model.model_dump(mode="json", exclude={"extra_body"})}
            for name, model in models.items()
        ])  # fmt: skip
        return
    if not models:
        out.print("no table [models.NAME] in matassay.toml: docs/models.md has one for every provider", markup=False)
        return
    table = Table("name", "provider", "model", "address", "key", "pictures", box=SIMPLE_HEAD, pad_edge=False)
    for name, model in models.items():
        pictures = "yes" if model.image.enabled else "no"
        table.add_row(name, model.provider, Text(model.model), Text(model.base_url), Text(_key(model)), pictures)
    out.print(table)


@models_app.command("check")
def check_models(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Models; by default all.")] = None,
    json: JsonOption = False,
) -> None:
    """Make one tiny call for each capability of each model; exit code 1 where one fails that the settings claim.

    Example: matassay models check qwen
    """
    with explained():
        models = _chosen(names or [], load_models(settings_file()))
        tools = load_settings().agent.replies == "tools"
        rows = [
            _Row(name, finding, finding.capability in claimed(model, tools=tools))
            for name, model in models.items()
            for finding in examine(name, model)
        ]
    if json:
        print_json([row.plain() for row in rows])
    else:
        out.print(_table(rows))
    failed = any(row.finding.works is False and row.claimed for row in rows)
    raise typer.Exit(Exit.VOID_OR_UNPROVED if failed else Exit.DONE)


@dataclass(frozen=True)
class _Row:
    """A finding of a model, and whether its settings claim that it works."""

    model: str
    finding: Finding
    claimed: bool

    @property
    def mark(self) -> str:
        if self.finding.works is None:
            return "-"
        return "yes" if self.finding.works else ("FAILS" if self.claimed else "no")

    def plain(self) -> dict[str, object]:
        return {
            "model": self.model,
            "capability": self.finding.capability.value,
            "works": self.finding.works,
            "claimed": self.claimed,
            "seconds": self.finding.seconds,
            "usage": self.finding.usage.model_dump(mode="json"),
            "said": self.finding.said,
        }


def _chosen(names: list[str], models: dict[str, ModelSettings]) -> dict[str, ModelSettings]:
    if names:
        return {name: find_model(models, name) for name in dict.fromkeys(names)}
    if not models:
        msg = "no table [models.NAME] in matassay.toml: docs/models.md has one for every provider"
        raise ConfigurationError(msg)
    return models


def _table(rows: list[_Row]) -> Table:
    table = Table("model", "capability", "works", "s", "tokens", "what came", box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        finding = row.finding
        table.add_row(
            row.model,
            finding.capability.value,
            row.mark,
            f"{finding.seconds:.1f}" if finding.seconds else "",
            _tokens(finding.usage),
            Text(scrub(finding.said)),
            style="red" if row.mark == "FAILS" else None,
        )
    return table


def _tokens(usage: Usage) -> str:
    if usage.input_tokens is None and usage.output_tokens is None:
        return ""
    given, made = (("?" if count is None else str(count)) for count in (usage.input_tokens, usage.output_tokens))
    return f"{given} in, {made} out"


def _key(model: ModelSettings) -> str:
    """Say which variable holds the key and whether it is set; never the key."""
    if model.api_key_env is None:
        return "none"
    return f"{model.api_key_env} ({'set' if os.environ.get(model.api_key_env, '').strip() else 'NOT SET'})"
