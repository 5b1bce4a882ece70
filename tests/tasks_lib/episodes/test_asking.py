"""What stands between an episode and its model: budget, cache, log and the place at the endpoint, over real HTTP."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tasks_lib.episodes import (
    EpisodeVoidError,
    Player,
    accounts_of,
    episodes_for,
    load_work,
    make_manifest,
    model_for,
    open_run,
    plain_phases,
    run_episode,
    summarise,
)
from tasks_lib.episodes.budgets import NightBudget, budget_settings, purses_of, raise_budgets
from tasks_lib.models import (
    Canned,
    ChatFace,
    ChatModel,
    Fault,
    FaultKind,
    ImagePart,
    Message,
    ScriptedEndpoint,
    ScriptedSession,
)
from tasks_lib.records import (
    ExchangeRecord,
    MachineSettings,
    Outcome,
    Purse,
    RunManifest,
    RunSummary,
    SpendingLimit,
    Step,
    VoidReason,
)
from tasks_lib.records.errors import BudgetError, ConfigurationError
from tasks_lib.store import AttemptFolder, RunFolder, Store
from tasks_lib.taskdefs import load_all, load_task

from .conftest import ONE_STAGE, MakeRun

CANARY = "canary-0b7d/51c2+e8"
ASK = [Message.of("user", "What now?")]
SOLUTION = load_task(next(ONE_STAGE.glob("*/*/*"))).transcript("oracle", "main")


class DearFace(ChatFace):
    """Tells fifty thousand tokens for every question."""

    def completion(self, reply: Canned, request: dict[str, Any], served: int) -> dict[str, Any]:
        body = super().completion(reply, request, served)
        body["usage"] = {"prompt_tokens": 50_000, "completion_tokens": 1, "total_tokens": 50_001}
        return body


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATASSAY_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("OF_THE_MODEL", CANARY)  # a name that does not say that it is secret


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(DearFace()) as found:
        yield found


def opened(endpoint: ScriptedEndpoint, replies: list[Any]) -> ScriptedSession:
    session = endpoint.open(replies)
    session.token = CANARY
    return session


def models_file(folder: Path, session: ScriptedSession, more: str = "") -> Path:
    file = folder / "matassay.toml"
    file.write_text(
        f'[models.paid]\nbase_url = "{session.base_url}"\nmodel = "m"\napi_key_env = "OF_THE_MODEL"\nstream = false\n'
        f"attempts = 2\nmax_tokens = 500\n{more}\n"
        "price_per_million = {input = 2.0, output = 10.0}\n",
        encoding="utf-8",
    )
    return file


def trials(make_run: MakeRun, run_id: str = "r1", **settings: Any) -> RunManifest:
    return make_run(ONE_STAGE, Player("llm", "paid"), run_id=run_id, settings=settings)


def ask(
    store: Store, manifest: RunManifest, models: Path, number: int = 1, trial: int = 1
) -> tuple[ChatModel, AttemptFolder]:
    work = load_work(store, manifest.run_id, manifest.episodes[0].id, ONE_STAGE, models_file=models)
    if trial != 1:
        work = type(work)(
            work.store, work.manifest, work.spec.model_copy(update={"trial": trial}), work.loaded, work.models
        )
    attempt = work.folder.attempt(number)
    model = model_for(work, attempt, work.task.stages[0])
    assert model is not None
    return model, attempt


def played(store: Store, manifest: RunManifest, models: Path, position: int = 0) -> Outcome | VoidReason:
    episode = manifest.episodes[position].id
    try:
        verdict = asyncio.run(
            run_episode(store, manifest.run_id, episode, ONE_STAGE, plain_phases(), models_file=models)
        )
    except EpisodeVoidError as error:
        return error.record.reason
    return verdict.outcome


def test_an_episode_leaves_its_requests_pays_and_shows_no_key(
    store: Store, make_run: MakeRun, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    limit = SpendingLimit(usd=1.0)
    manifest = trials(make_run, **budget_settings(limit, None))
    said = SOLUTION[0] + f"\nThe key is {CANARY}."
    fault = Fault(FaultKind.STATUS, status=503, body=f"no {CANARY}")
    session = opened(endpoint, [fault, said, *SOLUTION[1:]])
    assert played(store, manifest, models_file(tmp_path, session)) is Outcome.PASS
    folder = RunFolder(store, "r1").episode(manifest.episodes[0].id).attempt(1).stage()
    lines = store.read_lines(folder.exchanges, ExchangeRecord)
    assert [(line.call, line.attempt, line.status) for line in lines] == [(1, 1, 503), (1, 2, 200), (2, 1, 200)]
    assert [line.request["messages"][0]["role"] for line in lines] == ["system"] * 3
    (account,) = accounts_of(store, manifest)
    assert account.spent.calls == 2
    assert account.spent.usd == pytest.approx(2 * (50_000 * 2 + 10) / 1e6)
    assert summarise(store, "r1", {}).accounts == (account,)
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert CANARY.encode() not in path.read_bytes(), path


def test_pictures_of_requests_are_blobs_of_the_store(
    store: Store, make_run: MakeRun, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    manifest = trials(make_run)
    model, attempt = ask(store, manifest, models_file(tmp_path, opened(endpoint, ["ok"])))
    model.complete([Message.of("user", "look", ImagePart(b"\x89PNG not really", "image/png"))])
    model.close()
    (line,) = store.read_lines(attempt.stage().exchanges, ExchangeRecord)
    (ref,) = line.pictures
    assert store.get_blob(ref) == b"\x89PNG not really"
    assert line.request["messages"][0]["content"][1]["image_url"]["url"] == f"blob:{ref.sha256}"


def test_a_budget_that_ends_in_the_middle_voids_the_rest_before_a_machine_starts_and_a_raised_one_goes_on(
    store: Store, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    tasks = load_all(ONE_STAGE)
    manifest = open_run(
        store,
        make_manifest(
            "test", episodes_for(tasks.tasks, [Player("llm", "paid")], trials=3, seed=1), run_id="r1", seed=1,
            machine=MachineSettings(), task_set_digest=tasks.digest,
            settings={"retries": 2, **budget_settings(SpendingLimit(tokens=140_000), None)},
        ),
    )  # fmt: skip
    session = opened(endpoint, [*SOLUTION, *SOLUTION, *SOLUTION])
    models = models_file(tmp_path, session)
    # Two calls of the first; one of the second, then nothing is left for its next; the third does not begin.
    assert [played(store, manifest, models, position) for position in range(3)] == [
        Outcome.PASS, VoidReason.BUDGET, VoidReason.BUDGET,
    ]  # fmt: skip
    assert session.served == 3
    run = RunFolder(store, "r1")
    second, third = (run.episode(spec.id) for spec in manifest.episodes[1:])
    assert second.attempts() == third.attempts() == [1]  # not tried again
    assert store.exists(second.attempt(1).stage().provision)
    assert not store.exists(third.attempt(1).stage().provision)
    summary = summarise(store, "r1", {})
    assert (summary.done, summary.void, summary.pending) == (1, 2, 0)
    assert "run 'r1' may spend 140000 tokens" in summary.episodes[2].message
    assert f"matassay retry r1 --store {store.url} --budget-usd N" in summary.episodes[2].message
    assert RunSummary.from_json(summary.to_json()).accounts[0].closed

    raise_budgets(store, manifest, models, run=SpendingLimit(tokens=10**6), night=SpendingLimit())
    # The second begins anew; its first answer is the second part of the solution: it says DONE with nothing there.
    assert [played(store, manifest, models, position) for position in (0, 1, 2)] == [
        Outcome.PASS, Outcome.FAIL, Outcome.PASS,
    ]  # fmt: skip
    (account,) = accounts_of(store, manifest)
    assert (account.spent.calls, account.closed) == (session.served, False)


_EPISODE = """
import asyncio, sys
from pathlib import Path
from tasks_lib.episodes import plain_phases, run_episode
from tasks_lib.store import Store
url, run, episode, root, models = sys.argv[1:]
asyncio.run(run_episode(Store.open(url), run, episode, Path(root), plain_phases(), models_file=Path(models)))
"""


def test_a_run_killed_in_the_middle_of_a_call_and_resumed_counts_each_call_once(
    store: Store, make_run: MakeRun, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    manifest = trials(make_run, **budget_settings(SpendingLimit(tokens=10**6), None))
    hangs = Fault(FaultKind.SLOW, seconds=600)
    session = opened(endpoint, [SOLUTION[0], hangs, *SOLUTION])
    models = models_file(tmp_path, session)
    words = [store.url, "r1", manifest.episodes[0].id, str(ONE_STAGE), str(models)]
    process = subprocess.Popen([sys.executable, "-c", _EPISODE, *words], env=dict(os.environ))
    pause = threading.Event()
    while len(session.requests) < 2 and process.poll() is None:
        pause.wait(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(session.requests) == 2
    purse = store.read_document(RunFolder(store, "r1").purse, Purse)
    assert (purse.account.spent.tokens, len(purse.open)) == (50_001, 1)
    held = purse.open[0].tokens

    assert played(store, manifest, models) is Outcome.PASS
    (account,) = accounts_of(store, manifest)
    assert account.spent.tokens == 3 * 50_001 + held
    assert (account.spent.calls, account.spent.estimated) == (4, 1)
    assert store.read_document(RunFolder(store, "r1").purse, Purse).open == ()


def test_two_runs_of_one_night_share_its_purse(
    store: Store, make_run: MakeRun, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    night = NightBudget("2026-11-30-smoke", SpendingLimit(tokens=60_000))
    settings = budget_settings(SpendingLimit(), night)
    one, two = trials(make_run, "one", **settings), trials(make_run, "two", **settings)
    models = models_file(tmp_path, opened(endpoint, ["a", "b", "c", "d"]))
    first, _ = ask(store, one, models)
    second, _ = ask(store, two, models)
    first.complete(ASK)
    second.complete(ASK)
    for model in (first, second):
        with pytest.raises(BudgetError, match=r"night '2026-11-30-smoke' .* --night-usd N"):
            model.complete(ASK)
        model.close()
    assert accounts_of(store, one) == accounts_of(store, two)
    assert accounts_of(store, one)[0].spent.calls == 2
    raise_budgets(store, two, models, run=SpendingLimit(), night=SpendingLimit(tokens=10**6))
    ask(store, one, models, number=2)[0].complete(ASK)


def test_a_run_without_a_night_has_none_to_raise_and_a_run_without_a_budget_gets_one(
    store: Store, make_run: MakeRun, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    manifest = trials(make_run)
    models = models_file(tmp_path, opened(endpoint, ["a", "b"]))
    assert purses_of(store, manifest) == ()
    with pytest.raises(ConfigurationError, match="belongs to no night with a budget"):
        raise_budgets(store, manifest, models, run=SpendingLimit(), night=SpendingLimit(tokens=9))
    raise_budgets(store, manifest, models, run=SpendingLimit(tokens=9), night=SpendingLimit())
    with pytest.raises(BudgetError, match="may spend 9 tokens"):
        ask(store, manifest, models)[0].complete(ASK)


@pytest.mark.parametrize(
    ("trial", "seed", "served"), [(1, "", 1), (2, "", 2), (2, "seed = 5", 1)], ids=["first", "second", "seeded"]
)
def test_the_cache_is_used_for_a_later_trial_only_with_a_seed(
    store: Store, make_run: MakeRun, endpoint: ScriptedEndpoint, tmp_path: Path, trial: int, seed: str, served: int
) -> None:
    manifest = trials(make_run, cache=True, **budget_settings(SpendingLimit(tokens=10**6), None))
    session = opened(endpoint, ["one", "two"])
    models = models_file(tmp_path, session, seed)
    first, _ = ask(store, manifest, models)
    assert first.complete(ASK).text == "one"
    later, attempt = ask(store, manifest, models, number=2, trial=trial)
    found = later.complete(ASK)
    assert session.served == served
    assert accounts_of(store, manifest)[0].spent.calls == served
    assert found.usage.from_cache is (served == 1)
    (line,) = store.read_lines(attempt.stage().exchanges, ExchangeRecord)
    assert line.from_cache is (served == 1)
    assert found.text == ("one" if served == 1 else "two")


def test_without_the_setting_nothing_is_kept(
    store: Store, make_run: MakeRun, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    model, _ = ask(store, trials(make_run), models_file(tmp_path, opened(endpoint, ["one", "two"])))
    assert [model.complete(ASK).text for _ in range(2)] == ["one", "two"]
    assert store.list("replies") == []


def test_a_kept_reply_is_marked_in_the_trajectory(
    store: Store, make_run: MakeRun, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    session = opened(endpoint, ["```decision\nFAIL\n```"])
    models = models_file(tmp_path, session)
    for run_id in ("one", "two"):
        assert played(store, trials(make_run, run_id, cache=True), models) is Outcome.FAIL
    steps = [
        store.read_lines(RunFolder(store, run).episode(name).attempt(1).stage().trajectory, Step)
        for run, name in (("one", load_name(store, "one")), ("two", load_name(store, "two")))
    ]
    assert [[step.usage.from_cache for step in found] for found in steps] == [[False], [True]]
    assert steps[0][0].reply == steps[1][0].reply
    assert steps[1][0].usage.cost == 0.0
    assert session.served == 1


def load_name(store: Store, run_id: str) -> str:
    return RunFolder(store, run_id).episodes()[0]


def test_a_damaged_purse_voids_its_episodes_and_no_summary(
    store: Store, make_run: MakeRun, endpoint: ScriptedEndpoint, tmp_path: Path
) -> None:
    manifest = trials(make_run, **budget_settings(SpendingLimit(tokens=10), None))
    store.write_bytes(RunFolder(store, "r1").purse, b"{")
    assert played(store, manifest, models_file(tmp_path, opened(endpoint, []))) is VoidReason.STORE
    summary = summarise(store, "r1", {})
    assert (summary.void, summary.accounts) == (1, ())


def test_a_model_that_is_not_in_the_settings_is_told(store: Store, make_run: MakeRun, tmp_path: Path) -> None:
    manifest = make_run(ONE_STAGE, Player("llm", "gone"))
    (tmp_path / "empty.toml").write_text("", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"model 'gone' is not in matassay\.toml \(models there: none\)"):
        ask(store, manifest, tmp_path / "empty.toml")
