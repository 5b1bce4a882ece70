"""The page on which a person writes scripts: what it takes, what it refuses, and who has it."""

from __future__ import annotations

import contextlib
import json
import socket
import threading

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tasks_lib.agents import AgentSettings, Brief, View, parse_reply
from tasks_lib.agents.parsing import LONGEST_SCRIPT
from tasks_lib.episodes.bench import Bench
from tasks_lib.records import Decision, Modality
from tasks_lib.sandbox.viewing import ScreenServer
from tasks_lib.taskdefs import find_root, load_task

PATIENCE = 20.0


@pytest.fixture
def stage():
    return load_task(find_root() / "mattoolbench" / "figures" / "cell-cycling").task.stages[0]


@pytest.fixture
def served(stage):
    said = []
    bench = Bench(stage, AgentSettings(), said.append)
    with ScreenServer(None, said.append, bench) as server:
        server.bench, server.said = bench, said
        server.ask = lambda **more: bench.ask(
            View(Brief.of(stage), step=1, steps_left=15, seconds_left=600.0, **more),
            step=1,
            steps_left=15,
            files=["a.csv"],
        )
        yield server


def test_what_is_written_is_the_reply_of_an_agent(served, window, stage):
    me = window(served.url)
    texts = ['print("ä")', 'print("""\n```\n````python\n""")\n', "\r\nprint(1)\r\n"]
    for kind, text in [("veusz", text) for text in texts]:
        served.ask()
        me.asked()
        me.send(do="run", kind=kind, script=text)
        me.until(lambda state: state["state"] == "busy")
        parsed = parse_reply(served.bench.taken(), Modality.FIGURE)
        assert (parsed.problems, parsed.notes, parsed.script.kind) == ((), (), "veusz")
        assert parsed.script.text == text.replace("\r\n", "\n").rstrip("\n") + "\n"
    for word, decision in (("done", Decision.DONE), ("fail", Decision.FAIL)):
        served.ask()
        me.asked()
        me.send(do=word)
        me.until(lambda state: state["state"] == "busy")
        assert parse_reply(served.bench.taken(), Modality.FIGURE).decision is decision


def test_a_person_is_shown_what_an_agent_is_and_nothing_of_the_checks(served, window, stage):
    me = window(served.url)
    served.ask(feedback="return code 0", figure=b"\x89PNG", notices=("you go round in circles",))
    state = me.asked()
    assert state.pop("seconds_left") <= 600
    assert set(state) == {
        "stage", "modality", "kinds", "task", "step", "steps_left", "files", "feedback", "figure", "state", "said",
    }  # fmt: skip
    assert list(state["kinds"]) == ["veusz", "python"]
    assert "cycling.pdf" in state["kinds"]["veusz"]
    assert state["feedback"] == "return code 0\nyou go round in circles"
    assert state["figure"] == "iVBORw=="
    assert stage.hints[0] in state["task"]
    page = httpx.get(f"{me.folder}/bench.html", headers={"Cookie": me.cookie})
    for criterion in load_task(find_root() / "mattoolbench" / "figures" / "cell-cycling").task.criteria:
        assert criterion.id not in page.text + json.dumps(state)
        assert criterion.why not in page.text + json.dumps(state)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ("{", "Invalid JSON"),
        ("[]", "should be an object"),
        ('{"do": "run", "script": "x", "points": 5}', "points Extra inputs"),
        ('{"do": "run", "kind": "bash", "script": "x"}', "kind Input should be"),
        (json.dumps({"do": "run", "k" * 500_000: 1}), "k Extra inputs"),
        ("[" * 100_000, "Invalid JSON"),
        ('{"do": "run", "script": 5}', "script Input should be a valid string"),
        ('{"do": "run", "script": "\\ud800"}', "Invalid JSON"),
        (json.dumps({"do": "run", "script": " \n"}), "There is nothing to run: write a script first."),
        (json.dumps({"do": "run", "script": "x" * (LONGEST_SCRIPT + 1)}), f"at most {LONGEST_SCRIPT} characters"),
        (b"\xff\xfe", "Invalid JSON"),
    ],
)
def test_what_cannot_be_done_is_told_and_costs_nothing(served, window, sent, said):
    me = window(served.url)
    served.ask()
    me.asked()
    me.socket.send(sent)
    state = me.until(lambda state: state["said"])
    assert said in state["said"]
    assert len(state["said"]) < 400
    assert state["state"] == "asking"
    assert served.bench.taken() is None
    me.send(do="run", script="print(1)")
    assert me.until(lambda state: state["state"] == "busy")


def test_a_message_beyond_all_measure_ends_the_connection_alone(served, window):
    me = window(served.url)
    served.ask()
    me.asked()
    with contextlib.suppress(ConnectionClosed):
        me.socket.send("x" * 2**21)
    with pytest.raises(ConnectionClosed) as closed:
        me.until(lambda _: False)
    assert closed.value.rcvd is None or closed.value.rcvd.code == 1009
    again = window(served.url, me.keys)
    assert again.asked()
    assert served.bench.taken() is None


def test_the_newest_window_has_the_page_and_one_that_was_closed_finds_it_again(served, window):
    first = window(served.url)
    served.ask()
    first.asked()
    second = window(served.url, first.keys)
    second.asked()
    with pytest.raises(ConnectionClosed) as closed:
        first.until(lambda _: False)
    assert closed.value.rcvd.code == 4001
    second.socket.close()
    third = window(served.url, first.keys)
    assert third.asked()["task"]
    assert "the page went over to another window" in served.said
    third.send(do="done")
    third.send(do="fail")  # pressed before the page knew: the first counts
    third.until(lambda state: state["state"] == "busy")
    assert "DONE" in served.bench.taken()
    served.bench.close()
    assert third.until(lambda state: state["state"] == "over")


def test_a_page_that_takes_nothing_holds_up_nobody(served, window):
    window(served.url)  # never read
    for _ in range(8):
        served.ask(figure=b"x" * 8 * 2**20)
    asked = threading.Thread(target=served.ask)
    asked.start()
    asked.join(PATIENCE)
    assert not asked.is_alive()


def test_a_suspended_window_does_not_keep_the_page_from_the_next(served, window):
    """Nothing is ever read from this socket: what is sent fills the buffers, and whoever sends more is stuck."""
    folder, cookie = keys = window(served.url).keys
    with socket.create_connection(("127.0.0.1", served.port)) as suspended:
        request = [
            f"GET {folder.partition(str(served.port))[2]}/bench HTTP/1.1", f"Host: 127.0.0.1:{served.port}",
            "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version: 13", f"Cookie: {cookie}", "", "",
        ]  # fmt: skip
        suspended.sendall("\r\n".join(request).encode())
        served.ask(figure=b"x" * 8 * 2**20)
        suspended.recv(16 * 1024, socket.MSG_PEEK | socket.MSG_WAITALL)  # the figure is on its way
        me = window(served.url, keys)
        assert me.asked()
        me.send(do="done")
        assert me.until(lambda state: state["state"] == "busy")


def test_a_script_of_a_kind_that_the_stage_does_not_take_costs_nothing(window):
    stage = load_task(find_root() / "mattoolbench" / "mixed" / "anatase-reference-overlay").task.stages[0]
    bench = Bench(stage, AgentSettings(), lambda _: None)
    with ScreenServer(None, bench=bench) as server:
        me = window(server.url)
        view = View(Brief.of(stage), step=1, steps_left=5, seconds_left=600.0)
        bench.ask(view, step=1, steps_left=5, files=['<img src=x onerror="alert(1)">\n', "\udcff"])
        assert me.asked()["files"] == ['<img src=x onerror="alert(1)">\n', "\udcff"]
        me.send(do="run", kind="veusz", script="Add('page')")
        assert "takes no veusz script" in me.until(lambda state: state["said"])["said"]
        assert bench.taken() is None


def test_only_the_browser_that_came_first_has_the_page(served, window):
    folder, _, token = served.url.partition("/?token=")
    origin = folder.rpartition("/")[0]
    assert httpx.get(f"{folder}/?token=wrong").status_code == 403
    assert httpx.get(f"{folder}/bench.html").status_code == 403
    assert httpx.get(served.url, headers={"Host": f"evil.example:{served.port}"}).status_code == 403
    me = window(served.url)
    assert httpx.get(served.url).status_code == 403  # spent
    cookie = {"Cookie": me.cookie}
    page = httpx.get(f"{folder}/bench.html", headers=cookie)
    assert page.headers["X-Frame-Options"] == "DENY"
    policy = page.headers["Content-Security-Policy"]
    nonce = policy.partition("'nonce-")[2].partition("'")[0]
    assert page.text.count(f'nonce="{nonce}"') == 2
    assert "default-src 'none'" in policy
    assert "{{" not in page.text
    assert token not in page.text
    assert httpx.get(f"{folder}/bench.html", headers=cookie).headers["Content-Security-Policy"] != policy
    # There is no desktop here: neither its pages nor its socket.
    assert httpx.get(f"{folder}/vnc_lite.html", headers=cookie).status_code == 404
    assert httpx.get(f"{folder}/websockify", headers=cookie).status_code == 404
    for headers, start in (({}, origin), (cookie, "http://evil.example"), ({"Cookie": "x=1"}, origin)):
        with pytest.raises(InvalidStatus) as refused:
            connect(folder.replace("http", "ws") + "/bench", additional_headers=headers, origin=start)
        assert refused.value.response.status_code == 403
