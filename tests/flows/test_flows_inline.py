"""Runs in this process against a real Prefect server: states, references, artifacts, what is redone and what is not."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from flows.orders import Order
from tasks_lib.episodes import Player
from tasks_lib.models import ScriptedEndpoint
from tasks_lib.records import HandoffRecord, Outcome, RunManifest, RunSummary
from tasks_lib.store import RunFolder, Store

pytestmark = pytest.mark.usefixtures("machines", "inline_server")
MakeRun = Callable[..., RunManifest]
ORACLE, NOP = "lattice-parameter--oracle--t1", "lattice-parameter--nop--t1"


class Api:
    """Asks the server what it has recorded."""

    def __init__(self, url: str) -> None:
        self._url = url

    def post(self, path: str, **body: Any) -> Any:
        answer = httpx.post(f"{self._url}{path}", json=body, timeout=60, trust_env=False)
        answer.raise_for_status()
        return answer.json()

    def runs(self, run_id: str) -> list[dict[str, Any]]:
        """Return the flow runs of a run's episodes, oldest first."""
        found = self.post(
            "/flow_runs/filter", flow_runs={"tags": {"all_": [f"run:{run_id}"]}}, sort="EXPECTED_START_TIME_ASC"
        )
        return sorted(found, key=lambda run: run["created"])

    def tasks(self, flow_run_id: str) -> list[tuple[str, str]]:
        """Return names and states of a flow run's task runs; the recorder writes them a second later."""
        found = self.post(
            "/task_runs/filter", task_runs={"flow_run_id": {"any_": [flow_run_id]}}, sort="EXPECTED_START_TIME_ASC"
        )
        return [(run["name"], run["state_name"]) for run in found]

    def artifacts(self, prefix: str) -> dict[str, dict[str, Any]]:
        """Return the newest artifacts whose key begins so."""
        found = self.post("/artifacts/latest/filter", artifacts={"key": {"like_": prefix}})
        return {entry["key"]: entry for entry in found}


@pytest.fixture
def api(inline_server: str) -> Api:
    return Api(inline_server)


def play(store: Store, root: Path, run_id: str, *, concurrency: int = 2) -> Any:
    """Run the benchmark flow and return its final state."""
    from flows.benchmark import benchmark

    order = Order(
        store_url=store.url, run_id=run_id, taskdefs=str(root), concurrency=concurrency, executor="inline"
    )  # fmt: skip
    return asyncio.run(benchmark(**order.flow_parameters(), return_state=True))


def test_a_run_whose_settings_are_wrong_is_refused_in_words(store: Store, plan: MakeRun, one_stage: Path) -> None:
    plan(store, one_stage, Player("llm", model="gone"), run_id="refused")
    state = play(store, one_stage, "refused")
    assert (state.name, state.is_failed()) == ("Refused", True)
    assert state.message.startswith("model 'gone' is not in matassay.toml")
    assert store.children("runs/refused") == ["manifest.json"]


def test_pass_and_fail_are_completed_and_the_run_with_them(
    store: Store, plan: MakeRun, one_stage: Path, api: Api, until
) -> None:
    plan(store, one_stage, Player("oracle"), Player("nop"), run_id="both")
    state = play(store, one_stage, "both")
    assert (state.name, state.message) == ("Completed", "2 of 2 episodes done, 0 VOID, 0 not done")
    messages = {run["name"]: (run["state_name"], run["state"]["message"]) for run in api.runs("both")}
    assert messages == {
        ORACLE: ("Completed", "PASS: 3 of 3 points"),
        NOP: ("Completed", "FAIL: 0 of 3 points"),
    }
    phases = ["provision", "initialise", "act", "collect", "evaluate"]
    run = next(run for run in api.runs("both") if run["name"] == ORACLE)
    until(
        lambda: api.tasks(run["id"]) == [(phase, "Completed") for phase in phases], 90, "the recorder wrote five tasks"
    )
    assert (store.local_path(RunFolder(store, "both").report) / "index.html").is_file()


def test_the_graph_shows_what_follows_what(
    store: Store, plan: MakeRun, one_stage: Path, api: Api, inline_server: str, until
) -> None:
    plan(store, one_stage, run_id="graph")
    play(store, one_stage, "graph")
    run = api.runs("graph")[0]["id"]
    expected = {
        ("initialise", "provision"),
        ("act", "initialise"),
        ("collect", "act"),
        ("evaluate", "collect"),
    }

    def edges() -> set[tuple[str, str]]:
        graph = httpx.get(f"{inline_server}/flow_runs/{run}/graph-v2", timeout=60, trust_env=False).json()
        label = {identity: node["label"] for identity, node in graph["nodes"]}
        return {
            (label[identity], label[parent["id"]])
            for identity, node in graph["nodes"]
            for parent in node["parents"]
            if parent["id"] in label
        }

    # Prefect's recorder writes tasks and what they followed from events, some time after the run has ended.
    until(lambda: len(edges()) >= len(expected), 90, "the recorder wrote what follows what")
    assert edges() == expected


def test_only_references_are_kept_by_prefect(
    store: Store, plan: MakeRun, one_stage: Path, api: Api, inline_server: str, until
) -> None:
    from prefect.settings import PREFECT_RESULTS_LOCAL_STORAGE_PATH

    results = Path(PREFECT_RESULTS_LOCAL_STORAGE_PATH.value())
    before = set(results.iterdir())
    plan(store, one_stage, run_id="kept")
    play(store, one_stage, "kept")
    kept = [json.loads(path.read_text(encoding="utf-8")) for path in set(results.iterdir()) - before]
    references = sorted((json.loads(entry["result"]) for entry in kept), key=str)
    base = f"runs/kept/episodes/{ORACLE}/attempt-001"
    assert references == sorted(
        (
            {"path": f"{base}/trajectory.jsonl", "ending": "done"},
            {"path": f"{base}/evidence.json"},
            {"path": f"{base}/verdict.json"},
        ),
        key=str,
    )


def test_a_void_is_failed_with_its_reason_and_the_run_is_red(
    store: Store, plan: MakeRun, one_stage: Path, api: Api, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(one_stage, tmp_path / "taskdefs"))
    plan(store, root, Player("oracle"), Player("nop"), run_id="void")
    (root / "open" / "powder" / "lattice-parameter" / "oracle.md").unlink()
    state = play(store, root, "void")
    assert state.name == "Failed"
    runs = {run["name"]: run["state"] for run in api.runs("void")}
    assert runs[ORACLE]["type"] == "FAILED"
    assert runs[ORACLE]["message"].startswith(f"VOID(task) {ORACLE} in phase ")
    summary = store.read_document(RunFolder(store, "void").summary, RunSummary)
    assert summary.void + summary.done == 2


def test_a_run_is_redone_only_where_something_is_missing(
    store: Store, plan: MakeRun, one_stage: Path, api: Api, until
) -> None:
    plan(store, one_stage, Player("oracle"), Player("nop"), run_id="again")
    play(store, one_stage, "again")
    attempt = RunFolder(store, "again").episode(ORACLE).attempt(1)
    provisioned = store.read_bytes(attempt.stage().provision)
    verdict = store.read_bytes(attempt.verdict)
    store.delete(attempt.verdict)
    state = play(store, one_stage, "again")
    assert state.name == "Completed"
    # The evidence is there: judged again from it, to the same byte, and no machine was opened.
    assert store.read_bytes(attempt.verdict) == verdict
    assert store.read_bytes(attempt.stage().provision) == provisioned
    assert RunFolder(store, "again").episode(ORACLE).attempts() == [1]
    runs = api.runs("again")
    assert [run["name"] for run in runs].count(NOP) == 1
    # Prefect's cached reference refers to nothing any more, so the phase ran again.
    redone = [("evaluate", "Cached"), ("evaluate", "Completed")]
    until(lambda: api.tasks(runs[-1]["id"]) == redone, 90, "one phase was redone")


def test_a_finished_run_starts_no_episode(store: Store, plan: MakeRun, one_stage: Path, api: Api) -> None:
    plan(store, one_stage, Player("nop"), run_id="done")
    first = play(store, one_stage, "done")
    assert play(store, one_stage, "done").message == first.message
    assert len(api.runs("done")) == 1


def test_stages_are_played_on_machines_of_their_own_and_hand_over(
    store: Store, plan: MakeRun, two_stages: Path, api: Api, until
) -> None:
    manifest = plan(store, two_stages, Player("oracle"), run_id="mixed")
    state = play(store, two_stages, "mixed")
    assert state.name == "Completed", state.message
    episode = manifest.episodes[0].id
    run = api.runs("mixed")[0]
    phases = ("provision", "initialise", "act", "collect")
    wanted = [f"{phase} double" for phase in phases] + ["hand-off double"] + [f"{phase} cube" for phase in phases]
    until(lambda: [name for name, _ in api.tasks(run["id"])] == [*wanted, "evaluate"], 90, "ten phases")
    folder = RunFolder(store, "mixed").episode(episode)
    check = store.read_document(folder.handoff_check("double", "edge.json"), HandoffRecord)
    assert all(entry.passed for entry in check.checks)
    artifacts = api.artifacts("episode-mixed")
    overview = artifacts["episode-mixed-doubled-edge-oracle-t1-overview"]["data"]
    assert "(/files/runs/mixed/handoffs/doubled-edge--oracle--t1/double/edge.json)" in overview
    assert "Stage cube" in overview
    assert "episode-mixed-doubled-edge-oracle-t1-handoff-double-edge-json" in artifacts


def test_the_run_has_a_table_a_summary_and_a_progress(store: Store, plan: MakeRun, one_stage: Path, api: Api) -> None:
    plan(store, one_stage, Player("oracle"), Player("nop"), run_id="shown")
    play(store, one_stage, "shown")
    artifacts = api.artifacts("run-shown")
    assert set(artifacts) == {"run-shown-progress", "run-shown-table", "run-shown-summary"}
    assert artifacts["run-shown-progress"]["data"] == 100.0
    rows = json.loads(artifacts["run-shown-table"]["data"])
    assert {row["episode"]: row["outcome"] for row in rows} == {ORACLE: "PASS", NOP: "FAIL"}
    assert "| oracle | 1 | 1 | 0 | 100.0 % |" in artifacts["run-shown-summary"]["data"]


def test_a_full_disk_is_void_in_the_table_though_nothing_could_be_written(
    store: Store, plan: MakeRun, one_stage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(store, one_stage, run_id="full")
    monkeypatch.setenv("MATASSAY_MIN_FREE_MB", str(2**40))
    state = play(store, one_stage, "full")
    summary = RunSummary.model_validate(asyncio.run(state.aresult(raise_on_failure=False)))
    assert [(row.outcome, row.void_reason) for row in summary.episodes] == [(Outcome.VOID, "disk full")]
    assert "MiB free" in summary.episodes[0].message


def test_a_proof_that_does_not_hold_is_red(
    store: Store, plan: MakeRun, one_stage: Path, tmp_path: Path, api: Api
) -> None:
    from flows.prove import prove

    plan(store, one_stage, Player("oracle"), Player("nop"), run_id="proof")
    order = Order(store_url=store.url, run_id="proof", taskdefs=str(one_stage), executor="inline")
    state = asyncio.run(prove(**order.flow_parameters(), return_state=True))
    assert (state.name, state.message) == ("Completed", "2 of 2 proofs hold")

    root = Path(shutil.copytree(one_stage, tmp_path / "spoiled"))
    next(root.glob("*/*/*/oracle.md")).write_text("```decision\nDONE\n```\n", encoding="utf-8")
    plan(store, root, Player("oracle"), Player("nop"), run_id="no-proof")
    order = Order(store_url=store.url, run_id="no-proof", taskdefs=str(root), executor="inline")
    state = asyncio.run(prove(**order.flow_parameters(), return_state=True))
    assert state.name == "Failed"
    assert state.message.startswith("1 of 2 proofs hold; first: ")
    rows = json.loads(api.artifacts("run-no-proof-proofs")["run-no-proof-proofs"]["data"])
    assert [(row["player"], row["holds"]) for row in rows] == [("oracle", False), ("nop", True)]


def test_a_night_is_claimed_once_and_compared_with_the_last(
    store: Store, one_stage: Path, tmp_path: Path, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows.nightly import claim, nightly

    monkeypatch.chdir(tmp_path)
    root = Path(shutil.copytree(one_stage, tmp_path / "taskdefs"))
    (root / "benchmarks").mkdir()
    (root / "benchmarks" / "tiny.yaml").write_text(
        "name: tiny\nwhat: One task, twice.\nselect: {suites: [open]}\nagents: [oracle, nop]\ntrials: 1\n",
        encoding="utf-8",
    )
    given: dict[str, Any] = {
        "store_url": store.url, "taskdefs": str(root), "benchmark_name": "tiny", "time_zone": "Europe/London",
        "prove_sample": 1, "executor": "inline",
    }  # fmt: skip
    first = asyncio.run(nightly(**given, return_state=True))
    assert first.name == "Completed", first.message
    again = asyncio.run(nightly(**given, return_state=True))
    assert "is played by flow run" in again.message
    night = store.children("nights")[0]
    assert claim(store, f"nights/{night}", "another") != "another"
    text = api.artifacts("nightly-tiny")["nightly-tiny"]["data"]
    assert "no earlier run to compare with" in text
    assert "proofs hold" in text


def test_a_model_that_cannot_do_what_the_tasks_need_does_not_play_the_night(
    store: Store, one_stage: Path, tmp_path: Path, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows.nightly import nightly

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NIGHT_KEY", "no key of this endpoint")
    root = Path(shutil.copytree(one_stage, tmp_path / "taskdefs"))
    (root / "benchmarks").mkdir()
    (root / "benchmarks" / "asked.yaml").write_text(
        "name: asked\nwhat: One task for a model.\nselect: {suites: [open]}\nagents: [llm]\ntrials: 1\n",
        encoding="utf-8",
    )
    with ScriptedEndpoint() as endpoint:
        session = endpoint.open([])
        models = tmp_path / "matassay.toml"
        models.write_text(
            f'[models.night]\nbase_url = "{session.base_url}"\nmodel = "m"\napi_key_env = "NIGHT_KEY"\n',
            encoding="utf-8",
        )
        state = asyncio.run(
            nightly(
                store_url=store.url, taskdefs=str(root), benchmark_name="asked", models_file=str(models),
                prove_sample=0, executor="inline", return_state=True,
            )
        )  # fmt: skip
    assert state.name == "Failed"
    assert "asked-night not whole" in state.message
    text = api.artifacts("nightly-asked")["nightly-asked"]["data"]
    assert "the run was not started" in text
    assert "401" in text
    (run_id,) = store.children("runs")
    assert store.children(f"runs/{run_id}") == ["manifest.json"]
