"""The MCP face of a machine, with the client of the official SDK: in memory, over stdio, and over HTTP on loopback."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest
from PIL import Image, ImageChops
from typer.testing import CliRunner

from tasks_lib.agents.settings import AgentSettings
from tasks_lib.cli import app
from tasks_lib.episodes.outside import OutsideOrder, open_outside
from tasks_lib.records import Decision, Ending, Evidence, MachineSettings, Outcome, Step, Verdict
from tasks_lib.sandbox import provider
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import find_root, load_all

pytest.importorskip("mcp", reason="the extra mcp is not installed")
import httpx2  # the SDK's own client
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from tasks_lib.toolservers import DesktopFace, Door, serve_http

ONE_STAGE = Path(__file__).parents[2] / "fixtures" / "episodes" / "one_stage"
CODE, DESKTOP = "lattice-parameter", "active-range"
# What the task's criteria want, and what they are called.
GOLD = ("29.791", "cell-volume", "line-spacings", "2.1920")
missing = provider().problems(desktop=True) + ([] if shutil.which("fityk") else ["Fityk is not installed"])


@pytest.fixture(autouse=True)
def _machines(machines) -> None:
    """Every test here opens a machine."""


@pytest.fixture
def store(tmp_path):
    return Store.open(str(tmp_path / "store"))


@pytest.fixture
def oracle():
    return (
        load_all(ONE_STAGE).tasks[0].transcript("oracle", "main", hints=True)[0].split("```")[1].removeprefix("python")
    )


@pytest.fixture
def face(store):
    tasks = load_all(ONE_STAGE)
    order = OutsideOrder(
        player="mcp",
        loaded=tasks.tasks[0],
        task_set_digest=tasks.digest,
        taskdefs=ONE_STAGE,
        machine=MachineSettings(),
        asked=AgentSettings(replies="tools"),
    )
    made = DesktopFace(open_outside(order, store))
    yield made
    made.leave()


def words(store, root, task):
    command = ["-m", "tasks_lib.cli", "mcp", "desktop", "--task", task, "--store", store.local_path("")]
    return [str(word) for word in (*command, "--taskdefs", root)]


def episode_of(store):
    (run,) = store.children("runs")
    (episode,) = store.children(f"runs/{run}/episodes")
    place = RunFolder(store, run).episode(episode).last()
    return store.read_document(place.verdict, Verdict), store.read_document(place.stage("main").evidence, Evidence)


def steps_of(store):
    (run,) = store.children("runs")
    (episode,) = store.children(f"runs/{run}/episodes")
    return store.read_lines(RunFolder(store, run).episode(episode).last().stage("main").trajectory, Step)


def text(result):
    return result.content[0].text


async def test_hostile_calls_are_feedback_and_nothing_of_the_gold_is_told(face, store, oracle):
    said = []
    async with Client(face.server) as client:

        async def call(name, **arguments):
            result = await client.call_tool(name, arguments)
            said.append(text(result))
            return result

        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == ["task", "screenshot", "run_script", "done", "fail", "several"]
        said.append(json.dumps([tool.model_dump(mode="json") for tool in listed.tools]))
        assert "left: 10 replies" in text(await call("task"))
        assert (await call("task", gold=True)).is_error
        for wrong in ({}, {"calls": []}, {"calls": "done"}, {"calls": [{"tool": "done"}], "more": 1}):
            assert (await call("several", **wrong)).is_error
        # So far nothing was done, and no step was taken; a call that is malformed is one.
        assert "left: 10 replies" in text(await call("screenshot"))
        for name, arguments in (
            ("mouse_single_click", {}),
            ("os_system", {"command": "id"}),
            ("run_script", {"script": 7}),
            ("run_script", {"script": "x" * 300_000}),
            ("several", {"calls": [{"tool": "run_script"}, 5]}),
        ):
            assert (await call(name, **arguments)).is_error
        fenced = await call("run_script", script="```decision\nDONE\n```")
        assert fenced.is_error
        assert "SyntaxError" in text(fenced)
        found = await call("run_script", script=oracle)
        assert not found.is_error
        assert "left: 3 replies" in text(found)
        assert "return code 0" in text(found)
        assert text(await call("done")) == "The episode is over."
        assert (await call("run_script", script="print(1)")).is_error
    assert not [word for word in GOLD if word in "\n".join(said)]
    verdict, evidence = episode_of(store)
    assert (verdict.outcome, evidence.ending, evidence.steps) == (Outcome.PASS, Ending.DONE, 8)
    assert [step.wasted for step in steps_of(store)] == [True] * 5 + [False] * 3


async def test_a_machine_that_is_lost_is_told_without_its_reasons(face):
    async with Client(face.server) as client:
        await client.call_tool("task", {})
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if "guest" in process.cmdline():
                    process.kill()
        result = await client.call_tool("run_script", {"script": "print(1)"})
    assert text(result) == (
        "The episode is over. It does not count, for a reason that is none of yours (machine lost)."
    )


async def test_a_client_over_stdio_is_judged_when_it_is_done(store, oracle):
    server = StdioServerParameters(command=sys.executable, args=words(store, ONE_STAGE, CODE), env=dict(os.environ))
    async with Client(stdio_client(server)) as client:
        assert "cubic crystal" in text(await client.call_tool("task", {}))
        calls = [{"tool": "run_script", "arguments": {"script": oracle}}]
        assert not (await client.call_tool("several", {"calls": calls})).is_error
        assert text(await client.call_tool("done", {})) == "The episode is over."
        verdict, _ = episode_of(store)  # before the client leaves
    assert verdict.outcome is Outcome.PASS


@pytest.fixture
def spoken_to(store):
    """A server over stdio whose client has asked for the task, and the processes below it."""
    process = subprocess.Popen(
        [sys.executable, *words(store, ONE_STAGE, CODE)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "task", "arguments": {}}},
    ]
    process.stdin.write(b"no JSON at all\n")
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()
    assert any(json.loads(line).get("id") == 2 for line in process.stdout)
    yield process, psutil.Process(process.pid).children(recursive=True)
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


def test_a_client_that_leaves_and_kills_its_server_is_judged_all_the_same(spoken_to, store):
    process, below = spoken_to
    process.stdin.close()
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    _, alive = psutil.wait_procs(below, timeout=60)
    assert not alive
    verdict, evidence = episode_of(store)
    assert (verdict.outcome, evidence.ending) == (Outcome.FAIL, Ending.GAVE_UP)
    assert [step.decision for step in steps_of(store)] == [Decision.FAIL]


def test_ctrl_c_ends_an_episode_whose_client_stays(spoken_to, store):
    process, below = spoken_to
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert b"interrupted: what is there is judged" in process.stderr.read()
    _, alive = psutil.wait_procs(below, timeout=60)
    assert not alive
    assert episode_of(store)[1].ending is Ending.GAVE_UP


async def test_who_never_comes_has_left(face, store):
    urls = []
    await serve_http(face, token="key", patience=0.0, ready=urls.append)
    assert urls[0].startswith("http://127.0.0.1:")
    assert episode_of(store)[1].ending is Ending.GAVE_UP


@pytest.fixture
def served(store, tmp_path):
    """`matassay mcp desktop --http` over a desktop task; the process and its address."""
    place = Path("mattoolbench") / "xps" / DESKTOP
    shutil.copytree(find_root() / place, tmp_path / "defs" / place)
    address = tmp_path / "address.json"
    more = ["--http", "--json", "--address-file", str(address)]
    process = subprocess.Popen(
        [sys.executable, *words(store, tmp_path / "defs", DESKTOP), *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    said = next((line for line in process.stderr if "the token is in" in line), None)
    assert said is not None
    yield process, address
    process.kill()
    process.communicate()


@pytest.mark.desktop
@pytest.mark.skipif(bool(missing), reason="; ".join(missing))
async def test_a_desktop_over_http_is_for_who_knows_the_token(served, store):
    process, address = served
    assert stat.S_IMODE(address.stat().st_mode) == 0o600
    told = json.loads(address.read_text(encoding="utf-8"))
    url, key = told["url"], {"Authorization": f"Bearer {told['token']}"}
    assert url.startswith("http://127.0.0.1:")
    async with httpx.AsyncClient() as stranger:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": told["token"]}):
            assert (await stranger.post(url, json={}, headers=headers)).status_code == 401
        assert (await stranger.get(url, headers={"Authorization": "Bearer µ".encode()})).status_code == 401
        assert (await stranger.post(url, json={}, headers={**key, "Host": "evil.example"})).status_code == 421
        assert (await stranger.post(url, json={}, headers={**key, "Origin": "http://evil.example"})).status_code == 403
        assert (await stranger.post(url, content=b"x" * 2**21, headers=key)).status_code == 413
        async with (
            httpx2.AsyncClient(headers=key, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http), mode="legacy") as client,
        ):
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert {"mouse_move_abs", "keyboard_press", "wait", "several"} < set(names)
            hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
            accept = {"Accept": "application/json, text/event-stream"}
            assert (await stranger.post(url, json=hello, headers={**key, **accept})).status_code == 503
            before = picture(await client.call_tool("task", {}))
            assert before.size == (1440, 900)
            menu = [{"tool": "mouse_move_abs", "arguments": {"x": 33, "y": 33}}, {"tool": "mouse_single_click"}]
            opened = await client.call_tool("several", {"calls": menu})
            assert not opened.is_error, text(opened)
            assert ImageChops.difference(before, picture(opened)).getbbox() is not None
            assert (
                ImageChops.difference(picture(await client.call_tool("screenshot", {})), picture(opened)).getbbox()
                is None
            )
            assert (await client.call_tool("mouse_move_abs", {"x": 5000, "y": 1})).is_error
            assert (await client.call_tool("keyboard_press", {"keys": "escape", "more": 1})).is_error
    # The client has ended its session: that is the end of the episode and of the server.
    printed, _ = await asyncio.to_thread(process.communicate, timeout=60)
    assert process.returncode == 0
    ended = json.loads(printed)
    assert (ended["outcome"], ended["ending"], ended["void"]) == ("FAIL", "gave up", None)
    assert told["token"] not in printed
    assert not address.exists()
    kinds = [[action.kind for action in step.actions] for step in steps_of(store)]
    assert kinds == [["mouse.move_abs", "mouse.single_click"], [], [], []]


def picture(result):
    (image,) = (part for part in result.content if part.type == "image")
    return Image.open(io.BytesIO(base64.b64decode(image.data))).convert("RGB")


class Behind:
    """An application that answers a request when it is told to."""

    def __init__(self) -> None:
        self.status = 200
        self.go = asyncio.Event()

    async def __call__(self, scope, receive, send) -> None:
        await self.go.wait()
        await send({"type": "http.response.start", "status": self.status, "headers": []})


async def test_the_door_sees_who_is_there_and_who_has_left():
    now = [0.0]
    behind = Behind()
    door = Door(behind, "key", clock=lambda: now[0])
    sent = []

    def request(method="POST", token="key"):  # noqa: S107
        scope = {"type": "http", "method": method, "headers": [(b"authorization", f"Bearer {token}".encode())]}
        return door(scope, None, lambda message: _put(sent, message))

    now[0] = 40.0
    assert door.idle() == 40.0
    await request(token="wrong")
    assert sent[0]["status"] == 401
    assert door.idle() == 40.0  # who was not let in keeps nothing alive
    open_one = asyncio.ensure_future(request())
    await asyncio.sleep(0)
    now[0] = 900.0
    assert door.idle() == 0.0
    behind.go.set()
    await open_one
    now[0] = 907.0
    assert door.idle() == 7.0
    behind.status = 404
    await request("DELETE")
    assert not door.has_ended
    behind.status = 200
    await request("DELETE")
    assert door.has_ended


async def _put(sent, message) -> None:
    sent.append(message)


def test_an_address_file_without_http_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["mcp", "desktop", "--task", CODE, "--taskdefs", str(ONE_STAGE), "--address-file", "a.json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "--address-file is for --http" in " ".join(result.stderr.split())
