"""Budgets on the command line: the rest is VOID(budget), exit code and words say so, and retry goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tasks_lib.cli import app
from tasks_lib.cli.settings import load_settings
from tasks_lib.models import Canned, ChatFace, ScriptedEndpoint
from tasks_lib.records import RunManifest, RunSummary, SpendingLimit, VoidReason, VoidRecord
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import load_task

GOOD = Path(__file__).parents[2] / "fixtures" / "episodes" / "one_stage"
SOLUTION = load_task(next(GOOD.glob("*/*/*"))).transcript("oracle", "main")


class DearFace(ChatFace):
    """Answers every question by its step, whoever asks, and tells fifty thousand tokens for each."""

    def completion(self, reply: Canned, request: dict[str, Any], served: int) -> dict[str, Any]:
        body = super().completion(reply, request, served)
        body["usage"] = {"prompt_tokens": 50_000, "completion_tokens": 1, "total_tokens": 50_001}
        return body


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MATASSAY_CONFIG", raising=False)


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(DearFace()) as found:
        yield found


def _call(*words: str) -> Any:
    return CliRunner().invoke(app, [*words, "--store", "store", "--taskdefs", str(GOOD)])


_IN_ONE_PROCESS = """
import json, sys
from typer.testing import CliRunner
from tasks_lib.cli import app
results = [CliRunner().invoke(app, words) for words in json.loads(sys.argv[1])]
print(json.dumps([(int(result.exit_code), result.output) for result in results]))
"""


def _in_one_process(*commands: tuple[str, ...]) -> list[tuple[int, str]]:
    """Run commands one after the other in a process of their own; return exit code and output of each.

    Prefect keeps much for the life of a process: a second run there must not ask the server of the first.
    """
    words = [[*command, "--store", "store", "--taskdefs", str(GOOD)] for command in commands]
    done = subprocess.run(
        [sys.executable, "-c", _IN_ONE_PROCESS, json.dumps(words)],
        capture_output=True, text=True, check=True, env={**os.environ, "MATASSAY_STATE": "state"},
    )  # fmt: skip
    return [(code, _flat(output)) for code, output in json.loads(done.stdout.splitlines()[-1])]


def _flat(text: str) -> str:
    return " ".join(text.split())


def _settings(text: str) -> None:
    Path("matassay.toml").write_text(text, encoding="utf-8")


MODEL = '[models.dear]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n'


@pytest.mark.usefixtures("machines")
def test_a_run_stops_at_its_budget_and_retry_with_a_larger_one_goes_on(
    endpoint: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = endpoint.open([*SOLUTION, *SOLUTION])
    monkeypatch.setenv("DEAR_KEY", session.token)
    _settings(
        f'[models.dear]\nbase_url = "{session.base_url}"\nmodel = "m"\napi_key_env = "DEAR_KEY"\nstream = false\n'
        "max_tokens = 500\nattempts = 1\n"
    )
    words = ("--model", "dear", "--trials", "2", "--concurrency", "1", "--no-model-check")
    (code, said), low, second = _in_one_process(
        ("run", *words, "--resume", "night", "--budget-tokens", "90000"),
        ("retry", "night", "--budget-tokens", "100000", "--no-model-check"),
        ("retry", "night", "--budget-tokens", "900000", "--no-model-check"),
    )
    assert code == 1, said
    assert "1 episodes are VOID(budget): run 'night' may spend 90000 tokens at models, and" in said
    assert "100002 tokens in 2 calls are spent" in said
    assert "run 'night' has spent 100002 tokens in 2 calls and stopped there" in said
    assert "--budget-tokens N, which plays what is missing" in said
    assert "run 'night' has spent" in low[1]
    assert low[0] == 2
    assert second[0] == 0, second[1]
    assert "200004 tokens in 4 calls" in second[1]
    store = Store.open("store")
    run = RunFolder(store, "night")
    summary = store.read_document(run.summary, RunSummary)
    assert (summary.done, summary.void) == (2, 0)
    assert summary.accounts[0].limit == SpendingLimit(tokens=900_000)
    void = RunFolder(store, "night").episode(summary.episodes[1].id).attempt(1)
    assert store.read_document(void.void, VoidRecord).reason is VoidReason.BUDGET
    manifest = store.read_document(run.manifest, RunManifest)
    assert manifest.settings["budget"] == {"tokens": 90_000}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--model", "dear", "--budget-usd", "1"), "[models.dear] has no `price_per_million`"),
        (("run", "--model", "dear", "--budget-usd", "0"), "a budget in US dollars is a number above 0, got 0"),
        (("run", "--model", "dear", "--budget-usd", "nan"), "a budget in US dollars is a number above 0, got nan"),
        (("run", "--model", "dear", "--budget-tokens", "0"), "--budget-tokens"),
        (("run", "--model", "dear", "--agent-setting", "history"), "'history' is no KEY=VALUE"),
        (("run", "--model", "dear", "--agent-setting", "mood=good"), "no such setting"),
        (("retry", "no-such-run", "--budget-usd", "1"), "no run"),
    ],
)
def test_wrong_budgets_and_settings_end_with_2(words: tuple[str, ...], said: str) -> None:
    _settings(MODEL)
    result = _call(*words)
    assert result.exit_code == 2, result.output
    assert said in _flat(result.output)
    assert not Path("store/runs").exists()


def test_the_settings_file_names_budgets_cache_and_how_models_are_asked() -> None:
    _settings(
        "[run]\nbudget_usd = 5.0\nbudget_tokens = 1000\ncache = true\n[serve]\nnight_usd = 20\n"
        "[agent]\nhistory = 7\nreplies = 'tools'\n"
    )
    settings = load_settings()
    assert settings.run.limit == SpendingLimit(usd=5.0, tokens=1000)
    assert settings.serve.night_limit == SpendingLimit(usd=20.0)
    assert (settings.run.cache, settings.agent.history, settings.agent.replies) == (True, 7, "tools")


@pytest.mark.parametrize(
    "text", ["[run]\nbudget_usd = 0.0", "[run]\nbudget_tokens = -1", "[serve]\nnight_usd = nan", "[agent]\nmood = 1"]
)
def test_a_wrong_limit_in_the_file_is_told_with_its_key(text: str) -> None:
    _settings(text)
    assert tomllib.loads(text)
    result = _call("run", "--agent", "nop")
    assert result.exit_code == 2
    assert text.split("\n")[1].split(" ", maxsplit=1)[0] in _flat(result.output)


def test_a_run_is_not_gone_on_with_when_its_models_were_asked_otherwise(plan: Any) -> None:
    plan(Store.open("store"), GOOD, run_id="r1", settings={"agent": {"history": 5}})
    other = _call("run", "--resume", "r1", "--agent-setting", "history=6")
    assert other.exit_code == 2
    assert "was planned with agent setting history=5, which stays" in _flat(other.output)
