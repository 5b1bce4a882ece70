"""The desk over real HTTP: the same microscope, no scan without contact, no stranger, and never a hang."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from tasks_lib.instruments.frame import Z_AXIS, Gains
from tasks_lib.instruments.nanosurf import Desk, DeskServer, NanosurfBackEnd, fake
from tasks_lib.instruments.nanosurf.server import MAX_BODY_BYTES
from tasks_lib.instruments.protocol import (
    ApproachStatus,
    Instrument,
    InstrumentError,
    InstrumentLostError,
    RefusedError,
    open_instrument,
)
from tasks_lib.records.errors import ConfigurationError, LeaseHeldError
from tasks_lib.store import Store

from .conftest import SCAN, TOKEN, GatedTwin


def test_a_far_microscope_is_the_near_one(far: Instrument, twin: GatedTwin) -> None:
    far.set(i=1500, width_m=4e-7)
    assert twin.read().gains.i == 1500
    with pytest.raises(RefusedError, match="approach first"):
        far.scan("a")
    far.approach()
    seen: list[np.ndarray] = []
    frame = far.scan("a", lambda line: bool(seen.append(line.backward)) or True)
    bare = GatedTwin().microscope.scan(twin.read().scan, Gains(p=50, i=1500), 0.3)
    # A file holds 32-bit codes over a range eight times as wide as the values.
    step = 16 * np.abs(bare.data(Z_AXIS)).max() / 2**32
    for way in ("forward", "backward"):
        np.testing.assert_allclose(frame.data(Z_AXIS, way), bare.data(Z_AXIS, way), rtol=0, atol=step)
    np.testing.assert_allclose(seen, frame.data(Z_AXIS, "backward"), rtol=0, atol=step)
    assert set(frame.channels) == set(bare.channels)
    assert (frame.engaged, frame.complete, frame.lever) == (True, True, "ContAl-G")
    assert far.snapshot().last_frame == "a"
    assert far.withdraw().approach is ApproachStatus.WITHDRAWN


def test_a_scan_is_ended_by_its_listener(far: Instrument, twin: GatedTwin) -> None:
    far.approach()
    # The twin is fast: it waits at its sixth line until the word has come, which may be before.
    twin.before_line = lambda index: index == 5 and twin._stopped.wait(30)
    frame = far.scan("a", lambda line: line.index < 2)
    assert 3 <= frame.lines_done <= 6
    assert not frame.complete
    twin.before_line = lambda _: None
    assert far.scan("b").complete


def test_a_listener_that_breaks_ends_the_scan(far: Instrument, twin: GatedTwin, desk: Desk) -> None:
    far.approach()
    twin.before_line = lambda index: index == 5 and twin._stopped.wait(30)

    def broken(line) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        far.scan("a", broken)
    while (progress := desk.progress(SCAN.lines, 1.0)).running:
        pass
    assert progress.lines_done < SCAN.lines


def test_stop_from_another_thread_ends_the_scan(far: Instrument, twin: GatedTwin, gate) -> None:
    far.approach()
    twin.before_line = lambda index: gate.hold() if index == 2 else None
    with ThreadPoolExecutor(1) as pool:
        frame = pool.submit(far.scan, "a")
        assert gate.reached.wait(30)
        far.stop()
        gate.open.set()
        assert frame.result(60).lines_done == 3


def test_orders_during_a_scan_are_refused_and_the_state_says_why(
    far: Instrument, server: DeskServer, twin: GatedTwin, gate
) -> None:
    far.approach()
    twin.before_line = gate.hold
    other = NanosurfBackEnd(server.url, TOKEN)
    with ThreadPoolExecutor(1) as pool:
        frame = pool.submit(far.scan, "a")
        assert gate.reached.wait(30)
        assert other.read().scanning
        for order in (lambda: other.write({"i": 5}), other.withdraw, lambda: other.scan("b", lambda _: True)):
            with pytest.raises(InstrumentError, match="is busy"):
                order()
        gate.open.set()
        assert frame.result(60).complete


def test_94_orders_at_once_are_carried_out_one_by_one_in_one_thread(
    server: DeskServer, desk: Desk, twin: GatedTwin
) -> None:
    inside, most = [0], [0]

    def write() -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        inside[0] -= 1

    twin.before_write = write
    with ThreadPoolExecutor(94) as pool:
        clients = [NanosurfBackEnd(server.url, TOKEN) for _ in range(8)]
        list(pool.map(lambda number: clients[number % 8].write({"i": number + 1}), range(94)))
    for client in clients:
        client.close()
    assert most == [1]
    assert len(twin.threads) == 1
    set_to = [event.details["values"]["i"] for event in desk.instrument.events()]
    assert sorted(set_to) == list(range(1, 95))


def test_one_client_has_the_lease(server: DeskServer, tmp_path) -> None:
    store = Store.open(str(tmp_path))
    with open_instrument(NanosurfBackEnd(server.url, TOKEN), store, client="one") as afm:
        afm.set(i=7)
        with (
            pytest.raises(LeaseHeldError, match="is held by"),
            open_instrument(NanosurfBackEnd(server.url, TOKEN), store, client="two"),
        ):
            pass


def test_lines_that_do_not_fit_into_one_answer_come_in_several(
    far: Instrument, desk: Desk, gallery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks_lib.instruments.nanosurf.desk._ANSWER_NUMBERS", 2 * 3 * SCAN.points)
    assert len(desk.progress(0).lines) == 0
    far.approach()
    seen: list[int] = []
    assert far.scan("a", lambda line: bool(seen.append(line.index)) or True).complete
    assert seen == list(range(SCAN.lines))
    assert [line.index for line in desk.progress(2).lines] == [2, 3, 4]
    app = fake.connect(desk).application
    app.SetGalleryHistoryDirectoryPath(str(gallery))
    app.Scan.StartFrameUp()
    while app.Scan.IsScanning:
        pass
    assert len(app.Scan.GetLine(0, 1, SCAN.lines - 1, 0, 1).split(";")) == SCAN.points


def test_a_frame_that_would_fill_the_memory_is_refused(far: Instrument) -> None:
    far.set(points=4096, lines=4096)
    far.approach()
    with pytest.raises(InstrumentError, match="pixels at most, not 16777216"):
        far.scan("a")


# ---------------------------------------------------------------------- strangers


def ask(server: DeskServer, method: str = "GET", path: str = "/v1/state", body: bytes | None = None, **headers: str):
    given = {"Host": f"127.0.0.1:{server.port}", "Authorization": f"Bearer {TOKEN}", **headers}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        given.setdefault("Content-Length", str(len(body or b"")))
        for name, value in given.items():
            if value:
                connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(body)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


@pytest.mark.parametrize("token", ["", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer \xe9", TOKEN])
@pytest.mark.parametrize("path", ["/v1/state", "/v1/nothing"])
def test_a_wrong_token_learns_nothing(server: DeskServer, token: str, path: str) -> None:
    status, fault = ask(server, path=path, Authorization=token)
    assert (status, fault["kind"]) == (401, "denied")
    assert TOKEN not in fault["message"]


@pytest.mark.parametrize("host", ["", "example.org", "127.0.0.1", "127.0.0.1:1", "localhost.example.org", "[::1]"])
def test_another_host_is_not_served_even_with_the_token(server: DeskServer, host: str) -> None:
    assert ask(server, Host=host)[0] == 403


@pytest.mark.parametrize(
    ("path", "body", "rule"),
    [
        ("/v1/set", b'{"values": {"i": NaN}}', "NaN is no number"),
        ("/v1/set", b'{"values": {"setpoint": Infinity}}', "Infinity is no number"),
        ("/v1/set", b'{"values": {"setpoint": 1e999}}', "values"),
        ("/v1/set", b'{"values": {"i": true}}', "values"),
        ("/v1/set", b'{"values": {"i": [1]}}', "values"),
        ("/v1/set", b'{"values": {"i": 1}, "laser": 1}', "laser"),
        ("/v1/set", b'{"values": ', "no JSON"),
        ("/v1/set", b"[" * 60000, "no JSON"),
        ("/v1/set", b"\xff\xfe", "no JSON"),
        ("/v1/set", b"", "values"),
        ("/v1/approach", b'{"timeout_s": -1}', "timeout_s"),
        ("/v1/approach", b'{"timeout_s": 1e9}', "timeout_s"),
        ("/v1/mode", b'{"name": "' + b"x" * 1000 + b'"}', "name"),
        ("/v1/laser", b"{}", "there is no POST"),
    ],
)
def test_what_is_no_order_is_refused_whole(server: DeskServer, twin: GatedTwin, path: str, body: bytes, rule) -> None:
    before = twin.read()
    status, fault = ask(server, "POST", path, body)
    assert (status, fault["kind"]) == (400, "invalid")
    assert rule in fault["message"]
    assert twin.read() == before


@pytest.mark.parametrize("since", ["x", "-1", "nan", "inf", "1e9"])
def test_a_number_of_a_line_is_a_number(server: DeskServer, since: str) -> None:
    assert ask(server, path=f"/v1/lines?since={since}")[0] == 400


def test_a_body_is_small_and_has_a_length(server: DeskServer) -> None:
    assert ask(server, "POST", "/v1/set", b"", Content_Length=str(MAX_BODY_BYTES + 1))[0] == 413
    for length in ("-1", "1e3", "x", "9" * 40):
        assert ask(server, "POST", "/v1/set", b"", Content_Length=length)[0] == 400
    assert ask(server, "POST", "/v1/set", b"0\r\n\r\n", Content_Length="", Transfer_Encoding="chunked")[0] == 400


def test_no_scan_without_contact_over_bare_http(server: DeskServer) -> None:
    for name in ("a", "../a"):
        status, fault = ask(server, "POST", "/v1/scan", json.dumps({"name": name}).encode())
        assert (status, fault["kind"]) == (409, "refused")
    status, fault = ask(server, "POST", "/v1/scan", b'{"name": "a", "continuous": true}')
    assert (status, fault["kind"]) == (409, "refused")
    assert ask(server, path="/v1/frame")[0] == 409


def test_only_loopback_is_listened_on_and_only_loopback_is_driven(server: DeskServer) -> None:
    assert server._server.server_address[0] == "127.0.0.1"
    for url in ("http://example.org:1", "https://127.0.0.1:1", "http://0.0.0.0:1", "http://a@127.0.0.1:1", "nonsense"):
        with pytest.raises(ConfigurationError, match="loopback"):
            NanosurfBackEnd(url, TOKEN)


def test_a_short_token_is_no_token(desk: Desk) -> None:
    with pytest.raises(ValueError, match="16 characters"):
        DeskServer(desk, "short")


# ---------------------------------------------------------------------- what goes wrong


def test_a_wrong_token_is_an_error_that_says_so(server: DeskServer) -> None:
    with pytest.raises(InstrumentError, match="token is missing or wrong"):
        NanosurfBackEnd(server.url, "another-token-of-length")


def test_refusals_of_the_far_guard_are_errors_here(server: DeskServer, twin: GatedTwin) -> None:
    back_end = NanosurfBackEnd(server.url, TOKEN)
    for order, rule in (
        (lambda: back_end.write({"p": -1}), "p lies between"),
        (lambda: back_end.write({"width_m": 1.0}), "width_m lies between"),
        (lambda: back_end.write({"setpoint": 1e9}), "setpoint lies between"),
        (lambda: back_end.write({"setpoint": float("nan")}), "no finite number"),
        (lambda: back_end.set_mode("STM"), "there is no mode"),
        (lambda: back_end.select_lever("NCLR"), "there is no lever"),
        (lambda: back_end.scan("a", lambda _: True), "approach first"),
    ):
        with pytest.raises(InstrumentError, match=rule):
            order()
    assert twin.read().scan == SCAN


def test_nobody_there_is_a_lost_instrument() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(InstrumentLostError, match="is gone"):
        NanosurfBackEnd(f"http://127.0.0.1:{port}", TOKEN)


def test_a_worker_that_takes_the_call_and_says_nothing_is_lost() -> None:
    words = r"did not answer /v1/facts within 0\.3 s"
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(InstrumentLostError, match=words):
        NanosurfBackEnd(f"http://127.0.0.1:{mute.getsockname()[1]}", TOKEN, seconds=0.3)


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, content=b"<html>"),
        httpx.Response(200, json={"name": "x"}),
        httpx.Response(500, content=b"oops"),
        httpx.Response(302, headers={"Location": "http://example.org"}),
        httpx.Response(504, json={"kind": "lost", "message": "hangs"}),
    ],
)
def test_an_answer_that_is_none_is_a_lost_instrument(answer: httpx.Response) -> None:
    transport = httpx.MockTransport(lambda _: answer)
    with pytest.raises(InstrumentLostError):
        NanosurfBackEnd("http://127.0.0.1:9", TOKEN, transport=transport)


def hurried(twin: GatedTwin) -> Desk:
    desk = Desk(Instrument(twin, client="desk"), call_seconds=5)
    desk._call_seconds = 0.2
    return desk


def test_a_call_that_hangs_is_a_lost_instrument_and_so_is_every_one_after(twin: GatedTwin, gate) -> None:
    desk = hurried(twin)
    twin.before_write = gate.hold
    with DeskServer(desk, TOKEN) as server:
        back_end = NanosurfBackEnd(server.url, TOKEN)
        with pytest.raises(InstrumentLostError, match="did not answer within"):
            back_end.write({"i": 5})
        for order in (back_end.read, back_end.withdraw, lambda: back_end.write({"i": 6})):
            with pytest.raises(InstrumentLostError, match="still hangs"):
                order()
        gate.open.set()
        desk._thread.submit(lambda: None).result(30)
        # The one order that had begun was carried out; those after it never were.
        assert back_end.read().gains.i == 5
    desk.close()


def test_an_order_that_waited_too_long_is_never_carried_out(twin: GatedTwin, gate) -> None:
    desk = hurried(twin)
    blocker = desk._thread.submit(gate.hold)
    with pytest.raises(InstrumentLostError):
        desk.set({"i": 5})
    gate.open.set()
    blocker.result(30)
    assert desk.state().gains.i == 2000
    desk.close()


def test_a_scan_that_gives_no_line_any_more_is_a_lost_instrument(twin: GatedTwin, gate) -> None:
    desk = hurried(twin)
    desk._call_seconds = 5
    with DeskServer(desk, TOKEN) as server:
        back_end = NanosurfBackEnd(server.url, TOKEN)
        back_end.approach(5)
        desk._call_seconds = 0.2
        twin.before_line = lambda index: gate.hold() if index == 3 else None
        with pytest.raises(InstrumentLostError, match="no line for"):
            back_end.scan("a", lambda _: True)
        gate.open.set()
    desk.close()


def test_a_scan_that_nobody_follows_is_stopped(twin: GatedTwin) -> None:
    desk = Desk(Instrument(twin, client="desk"), abandon_seconds=0.0)
    desk.approach(5)
    desk.begin_scan("a")
    while (progress := desk.progress(0, 1.0)).running:
        pass
    assert progress.lines_done < SCAN.lines
    desk.close()


def test_a_broken_scan_is_told_to_whoever_waits(far: Instrument, twin: GatedTwin) -> None:
    far.approach()
    far.set(center_x_m=0.55e-6)
    with pytest.raises(InstrumentError, match="cannot scan a"):
        far.scan("a")


def test_the_thread_ended_is_a_lost_instrument(desk: Desk) -> None:
    desk.close()
    with pytest.raises(InstrumentLostError, match="has ended"):
        desk.set({"i": 1})
    assert threading.active_count() < 50
