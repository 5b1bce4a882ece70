"""Flows over small code tasks in real machines, against real Prefect servers."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from flows import environment
from tasks_lib.records import RunManifest
from tasks_lib.store import Store

FIXTURES = Path(__file__).parents[1] / "fixtures"
ONE_STAGE = FIXTURES / "episodes" / "one_stage"
TWO_STAGES = FIXTURES / "episodes" / "two_stages"


def _until(condition: Callable[[], Any], seconds: float, what: str, every: float = 0.2) -> Any:
    """Ask until the answer is true; fail when the time is over."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds:.0f} s: {what}")
        time.sleep(every)
    return answer


@pytest.fixture(scope="session")
def until() -> Callable[..., Any]:
    return _until


def _started_by(pid: int) -> list[psutil.Process]:
    """Return a process and everything below it."""
    try:
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


@pytest.fixture(scope="session")
def started_by() -> Callable[[int], list[psutil.Process]]:
    return _started_by


@pytest.fixture(scope="session")
def alive() -> Callable[[list[psutil.Process]], list[psutil.Process]]:
    return _alive


def _alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Return those of the processes that still run."""
    found = []
    for process in processes:
        try:
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


@pytest.fixture
def one_stage() -> Path:
    return ONE_STAGE


@pytest.fixture
def two_stages() -> Path:
    return TWO_STAGES


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store"))


@pytest.fixture(scope="session")
def inline_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One Prefect server for the session, as `matassay run` starts it; Prefect is pointed at it."""
    where = environment.State(tmp_path_factory.mktemp("state"))
    from flows.inline import InlineServer

    outside = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    with InlineServer(where, outside) as server:
        from prefect import settings
        from prefect.events.worker import EventsWorker

        values = {
            settings.PREFECT_HOME: where.prefect_home,
            settings.PREFECT_API_URL: server.url,
            settings.PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
            settings.PREFECT_LOGGING_TO_API_ENABLED: False,
            settings.PREFECT_RESULTS_LOCAL_STORAGE_PATH: where.results,
            settings.PREFECT_RESULTS_DEFAULT_SERIALIZER: "json",
        }
        with settings.temporary_settings(values):
            _until(lambda: _answers(server.url), 120, "Prefect's server answers")
            # Prefect keeps one sender of events a process: an earlier test's would go on asking a server that is gone.
            EventsWorker.drain_all(timeout=10)
            yield server.url


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=60, trust_env=False).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


@dataclass
class House:
    """A running `matassay serve` and how to talk to it."""

    process: subprocess.Popen[bytes]
    origin: str
    store: Store
    taskdefs: Path
    models_file: Path
    state: Path
    environ: dict[str, str]

    def post(self, path: str, **body: Any) -> Any:
        """POST to the API and return what it answers."""
        answer = httpx.post(f"{self.origin}/api{path}", json=body, timeout=60, trust_env=False)
        answer.raise_for_status()
        return answer.json()

    def post_list(self, path: str, body: list[Any]) -> None:
        """POST a list to the API."""
        httpx.post(f"{self.origin}/api{path}", json=body, timeout=60, trust_env=False).raise_for_status()

    def get(self, path: str) -> Any:
        """GET from the API."""
        answer = httpx.get(f"{self.origin}/api{path}", timeout=60, trust_env=False)
        answer.raise_for_status()
        return answer.json()

    def start(self, manifest: RunManifest, *, model_check: bool = False) -> dict[str, Any]:
        """Create the flow run of a benchmark; most tests want a model that is down to be met by an episode."""
        deployment = self.get("/deployments/name/benchmark/benchmark")
        return self.post(
            f"/deployments/{deployment['id']}/create_flow_run",
            parameters={
                "store_url": self.store.url,
                "run_id": manifest.run_id,
                "taskdefs": str(self.taskdefs),
                "models_file": str(self.models_file),
                "model_check": model_check,
            },
            idempotency_key=manifest.run_id,
        )

    def episode(self, manifest: RunManifest, episode_id: str) -> dict[str, Any] | None:
        """Return the flow run of an episode, or None before it is created."""
        found = self.post(
            "/flow_runs/filter",
            flow_runs={"idempotency_key": {"any_": [f"{manifest.run_id}/{episode_id}"]}},
        )
        assert len(found) <= 1
        return found[0] if found else None

    def tasks(self, flow_run_id: str) -> dict[str, list[str]]:
        """Return the states of a flow run's task runs by name, oldest first."""
        found = self.post(
            "/task_runs/filter", task_runs={"flow_run_id": {"any_": [flow_run_id]}}, sort="EXPECTED_START_TIME_ASC"
        )
        states: dict[str, list[str]] = {}
        for run in found:
            states.setdefault(run["name"], []).append(run["state_name"])
        return states

    def ended(self, flow_run_id: str, run_count: int, seconds: float = 120) -> dict[str, Any]:
        """Wait for a flow run to end that often."""

        def look() -> dict[str, Any] | None:
            run = self.get(f"/flow_runs/{flow_run_id}")
            over = run["state_type"] in {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
            return run if over and run["run_count"] >= run_count else None

        return _until(look, seconds, f"flow run {flow_run_id} ends", every=0.5)


def _start_house(folder: Path, *, models: str = "", concurrency: int = 2) -> House:
    """Start `matassay serve` with everything of its own below a folder."""
    taskdefs = folder / "taskdefs"
    if not taskdefs.exists():
        shutil.copytree(ONE_STAGE, taskdefs)
    models_file = folder / "matassay.toml"
    models_file.write_text(models, encoding="utf-8")
    state = folder / "state"
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MATASSAY_"))}
    environ |= {"MATASSAY_CONFIG": str(models_file), "MATASSAY_STATE": str(state)}
    command = [
        sys.executable, "-m", "tasks_lib.cli", "serve", "--store", str(folder / "store"), "--state", str(state),
        "--port", "0", "--taskdefs", str(taskdefs), "--concurrency", str(concurrency),
    ]  # fmt: skip
    with (folder / "serve.log").open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environ, cwd=folder)
    served = state / "serve.json"

    def up() -> bool:
        assert process.poll() is None, (folder / "serve.log").read_text(encoding="utf-8")
        return served.exists() and json.loads(served.read_text(encoding="utf-8") or "{}").get("pid") == process.pid

    _until(up, 180, "matassay serve is up")
    origin = json.loads(served.read_text(encoding="utf-8"))["api_url"].removesuffix("/api")
    return House(process, origin, Store.open(str(folder / "store")), taskdefs, models_file, state, environ)


StartHouse = Callable[..., House]


@pytest.fixture(scope="module")
def start_house() -> Iterator[StartHouse]:
    """Start houses; those that still stand at the end are stopped as Ctrl-C does it."""
    houses: list[House] = []

    def start(folder: Path, **options: Any) -> House:
        houses.append(_start_house(folder, **options))
        return houses[-1]

    yield start
    for house in houses:
        if house.process.poll() is None:
            house.process.send_signal(signal.SIGINT)
            house.process.wait(60)
