"""A desktop in the browser: who gets to it, what is recorded there, and how it ends."""

from __future__ import annotations

import contextlib
import re
import selectors
import socket
import threading
import time

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tasks_lib.agents.recording.gestures import gestures_of
from tasks_lib.records import MachineSettings
from tasks_lib.records.errors import ActionError, MachineLostError, NoDesktopError
from tasks_lib.sandbox import provider, viewing
from tasks_lib.sandbox.viewing import ScreenServer, viewing_problems

needs_vnc = pytest.mark.skipif(bool(viewing_problems()), reason="; ".join(viewing_problems()))


def until(look, seconds=30.0):
    """Ask again until the answer is one; each question crosses a socket, so none is asked in a rush."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, "it never came"
    return found


@pytest.fixture
def served(desktop_machine):
    said = []
    with ScreenServer(desktop_machine.computer.open_screen, said.append) as server:
        server.said = said
        yield server


@pytest.fixture
def computer(desktop_machine):
    desktop_machine.computer.start_recording()
    yield desktop_machine.computer
    desktop_machine.computer.stop_recording()


def events_until(computer, wanted):
    return until(lambda: (found := computer.recording_news(0, 0).events) and wanted(found) and found)


@pytest.mark.desktop
@needs_vnc
def test_what_a_person_does_is_told_in_the_actions_of_agents(served, computer, person):
    me = person(served.url)
    assert (me.width, me.height) == (1440, 900)
    me.click(100, 200)
    me.click(300, 200, times=2)
    me.click(400, 300, button=4)
    me.drag((500, 500), (620, 540))
    for _ in range(6):
        me.pointer(620, 540, 16)
        me.pointer(620, 540)
    me.write('E = 284.8 eV, "Å µ α";')
    me.press("tab")
    me.press("ctrl", "shift", "s")
    me.press("shift", "left")
    me.press("alt", "left")
    me.click(700, 300, button=2)
    events = events_until(computer, lambda found: any(event.button == 2 and not event.down for event in found))
    # In the order in which it happened, also where the X server's milliseconds cannot tell two events apart.
    assert [event.time for event in events] == sorted(event.time for event in events)
    gestures, notes = gestures_of(events)
    assert [(g.kind, g.x, g.y, g.to, g.text, g.count) for g in gestures] == [
        ("click", 100, 200, None, "", 1),
        ("double_click", 300, 200, None, "", 1),
        ("right_click", 400, 300, None, "", 1),
        ("drag", 500, 500, (620, 540), "", 1),
        ("scroll", 620, 540, None, "down", 6),
        ("write", 620, 540, None, 'E = 284.8 eV, "Å µ α";', 1),
        ("press", 620, 540, None, "tab", 1),
        ("press", 620, 540, None, "ctrl+shift+s", 1),
        ("press", 620, 540, None, "shift+left", 1),
        ("press", 620, 540, None, "alt+left", 1),
    ]
    assert [text for _, text in notes] == [
        "a click of the middle button at (700, 300): no action of an agent does that"
    ]
    news = computer.recording_news(len(events), 1)
    assert news.events == ()
    assert all(frame.number >= 1 for frame in news.frames)
    with pytest.raises(ActionError, match="no screen of the recording has the number 0"):
        computer.recorded_frame(0)


@pytest.mark.desktop
@needs_vnc
def test_only_the_browser_that_came_first_is_served(served, desktop_machine):
    folder, _, token = served.url.partition("/?token=")
    origin, _, room = folder.rpartition("/")
    assert origin == f"http://127.0.0.1:{served.port}"
    assert len(room) > 20
    page = f"{folder}/vnc_lite.html"
    assert httpx.get(f"{folder}/?token={token[:-1]}").status_code == 403
    assert httpx.get(f"{origin}/?token={token}").status_code == 403
    assert httpx.get(origin).status_code == 403
    assert httpx.get(f"{folder}/").status_code == 403
    assert httpx.get(page).status_code == 403
    assert httpx.get(served.url, headers={"Host": f"evil.example:{served.port}"}).status_code == 403
    with httpx.Client(base_url=folder, follow_redirects=True) as browser:
        first = browser.get(f"/?token={token}")
        assert first.status_code == 200
        assert "noVNC" in first.text
        assert token not in str(first.url)
        assert browser.get("/core/rfb.js").headers["Content-Type"] == "text/javascript"
        assert browser.get("/%2e%2e/%2e%2e/%2e%2e/etc/passwd").status_code == 404
        assert browser.get("/../../../etc/passwd").status_code == 403
        assert browser.get(f"{folder}//etc/passwd").status_code == 404
        assert browser.get(f"/?token={token}").status_code == 200  # its own address again, as after a restart
        (kept,) = browser.cookies.jar
        assert kept.path == f"/{room}/"  # no other server of this host is sent it
        cookie = f"{kept.name}={kept.value}"
    assert httpx.get(served.url).status_code == 403  # spent
    assert httpx.get(f"{origin}/vnc_lite.html", headers={"Cookie": cookie}).status_code == 403
    assert httpx.get(page, headers={"Cookie": cookie}).status_code == 200
    address = folder.replace("http", "ws") + "/websockify"
    for headers, from_page in (({}, origin), ({"Cookie": cookie}, "http://evil.example"), ({"Cookie": "x=1"}, origin)):
        with pytest.raises(InvalidStatus) as refused:
            connect(address, additional_headers=headers, origin=from_page)
        assert refused.value.response.status_code == 403
    assert served.said.count("a browser with a wrong or spent token was refused") == 3
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", served.port), timeout=5)
    with pytest.raises(MachineLostError, match="token"):
        type(desktop_machine.computer._client)(desktop_machine.computer._client._socket_path, "wrong").upgrade(
            "/screen", 10
        )


@pytest.mark.desktop
@needs_vnc
@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\0\x01\0\r\n\r\n",
        b"GET //[ HTTP/1.1\r\nHost: {host}\r\n\r\n",
        b"POST / HTTP/1.1\r\n\r\n",
        b"GET ",
    ],
)
def test_what_is_no_request_is_dropped_without_a_word(served, person, sent, capfd):
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as stranger:
        stranger.sendall(sent.replace(b"{host}", f"127.0.0.1:{served.port}".encode()))
        stranger.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: stranger.recv(4096), b""))
    assert answer == b"" or re.match(rb"HTTP/1.1 (400|403|500) ", answer)
    assert person(served.url).width == 1440
    assert capfd.readouterr().err == ""


@pytest.mark.desktop
@needs_vnc
def test_a_second_page_takes_over_and_what_was_held_is_let_go(served, computer, person):
    first = person(served.url)
    first.pointer(200, 300)
    first.pointer(200, 300, 1)
    first.key(0xFFE3, True)
    first.key(ord("a"), True)
    events_until(computer, lambda found: any(event.key == "a" for event in found))
    second = person(served.url, first.keys)
    assert first.gone.wait(20)
    events_until(computer, lambda found: any(event.button == 1 and not event.down for event in found))
    second.press("b")
    pressed = events_until(computer, lambda found: any(event.key == "b" for event in found))[-1]
    assert pressed.modifiers == ()
    assert "the desktop went over to another page" in served.said
    second.leave()
    until(lambda: computer.recording_news(0, 0) and "the person left the desktop; the recording waits" in served.said)


@pytest.mark.desktop
@needs_vnc
@pytest.mark.usefixtures("needs_isolation")
def test_nothing_in_the_machine_listens_while_a_person_looks(served, computer, person):
    person(served.url).see()
    script = "for name in ('tcp', 'tcp6', 'udp', 'udp6'):\n    print(*open(f'/proc/net/{name}').readlines()[1:])"
    result = computer.run_script(script)
    assert result.returncode == 0
    listening = [line for line in result.stdout.splitlines() if line.split()[3:4] in (["0A"], ["07"])]
    assert listening == []


@pytest.mark.desktop
@needs_vnc
def test_a_machine_that_is_lost_ends_the_connection_and_the_next_page_is_told(person):
    machine = provider().open(MachineSettings(), desktop=True)
    said = []
    try:
        with ScreenServer(machine.computer.open_screen, said.append) as server:
            me = person(server.url)
            machine.close()
            assert me.gone.wait(20)
            with pytest.raises(ConnectionClosed, match="the desktop cannot be shown"):
                person(server.url, me.keys)
    finally:
        machine.close()
    assert any(text.startswith("the desktop cannot be shown: the machine's control server is gone") for text in said)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), timeout=5)


class Ends:
    """The machine's end of each connection that a `ScreenServer` asked for; a new one ends the one before it."""

    def __init__(self):
        self.all = []
        self._free = threading.Lock()
        self.asked = threading.Event()
        self.may_answer = threading.Event()
        self.may_answer.set()

    def connect(self):
        assert self._free.acquire(blocking=False), "two pages were let in at once"
        try:
            return self._connect()
        finally:
            self._free.release()

    def _connect(self):
        self.asked.set()
        assert self.may_answer.wait(30)
        mine, its = socket.socketpair()
        if self.all:
            self.all[-1].shutdown(socket.SHUT_RDWR)
        self.all.append(mine)
        return its


def admitted(server):
    answer = httpx.get(server.url, trust_env=False)
    assert answer.status_code == 303
    return server.url.partition("/?")[0], answer.headers["Set-Cookie"].partition(";")[0]


def page(keys):
    folder, cookie = keys
    address = f"{folder.replace('http', 'ws')}/websockify"
    return connect(address, origin=folder.rpartition("/")[0], additional_headers={"Cookie": cookie})


@pytest.fixture
def ends():
    found = Ends()
    yield found
    for end in found.all:
        end.close()


@needs_vnc
def test_of_pages_that_come_at_once_the_machines_newest_is_served(ends):
    with ScreenServer(ends.connect) as server:
        keys = admitted(server)
        ends.may_answer.clear()
        pages = [page(keys) for _ in range(6)]
        assert ends.asked.wait(20)
        ends.may_answer.set()
        until(lambda: len(ends.all) == 6)
        ends.all[-1].sendall(b"RFB 003.008\n")
        heard = []
        for one in pages:
            try:
                heard.append(one.recv(timeout=20))
            except ConnectionClosed:
                continue
        assert heard == [b"RFB 003.008\n"]


@needs_vnc
def test_who_comes_while_the_server_ends_does_not_get_to_the_machine(ends):
    server = ScreenServer(ends.connect)
    keys = admitted(server)
    ends.may_answer.clear()
    late = page(keys)
    assert ends.asked.wait(20)
    closing = threading.Thread(target=server.close)
    closing.start()
    until(lambda: server._closed)
    ends.may_answer.set()
    closing.join(30)
    with pytest.raises(ConnectionClosed):
        late.recv(timeout=20)
    assert [end.recv(1) for end in ends.all] == [b""]


@needs_vnc
def test_a_page_that_reads_nothing_and_a_stranger_who_says_nothing_do_not_outlive_the_server(ends, monkeypatch):
    monkeypatch.setattr(viewing, "_GOODBYE", 0.1)
    before = threading.active_count()
    server = ScreenServer(ends.connect)
    folder, cookie = admitted(server)
    _, _, host, room = folder.split("/")
    with (
        socket.create_connection((viewing.HOST, server.port), 20),
        socket.create_connection((viewing.HOST, server.port), 20) as suspended,
    ):
        head = [
            *(f"GET /{room}/websockify HTTP/1.1", f"Host: {host}", f"Cookie: {cookie}"),
            *("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]
        suspended.sendall("\r\n".join([*head, "", ""]).encode())
        assert suspended.recv(12) == b"HTTP/1.1 101"
        until(lambda: ends.all)
        ends.all[0].settimeout(1.0)
        with contextlib.suppress(TimeoutError):
            while True:  # until nothing more fits into any buffer
                ends.all[0].sendall(b"x" * 65_536)
        server.close()
        until(lambda: threading.active_count() <= before)


@needs_vnc
def test_strangers_who_hold_connections_do_not_use_up_threads_and_files(ends, monkeypatch):
    monkeypatch.setattr(viewing, "_MOST_CONNECTIONS", 3)
    with ScreenServer(ends.connect) as server, contextlib.ExitStack() as held, selectors.DefaultSelector() as closed:
        for _ in range(8):
            one = held.enter_context(socket.create_connection((viewing.HOST, server.port), 20))
            closed.register(one, selectors.EVENT_READ)
        until(lambda: len(closed.select(1)) == 5)
        with pytest.raises(httpx.TransportError):
            httpx.get(server.url, trust_env=False)
        held.close()

        def comes_in():
            with contextlib.suppress(httpx.TransportError, AssertionError):  # until the last of the crowd has gone
                return admitted(server)

        assert until(comes_in)


def test_missing_programs_are_named_with_the_command_that_installs_them(monkeypatch, tmp_path):
    monkeypatch.setattr(viewing, "_PROGRAM_PATH", str(tmp_path))
    monkeypatch.setattr(viewing, "_PAGES", (str(tmp_path),))
    assert viewing_problems() == [
        "a desktop in the browser needs x11vnc and novnc: apt-get install -y --no-install-recommends x11vnc novnc"
    ]
    with pytest.raises(NoDesktopError, match="apt-get install"):
        ScreenServer(lambda: pytest.fail("nothing is connected to"))


def test_a_machine_without_a_desktop_shows_and_records_nothing(code_machine):
    with pytest.raises(NoDesktopError):
        code_machine.computer.open_screen()
    with pytest.raises(NoDesktopError):
        code_machine.computer.start_recording()
