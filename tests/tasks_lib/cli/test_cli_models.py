"""`matassay models`, and a run that is refused because its model cannot do what its tasks need."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tasks_lib.cli import app
from tasks_lib.episodes import Selection, manifest_for, open_run
from tasks_lib.models import Canned, Fault, FaultKind, ScriptedEndpoint, ScriptedSession
from tasks_lib.models.capabilities import Capability
from tasks_lib.records import MachineSettings
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import RunFolder, Store

FIXTURES = Path(__file__).parents[2] / "fixtures"
CODE = FIXTURES / "episodes" / "one_stage"
KEY = "MATASSAY_TEST_MODEL_KEY"
RUN = import_module("tasks_lib.cli.run")  # the package has the command under this name


@pytest.fixture(scope="module")
def endpoint():
    with ScriptedEndpoint() as found:
        yield found


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Write a settings file with these sessions as models: `settings(name=session)`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(KEY, raising=False)
    path = tmp_path / "matassay.toml"
    monkeypatch.setenv("MATASSAY_CONFIG", str(path))

    def write(extra: str = "", **sessions: ScriptedSession) -> None:
        tables = []
        for name, session in sessions.items():
            variable = f"{KEY}_{name.upper()}"
            monkeypatch.setenv(variable, session.token)
            tables.append(
                f'[models.{name}]\nbase_url = "{session.base_url}"\nmodel = "scripted"\napi_key_env = "{variable}"\n'
                f"attempts = 1\n{extra}\n"
            )
        path.write_text("\n".join(tables), encoding="utf-8")

    return write


def _call(*words: str):
    return CliRunner().invoke(app, list(words))


def test_the_list_names_variables_and_never_keys(settings, endpoint, monkeypatch) -> None:
    session = endpoint.open([])
    settings("image = { enabled = false }", reads=session)
    listed = json.loads(_call("models", "list", "--json").stdout)
    assert [(row["name"], row["model"], row["key"]) for row in listed] == [("reads", "scripted", f"{KEY}_READS (set)")]
    monkeypatch.delenv(f"{KEY}_READS")
    table = _call("models", "list")
    assert table.exit_code == 0
    assert "NOT SET" in table.stdout
    assert session.token not in table.stdout + json.dumps(listed)
    assert not session.requests


def test_a_check_ends_with_1_where_a_claim_fails_and_0_where_only_what_is_not_claimed_does(settings, endpoint) -> None:
    blind = [Canned("Ready."), Canned("I see nothing."), Canned("7")]
    settings(sees=endpoint.open(blind))
    result = _call("models", "check", "--json")
    assert result.exit_code == 1, result.output
    rows = {row["capability"]: row for row in json.loads(result.stdout)}
    assert set(rows) == {capability.value for capability in Capability}
    assert [rows[name]["works"] for name in ("text", "image", "tool call")] == [True, False, False]
    assert [rows[name]["claimed"] for name in ("text", "image", "tool call")] == [True, True, False]
    assert rows["text"]["usage"]["input_tokens"] > 0

    settings("image = { enabled = false }", reads=endpoint.open([Canned("Ready."), Canned("7")]))
    result = _call("models", "check", "reads")
    assert result.exit_code == 0, result.output
    assert "FAILS" not in result.output


def test_a_model_whose_key_is_missing_does_not_keep_the_others_from_being_tried(
    settings, endpoint, monkeypatch
) -> None:
    good = endpoint.open([Canned("Ready."), Canned("7")])
    settings("image = { enabled = false }", good=good, lost=endpoint.open([]))
    monkeypatch.delenv(f"{KEY}_LOST")
    result = _call("models", "check", "--json")
    assert result.exit_code == 1
    rows = json.loads(result.stdout)
    assert [(row["model"], row["works"]) for row in rows if row["capability"] == "text"] == [
        ("good", True), ("lost", False),
    ]  # fmt: skip
    assert f"{KEY}_LOST" in next(row["said"] for row in rows if row["model"] == "lost")


@pytest.mark.parametrize("words", [("nobody",), ()])
def test_a_name_that_is_not_there_and_a_file_without_models_are_wrong_use(settings, endpoint, words) -> None:
    settings(**({"m": endpoint.open([])} if words else {}))
    result = _call("models", "check", *words)
    assert result.exit_code == 2
    assert "[models." in result.output


def _run(store: Path, *words: str):
    return _call(
        "run",
        "--agent",
        "llm",
        "--model",
        "m",
        "--taskdefs",
        str(CODE),
        "--store",
        str(store),
        "--unsafe-local",
        *words,
    )


def test_a_run_with_a_model_that_fails_is_refused_and_leaves_nothing(settings, endpoint, tmp_path: Path) -> None:
    settings(m=endpoint.open([Fault(FaultKind.STATUS, status=404, body="no such model")]))
    result = _run(tmp_path / "store")
    assert result.exit_code == 2, result.output
    said = " ".join(result.output.split())
    assert "the run was not started" in said
    assert "model 'm', text:" in said
    assert "status 404" in said
    assert "--no-model-check" in said
    assert Store.open(str(tmp_path / "store")).children("runs") == []


class _Engine:
    """Stands in the place of the orchestrator, which these tests do not need: it says that it was reached."""

    def warm_up(self) -> None:
        raise ConfigurationError("the engine was reached")

    def run(self, *_: object) -> None:
        self.warm_up()


@pytest.mark.parametrize(
    ("replies", "words", "asked"),
    [
        ([Canned("Ready.")], (), 1),
        ([Canned("Ready."), Canned("", calls=(("report", "{}"),))], ("--agent-setting", "replies=tools"), 2),
        ([Fault(FaultKind.STATUS, status=404)], ("--no-model-check",), 0),
    ],
)
def test_what_a_run_asks_its_model_before_it_starts(
    settings, endpoint, tmp_path: Path, monkeypatch, replies, words, asked
) -> None:
    monkeypatch.setattr(RUN, "load_engine", _Engine)
    session = endpoint.open(replies)
    settings(m=session)
    result = _run(tmp_path / "store", *words)
    said = " ".join(result.output.split())
    # A code task needs text; the call of the tool came without its number.
    assert ("tool call: asked to call report" in said) == (asked == 2)
    assert ("the engine was reached" in said) == (asked != 2)
    assert len(session.requests) == asked


def test_a_run_that_is_resumed_is_checked_as_well(settings, endpoint, tmp_path: Path) -> None:
    session = endpoint.open([Fault(FaultKind.STATUS, status=404)])
    settings(m=session)
    store = tmp_path / "store"
    planned = manifest_for(
        Selection(agents=("llm",), models=("m",), models_file=tmp_path / "matassay.toml", machine=MachineSettings(),
                  seed=0, hints=True, retries=0),
        CODE, run_id="r1", command=(),
    )  # fmt: skip
    open_run(Store.open(str(store)), planned)
    result = _call("run", "--resume", "r1", "--store", str(store), "--taskdefs", str(CODE))
    assert result.exit_code == 2, result.output
    assert "the run was not started" in result.output
    assert len(session.requests) == 1


def test_a_retry_is_checked_for_what_it_is_to_play(settings, endpoint, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(RUN, "load_engine", _Engine)
    session = endpoint.open([Fault(FaultKind.STATUS, status=404)])
    settings(m=session)
    store = Store.open(str(tmp_path / "store"))
    planned = manifest_for(
        Selection(agents=("llm",), models=("m",), models_file=tmp_path / "matassay.toml", machine=MachineSettings(),
                  seed=0, hints=True, retries=0),
        CODE, run_id="r1", command=(),
    )  # fmt: skip
    open_run(store, planned)
    words = ("retry", "r1", "--store", store.url, "--taskdefs", str(CODE))
    refused = _call(*words)
    assert refused.exit_code == 2, refused.output
    assert "the run was not started" in refused.output
    assert len(session.requests) == 1
    for spec in planned.episodes:
        store.write_bytes(RunFolder(store, "r1").episode(spec.id).attempt(1).verdict, b"{}")
    assert "the engine was reached" in _call(*words).output
    assert len(session.requests) == 1, "what has a verdict is not played, so its model is not asked"
