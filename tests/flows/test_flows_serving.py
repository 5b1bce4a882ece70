"""`matassay serve` with PostgreSQL, real runners and a real browser: what is red, what Retry redoes, what is left."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tasks_lib.episodes import Player
from tasks_lib.instruments.tuning.folder import TuningFolder
from tasks_lib.records import Lease, Provision, RunManifest, RunSummary, VoidRecord, now
from tasks_lib.store import RunFolder

pytestmark = [pytest.mark.serving, pytest.mark.timeout(600)]
MakeRun = Callable[..., RunManifest]
TASK = "lattice-parameter"
ORACLE, LLM = f"{TASK}--oracle--t1", f"{TASK}--llm-local--t1"


class Endpoint:
    """A chat model on loopback that is down, silent, or answers with the oracle's replies."""

    def __init__(self, replies: tuple[str, ...]) -> None:
        self._replies = replies
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])
        self._server: ThreadingHTTPServer | None = None
        self.asked = threading.Event()
        self.silent = threading.Event()
        self.over = threading.Event()

    def up(self) -> None:
        """Begin to answer."""
        endpoint, turn = self, iter(range(10**6))

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.asked.set()
                if endpoint.silent.is_set():
                    endpoint.over.wait()
                    return
                text = endpoint._replies[next(turn) % len(endpoint._replies)]
                body = json.dumps(
                    {
                        "id": "1", "object": "chat.completion", "model": "canned",
                        "choices": [
                            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                        ],
                        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
                    }
                ).encode()  # fmt: skip
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def down(self) -> None:
        """Refuse connections."""
        self.over.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("serve")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    from tasks_lib.taskdefs import load_task

    fixtures = Path(__file__).parents[1] / "fixtures" / "episodes" / "one_stage"
    found = Endpoint(load_task(fixtures / "open" / "powder" / TASK).transcript("oracle", "main"))
    yield found
    found.down()


@pytest.fixture(scope="module")
def house(folder: Path, endpoint: Endpoint, start_house: Callable[..., Any], machines: None) -> Any:
    return start_house(folder, models=_model(endpoint))


def _model(endpoint: Endpoint) -> str:
    return (
        f'[models.local]\nbase_url = "http://127.0.0.1:{endpoint.port}/v1"\nmodel = "canned"\nattempts = 1\n'
        "read_seconds = 600.0\n"
    )


@pytest.fixture(scope="module")
def zombie(house: Any) -> str:
    """A flow run that says Running, sent one heartbeat and will never send another; looked at in the end."""
    deployment = house.get("/deployments/name/episode/episode")
    run = house.post(
        "/flow_runs/", name="zombie", flow_id=deployment["flow_id"], tags=["matassay"], state={"type": "RUNNING"}
    )
    house.post_list(
        "/events",
        [
            {
                "id": str(uuid.uuid4()),
                "occurred": now().isoformat(),
                "event": "prefect.flow-run.heartbeat",
                "resource": {"prefect.resource.id": f"prefect.flow-run.{run['id']}"},
                "related": [{"prefect.resource.id": "prefect.tag.matassay", "prefect.resource.role": "tag"}],
                "payload": {},
            }
        ],
    )
    return run["id"]


@pytest.fixture(scope="module")
def void_run(house: Any, zombie: str, plan: MakeRun) -> tuple[RunManifest, dict[str, Any]]:
    """A run of two episodes of which one is VOID: its model's endpoint is down."""
    manifest = plan(house.store, house.taskdefs, Player("oracle"), Player("llm", model="local"), run_id="night")
    parent = house.start(manifest)
    return manifest, house.ended(parent["id"], 1, seconds=240)


def test_a_void_episode_is_red_and_its_run_too(house: Any, void_run: tuple[RunManifest, dict[str, Any]]) -> None:
    manifest, parent = void_run
    assert (parent["state_type"], parent["state"]["message"]) == (
        "FAILED",
        "1 of 2 episodes done, 1 VOID, 0 not done",
    )
    red, green = house.episode(manifest, LLM), house.episode(manifest, ORACLE)
    assert (red["state_type"], green["state_type"]) == ("FAILED", "COMPLETED")
    assert red["state"]["message"].startswith(f"VOID(endpoint) {LLM} in phase act: ")
    assert green["state"]["message"] == "PASS: 3 of 3 points"
    assert {"matassay", "run:night"} <= set(red["tags"])


@pytest.mark.browser
def test_retry_in_the_browser_redoes_what_is_missing_and_refreshes_the_run(
    house: Any, void_run: tuple[RunManifest, dict[str, Any]], endpoint: Endpoint, until: Callable[..., Any]
) -> None:
    manifest, parent = void_run
    red, green = house.episode(manifest, LLM), house.episode(manifest, ORACLE)
    before = house.tasks(green["id"])
    refused: list[str] = []
    endpoint.up()
    with _page(house.origin) as page:
        page.on("request", lambda request: refused.append(request.url) if _is_outside(request.url) else None)
        page.goto(f"{house.origin}/v2/runs/flow-run/{red['id']}")
        page.get_by_text("Failed", exact=True).first.wait_for()
        page.get_by_role("button", name="Open menu").click()
        page.get_by_role("menuitem", name="Retry").click()
        page.get_by_role("alertdialog").or_(page.get_by_role("dialog")).get_by_role("button", name="Retry").click()
        again = house.ended(red["id"], 2)
        page.get_by_text("Completed", exact=True).first.wait_for()
    assert (again["state_type"], again["state"]["message"]) == ("COMPLETED", "PASS: 3 of 3 points")
    assert refused == []

    # The other episode was not touched, and the one that was redone began a new attempt on a machine of its own.
    assert house.tasks(green["id"]) == before
    assert house.episode(manifest, ORACLE)["run_count"] == 1
    episode = RunFolder(house.store, "night").episode(LLM)
    assert episode.attempts() == [1, 2]
    first, second = (house.store.read_document(episode.attempt(n).stage().provision, Provision) for n in (1, 2))
    assert first.machine_id != second.machine_id
    until(lambda: house.tasks(red["id"]).get("evaluate") == ["Completed"], 90, "the task runs are recorded")

    # Nobody has to retry the run for its table: the episode brings it up to date.
    summary = house.store.read_document(RunFolder(house.store, "night").summary, RunSummary)
    assert (summary.done, summary.void) == (2, 0)
    latest = house.post("/artifacts/latest/filter", artifacts={"key": {"like_": "run-night-table"}})
    assert {row["outcome"] for row in json.loads(latest[0]["data"])} == {"PASS"}
    assert house.get(f"/flow_runs/{parent['id']}")["state_type"] == "FAILED"


def test_retrying_the_run_starts_nothing_that_is_done(
    house: Any, void_run: tuple[RunManifest, dict[str, Any]], endpoint: Endpoint
) -> None:
    manifest, parent = void_run
    counts = {name: house.episode(manifest, name)["run_count"] for name in (ORACLE, LLM)}
    _retry(house, parent["id"])
    again = house.ended(parent["id"], 2)
    assert (again["state_type"], again["state"]["message"]) == (
        "COMPLETED",
        "2 of 2 episodes done, 0 VOID, 0 not done",
    )
    assert {name: house.episode(manifest, name)["run_count"] for name in (ORACLE, LLM)} == counts


def test_retrying_the_run_judges_again_what_was_only_not_judged(
    house: Any, void_run: tuple[RunManifest, dict[str, Any]], endpoint: Endpoint, until: Callable[..., Any]
) -> None:
    """The verdict is gone, the evidence is there: one phase is redone, no machine is opened."""
    manifest, parent = void_run
    attempt = RunFolder(house.store, "night").episode(ORACLE).attempt(1)
    verdict = house.store.read_bytes(attempt.verdict)
    house.store.delete(attempt.verdict)
    _retry(house, parent["id"])
    assert house.ended(parent["id"], 3)["state_type"] == "COMPLETED"
    assert house.store.read_bytes(attempt.verdict) == verdict
    assert RunFolder(house.store, "night").episode(ORACLE).attempts() == [1]
    run = house.episode(manifest, ORACLE)
    assert run["run_count"] == 2
    until(lambda: house.tasks(run["id"]).get("evaluate") == ["Completed", "Cached", "Completed"], 90, "judged again")
    assert house.tasks(run["id"])["provision"] == ["Completed"]


def test_a_cancelled_episode_gives_its_machine_back(
    house: Any, plan: MakeRun, endpoint: Endpoint, until: Callable[..., Any]
) -> None:
    manifest, run, machine = _acting(house, plan, endpoint, "cancelled", until)
    house.post(f"/flow_runs/{run['id']}/set_state", state={"type": "CANCELLING", "name": "Cancelling"})
    ended = house.ended(run["id"], 1)
    assert ended["state_type"] == "CANCELLED"
    until(lambda: not psutil.pid_exists(machine.machine_pid), 90, "the machine has ended")
    attempt = RunFolder(house.store, manifest.run_id).episode(LLM).attempt(1)
    assert house.store.read_document(attempt.void, VoidRecord).reason == "cancelled"
    assert house.store.read_document(attempt.lease, Lease).released is not None


def test_kill_9_of_an_episode_is_told_by_the_hook_of_its_runner(
    house: Any, plan: MakeRun, endpoint: Endpoint, until: Callable[..., Any]
) -> None:
    manifest, run, machine = _acting(house, plan, endpoint, "cut-off", until)
    attempt = RunFolder(house.store, manifest.run_id).episode(LLM).attempt(1)
    owner = int(house.store.read_document(attempt.lease, Lease).owner.split(":")[-3])
    os.kill(owner, signal.SIGKILL)
    ended = house.ended(run["id"], 1)
    assert ended["state_type"] == "CRASHED"
    until(lambda: not psutil.pid_exists(machine.machine_pid), 90, "the machine has ended")
    until(lambda: house.store.exists(attempt.void), 90, "the hook wrote why")
    assert "cut off" in house.store.read_document(attempt.void, VoidRecord).message


def test_kill_9_of_the_runner_leaves_no_machine_and_the_episode_can_be_retried(
    house: Any, plan: MakeRun, endpoint: Endpoint, until: Callable[..., Any], started_by: Any, alive: Any
) -> None:
    _, run, machine = _acting(house, plan, endpoint, "killed", until)
    runner = _program(house, "episodes")
    below = started_by(runner.pid)
    runner.kill()
    ended = house.ended(run["id"], 1)
    assert ended["state_type"] in {"CRASHED", "CANCELLED"}
    until(lambda: not alive(below), 60, "nothing of the runner is left")
    until(lambda: not psutil.pid_exists(machine.machine_pid), 90, "the machine has ended")
    endpoint.silent.clear()
    _retry(house, run["id"])
    again = house.ended(run["id"], 2, seconds=180)
    assert (again["state_type"], again["state"]["message"]) == ("COMPLETED", "PASS: 3 of 3 points")
    assert _program(house, "episodes").pid != runner.pid


def test_a_run_whose_model_does_not_answer_is_refused_on_the_server(
    house: Any, plan: MakeRun, endpoint: Endpoint, folder: Path
) -> None:
    """Where the keys are; the command line says what the server found, though the run was played once."""
    endpoint.down()
    manifest = plan(house.store, house.taskdefs, Player("llm", model="local"), run_id="unfit")
    parent = house.start(manifest, model_check=True)
    ended = house.ended(parent["id"], 1)
    assert (ended["state_type"], ended["state_name"]) == ("FAILED", "Refused")
    assert "model 'local', text: " in ended["state"]["message"]
    assert house.episode(manifest, LLM) is None
    assert house.store.children("runs/unfit") == ["manifest.json"]
    said = _on_the_command_line(house, folder, "unfit")
    assert said.returncode == 2, said.stdout
    assert "the run was not started" in said.stderr


def test_the_command_line_goes_on_with_a_run_on_the_server(
    house: Any, void_run: tuple[RunManifest, dict[str, Any]], folder: Path
) -> None:
    _, parent = void_run
    before = house.get(f"/flow_runs/{parent['id']}")["run_count"]
    done = _on_the_command_line(house, folder, "night")
    assert done.returncode == 0, done.stderr
    assert house.get(f"/flow_runs/{parent['id']}")["run_count"] == before + 1


@pytest.mark.browser
def test_links_and_pictures_of_artifacts_open(house: Any, void_run: tuple[RunManifest, dict[str, Any]]) -> None:
    summary = house.post("/artifacts/latest/filter", artifacts={"key": {"like_": "run-night-summary"}})[0]
    with _page(house.origin) as page:
        page.goto(f"{house.origin}/v2/artifacts/artifact/{summary['latest_id']}")
        # Each is waited for: the page may write its links one after another, or anew.
        links = [
            page.get_by_role("link", name=name, exact=True).first.get_attribute("href")
            for name in ("Report", "summary.json", "manifest.json")
        ]
        assert all(link.startswith("/files/") for link in links)
        answer = page.goto(house.origin + links[0])
        assert answer.status == 200
        assert answer.headers["content-security-policy"].startswith("sandbox;")
        assert "night" in page.content()


def test_a_tuning_that_is_cancelled_restores_the_gains_and_its_retry_goes_on(
    house: Any, until: Callable[..., Any]
) -> None:
    deployment = house.get("/deployments/name/afm-pid-tuning/afm-pid-tuning")
    order = {"strategy": "integral-ramp", "budget": 12, "fresh_frames": 2}
    run = house.post(
        f"/deployments/{deployment['id']}/create_flow_run", parameters={"tuning_id": "served", "order": order}
    )
    tuning = TuningFolder(house.store, "served")
    until(lambda: any(one.plan.role == "search" for one in tuning.scans()), 180, "a scan of the search is kept")
    house.post(f"/flow_runs/{run['id']}/set_state", state={"type": "CANCELLING", "name": "Cancelling"})
    assert house.ended(run["id"], 1)["state_type"] == "CANCELLED"
    (attempt,) = until(tuning.read_attempts, 60, "the session says how it ended")
    assert (attempt.finished, attempt.gains) == (False, tuning.order().start)
    known = [one.plan.label for one in tuning.scans()]
    assert len(known) < 16
    _retry(house, run["id"])
    again = house.ended(run["id"], 2)
    result = tuning.read_result()
    assert (again["state_type"], again["state"]["message"]) == ("COMPLETED", result.message)
    labels = [one.plan.label for one in tuning.scans()]
    assert labels[: len(known)] == known
    assert len(set(labels)) == len(labels)
    page = house.post("/artifacts/latest/filter", artifacts={"key": {"like_": "tuning-served"}})
    shown = next(one["data"] for one in page if one["key"] == "tuning-served")
    for path in re.findall(r"!\[[^]]*\]\((/files/[^)]+)\)", shown):
        answer = httpx.get(house.origin + path, trust_env=False)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")


def test_the_ui_is_told_the_right_port_and_foreign_hosts_are_refused(house: Any) -> None:
    import httpx

    settings = httpx.get(f"{house.origin}/ui-settings", trust_env=False).json()
    assert settings["api_url"] == f"{house.origin}/api"
    foreign = httpx.get(f"{house.origin}/api/health", headers={"Host": "evil.example"}, trust_env=False)
    assert foreign.status_code == 400


def test_nights_are_scheduled_one_at_a_time(house: Any) -> None:
    deployment = house.get("/deployments/name/nightly/nightly")
    schedule = deployment["schedules"][0]
    assert (schedule["schedule"]["cron"], schedule["schedule"]["timezone"]) == ("0 3 * * *", "UTC")
    assert deployment["global_concurrency_limit"]["limit"] == 1
    assert deployment["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"


def test_a_second_serve_on_the_same_state_is_refused(house: Any, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tasks_lib.cli", "serve", "--store", str(folder / "store"), "--state",
         str(house.state), "--port", "0", "--taskdefs", str(house.taskdefs)],
        env=house.environ, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2
    assert "another `matassay serve`" in " ".join(done.stderr.split())


def test_a_flow_run_without_heartbeat_has_crashed(house: Any, zombie: str) -> None:
    """The automation, over the real event system; most of its 90 s passed while the other tests ran."""
    assert house.ended(zombie, 0, seconds=150)["state_type"] == "CRASHED"


def test_ctrl_c_stops_everything_and_leaves_nothing(
    house: Any, plan: MakeRun, endpoint: Endpoint, until: Callable[..., Any], started_by: Any, alive: Any
) -> None:
    """Last: an episode is at work, and the next house is killed with -9."""
    _, _, machine = _acting(house, plan, endpoint, "interrupted", until)
    everything = started_by(house.process.pid)
    assert len(everything) > 8
    house.process.send_signal(signal.SIGINT)
    assert house.process.wait(90) == 0
    until(lambda: not alive(everything), 90, "nothing is left")
    assert not psutil.pid_exists(machine.machine_pid)
    assert not (house.state / "serve.json").exists()
    attempt = RunFolder(house.store, "interrupted").episode(LLM).attempt(1)
    assert house.store.read_document(attempt.lease, Lease).released is not None


def test_kill_9_of_serve_leaves_nothing_and_the_next_one_goes_on(
    house: Any,
    zombie: str,
    folder: Path,
    plan: MakeRun,
    endpoint: Endpoint,
    start_house: Any,
    until: Any,
    started_by: Any,
    alive: Any,
) -> None:
    if house.process.poll() is None:
        house.process.send_signal(signal.SIGTERM)
        house.process.wait(90)
    second = start_house(folder, models=_model(endpoint))
    # The database was kept: the flow run of the first house is there.
    assert second.get(f"/flow_runs/{zombie}")["name"] == "zombie"
    _, _, machine = _acting(second, plan, endpoint, "killed-house", until)
    everything = started_by(second.process.pid)
    second.process.kill()
    second.process.wait()
    until(lambda: not alive(everything), 60, "nothing is left")
    assert not psutil.pid_exists(machine.machine_pid)


def _acting(
    house: Any, plan: MakeRun, endpoint: Endpoint, run_id: str, until: Callable[..., Any]
) -> tuple[RunManifest, dict[str, Any], Lease]:
    """Bring an episode into its act phase, where it waits for a model that never answers."""
    endpoint.silent.set()
    endpoint.asked.clear()
    endpoint.over.clear()
    if endpoint._server is None:
        endpoint.up()
    manifest = plan(house.store, house.taskdefs, Player("llm", model="local"), run_id=run_id)
    house.start(manifest)
    assert endpoint.asked.wait(180), "the agent never asked its model"
    run = until(lambda: house.episode(manifest, LLM), 90, "the flow run exists")
    lease = house.store.read_document(RunFolder(house.store, run_id).episode(LLM).attempt(1).lease, Lease)
    assert lease.flow_run_id == run["id"]
    assert psutil.pid_exists(lease.machine_pid)
    return manifest, run, lease


def _on_the_command_line(house: Any, folder: Path, run_id: str) -> subprocess.CompletedProcess[str]:
    """Go on with a run by `matassay run`, played by the server."""
    return subprocess.run(
        [sys.executable, "-m", "tasks_lib.cli", "run", "--resume", run_id, "--store", str(folder / "store"),
         "--taskdefs", str(house.taskdefs), "--executor", "deployments"],
        env=house.environ, capture_output=True, text=True, check=False, timeout=180, cwd=folder,
    )  # fmt: skip


def _retry(house: Any, flow_run_id: str) -> None:
    """Do what the UI's button does."""
    house.post(f"/flow_runs/{flow_run_id}/set_state", state={"type": "SCHEDULED", "name": "AwaitingRetry"}, force=True)


def _program(house: Any, kind: str) -> psutil.Process:
    """Return the runner of a kind."""
    for process in psutil.Process(house.process.pid).children():
        words = process.cmdline()
        if "flows.serving.runner" in words and kind in words:
            return process
    raise AssertionError(kind)


def _is_outside(url: str) -> bool:
    """Whether a request that was sent, not merely refused by the page's policy, leaves this machine."""
    return not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:"))


class _page:  # noqa: N801 - a context manager
    """A page of a headless Chromium that knows no host but this one."""

    def __init__(self, origin: str) -> None:
        self._origin = origin

    def __enter__(self) -> Any:
        from playwright.sync_api import sync_playwright

        chromium = os.environ.get("MATASSAY_CHROMIUM", "/usr/bin/chromium")
        if not Path(chromium).exists():
            pytest.skip(f"no Chromium at {chromium}")
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(
            executable_path=chromium,
            args=[
                "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
            ],
        )  # fmt: skip
        page = self._browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(90_000)
        return page

    def __exit__(self, *_: object) -> None:
        self._browser.close()
        self._playwright.stop()
