"""What a run, and the night that it belongs to, may spend at models: written into the manifest, kept in purses."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks_lib.episodes.work import EpisodeWork
from tasks_lib.models import load_models
from tasks_lib.models.purse import SharedPurse
from tasks_lib.records import Account, Json, RunManifest, SpendingLimit
from tasks_lib.records.errors import BrokenDocumentError, ConfigurationError
from tasks_lib.store import RunFolder, Store, night_purse

SETTING = "budget"
"""Key of the manifest's settings."""


@dataclass(frozen=True)
class NightBudget:
    """What all runs of a night may spend together.

    Attributes
    ----------
    night : str
        Its name, of which its purse has the name.
    limit : SpendingLimit
    """

    night: str
    limit: SpendingLimit

    @property
    def purse(self) -> str:
        """Where the purse lies in the store."""
        return night_purse(self.night)


def budget_settings(limit: SpendingLimit, night: NightBudget | None) -> dict[str, Json]:
    """Return what a manifest says of budgets; nothing where there is none."""
    found: dict[str, Json] = limit.model_dump(mode="json", exclude_none=True)
    if night is not None and night.limit:
        found["night"] = {"name": night.night, **night.limit.model_dump(mode="json", exclude_none=True)}
    return {SETTING: found} if found else {}


def check_prices(models: Iterable[str], models_file: Path | None, *limits: SpendingLimit) -> None:
    """Refuse a budget in money for models of which nobody knows what they cost.

    Raises
    ------
    ConfigurationError
        If one has no prices.
    """
    if not any(limit.usd is not None for limit in limits):
        return
    known = load_models(models_file)
    missing = sorted({name for name in models if name in known and known[name].price_per_million is None})
    if missing:
        msg = (
            f"a budget in US dollars needs prices, and [models.{missing[0]}] has no `price_per_million`: add it, with "
            "input = 0.0 and output = 0.0 for a model of your own, or give a budget in tokens"
        )
        raise ConfigurationError(msg)


def purses_of(store: Store, manifest: RunManifest) -> tuple[SharedPurse, ...]:
    """Return the purses that the calls of a run are paid from; none without a budget."""
    planned: dict[str, Any] = manifest.settings.get(SETTING) or {}
    run = manifest.run_id
    own = SpendingLimit(usd=planned.get("usd"), tokens=planned.get("tokens"))
    again = f"`matassay retry {run} --store {store.url}"
    found = []
    # A run that was planned without a budget may have been given one since.
    if own or store.exists(RunFolder(store, run).purse):
        remedy = f"raise it with {again} --budget-usd N` or --budget-tokens N, which plays what is missing"
        found.append(SharedPurse(store, RunFolder(store, run).purse, f"run {run!r}", own, remedy=remedy))
    night = planned.get("night")
    if night:
        budget = NightBudget(night["name"], SpendingLimit(usd=night.get("usd"), tokens=night.get("tokens")))
        remedy = (
            f"raise it with {again} --night-usd N` or --night-tokens N, or in [serve] of matassay.toml and retry the "
            "flow run of the night"
        )
        found.append(SharedPurse(store, budget.purse, f"night {budget.night!r}", budget.limit, remedy=remedy))
    return tuple(found)


def check_budget(work: EpisodeWork) -> None:
    """Refuse to begin an episode that could not pay for its first call.

    Raises
    ------
    BudgetError
        If a purse is closed or empty.
    """
    if work.spec.model is not None:
        for purse in purses_of(work.store, work.manifest):
            purse.check()


def accounts_of(store: Store, manifest: RunManifest) -> tuple[Account, ...]:
    """Return the budgets of a run and of its night, with what is spent of them; a damaged purse is left out."""
    found = []
    for purse in purses_of(store, manifest):
        with suppress(BrokenDocumentError):
            found.append(purse.account())
    return tuple(found)


def raise_budgets(
    store: Store, manifest: RunManifest, models_file: Path | None, *, run: SpendingLimit, night: SpendingLimit
) -> None:
    """Set other limits for a run, for its night, or for both; what is not given stays.

    Raises
    ------
    ConfigurationError
        If as much is spent already, the run belongs to no night with a budget, or a model has no prices.
    """
    check_prices({spec.model for spec in manifest.episodes if spec.model}, models_file, run, night)
    planned: dict[str, Any] = manifest.settings.get(SETTING) or {}
    if run:
        own = SpendingLimit(usd=planned.get("usd"), tokens=planned.get("tokens"))
        name = f"run {manifest.run_id!r}"
        SharedPurse(store, RunFolder(store, manifest.run_id).purse, name, own).raise_limit(run)
    if night:
        found = planned.get("night")
        if not found:
            msg = f"run {manifest.run_id!r} belongs to no night with a budget: leave --night-usd and --night-tokens out"
            raise ConfigurationError(msg)
        raise_night(store, NightBudget(found["name"], night))


def raise_night(store: Store, night: NightBudget) -> None:
    """Set another limit for a night.

    Raises
    ------
    ConfigurationError
        If as much is spent already.
    """
    SharedPurse(store, night.purse, f"night {night.night!r}", night.limit).raise_limit(night.limit)
