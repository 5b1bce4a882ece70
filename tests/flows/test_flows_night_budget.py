"""The runs of a night share its purse, and a night that is retried has the limits that the settings have by then."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from flows.nightly import _plan, renew
from tasks_lib.cli.settings import RunSettings, ServeSettings, Settings
from tasks_lib.episodes import NightBudget, accounts_of
from tasks_lib.episodes.budgets import purses_of
from tasks_lib.models.purse import Price
from tasks_lib.records import MachineSettings, RunManifest, SpendingLimit
from tasks_lib.records.errors import BudgetError, ConfigurationError
from tasks_lib.store import Store

NIGHT = date(2026, 11, 30)
MODELS = "".join(
    f'[models.{name}]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
    + ("price_per_million = {input = 1.0, output = 1.0}\n" if name != "free" else "")
    for name in ("alpha", "beta", "free")
)


@pytest.fixture
def night(tmp_path: Path, one_stage: Path) -> Callable[..., RunManifest]:
    """Plan a model's run of the night."""
    root = Path(shutil.copytree(one_stage, tmp_path / "taskdefs"))
    benchmarks = root / "benchmarks"
    benchmarks.mkdir()
    text = "name: tiny\nwhat: One task of the fixtures, for a night.\nselect: {suites: [open]}\nagents: [nop]\n"
    (benchmarks / "tiny.yaml").write_text(text, encoding="utf-8")
    models = tmp_path / "matassay.toml"
    models.write_text(MODELS, encoding="utf-8")
    store = Store.open(str(tmp_path / "store"))

    def plan(model: str, serve: ServeSettings, run: RunSettings | None = None) -> RunManifest:
        settings = Settings(machine=MachineSettings(), serve=serve, run=run or RunSettings())
        budget = NightBudget(f"{NIGHT}-tiny", serve.night_limit)
        return _plan(store, root, "tiny", model, str(models), settings, NIGHT, budget)

    plan.store = store  # type: ignore[attr-defined]
    return plan


def test_two_runs_of_a_night_pay_from_one_purse_and_each_from_its_own(night: Callable[..., RunManifest]) -> None:
    store: Store = night.store  # type: ignore[attr-defined]
    serve, run = ServeSettings(night_tokens=100), RunSettings(budget_tokens=90, cache=True)
    manifests = [night(model, serve, run) for model in ("alpha", "beta")]
    assert [manifest.run_id for manifest in manifests] == [
        "nightly-2026-11-30-tiny-alpha",
        "nightly-2026-11-30-tiny-beta",
    ]
    assert manifests[0].settings["cache"] is True
    for manifest in manifests:
        for purse in purses_of(store, manifest):
            purse.settle(purse.set_aside("e#1", Price(0.0, 40), 60) or "", Price(0.0, 40))
    own, shared = zip(*(accounts_of(store, manifest) for manifest in manifests), strict=True)
    assert [account.spent.tokens for account in own] == [40, 40]
    assert shared[0] == shared[1]
    assert (shared[0].name, shared[0].spent.tokens) == ("night '2026-11-30-tiny'", 80)


def test_a_retried_night_goes_on_with_a_raised_limit_and_not_with_one_that_is_spent(
    night: Callable[..., RunManifest], caplog: pytest.LogCaptureFixture
) -> None:
    store: Store = night.store  # type: ignore[attr-defined]
    (purse,) = purses_of(store, night("alpha", ServeSettings(night_tokens=100)))
    purse.settle(purse.set_aside("e#1", Price(0.0, 60), 60) or "", Price(0.0, 60))
    with pytest.raises(BudgetError):
        purse.set_aside("e#1", Price(0.0, 60), 60)
    name = "2026-11-30-tiny"
    renew(store, NightBudget(name, SpendingLimit(tokens=50)))
    assert "are spent" in caplog.text
    assert purse.account().closed
    renew(store, NightBudget(name, SpendingLimit(tokens=500)))
    assert (purse.account().closed, purse.account().limit.tokens) == (False, 500)
    assert purse.set_aside("e#1", Price(0.0, 60), 60)


def test_a_night_without_a_limit_has_no_purse(night: Callable[..., RunManifest]) -> None:
    store: Store = night.store  # type: ignore[attr-defined]
    manifest = night("alpha", ServeSettings())
    renew(store, NightBudget("2026-11-30-tiny", SpendingLimit()))
    assert accounts_of(store, manifest) == ()
    assert store.list("nights") == []


def test_a_night_in_money_refuses_a_model_without_prices(night: Callable[..., RunManifest]) -> None:
    with pytest.raises(ConfigurationError, match=r"\[models\.free\] has no `price_per_million`"):
        night("free", ServeSettings(night_usd=1.0))
