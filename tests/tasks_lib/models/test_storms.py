"""Two hundred callers of one endpoint that refuses in storms: the ceiling holds, everybody is answered in the end."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tasks_lib.models import Canned, ChatFace, Fault, FaultKind, HttpChat, Message, ScriptedEndpoint
from tasks_lib.models.gate import EndpointGate, endpoint_of
from tasks_lib.records.errors import TransientEndpointError

ASK = [Message.of("user", "What now?")]
CALLERS = 200


class CountingFace(ChatFace):
    """Counts the requests that the server has under way; each is held for some milliseconds so that they meet."""

    def __init__(self):
        self.now = self.most = self.seen = 0
        self._lock = threading.Lock()
        self._never = threading.Event()

    def problem(self, request):
        with self._lock:
            self.now += 1
            self.seen += 1
            self.most = max(self.most, self.now)
        return super().problem(request)

    def completion(self, reply, request, served):
        self._never.wait(0.002)
        with self._lock:
            self.now -= 1
        return super().completion(reply, request, served)


def storm(length, retry_after=None, status=429):
    return [Fault(FaultKind.STATUS, status=status, retry_after=retry_after)] * length


def ask_all(session, folder, ceiling, callers=CALLERS):
    settings = session.settings(attempts=20, stream=False, max_concurrency=ceiling)
    gate = EndpointGate(endpoint_of(settings), ceiling, folder)

    def call(number):
        chat = HttpChat(
            "m", settings, api_key=session.token, environ={}, gate=gate, sleep=lambda seconds: None
        )  # every episode has a client of its own
        try:
            return chat.complete(ASK, seconds=120)
        finally:
            chat.close()

    with ThreadPoolExecutor(callers) as pool:
        return gate, list(pool.map(call, range(callers)))


def test_two_hundred_callers_in_storms_of_429_never_exceed_the_ceiling_and_recover(tmp_path):
    face = CountingFace()
    replies = ["ok"] * CALLERS
    script = [
        *replies[:40], *storm(30, retry_after="0.05"), *replies[40:80], *storm(25), *storm(10, status=529),
        *replies[80:],
    ]  # fmt: skip
    with ScriptedEndpoint(face) as endpoint:
        session = endpoint.open(script)
        gate, found = ask_all(session, tmp_path, ceiling=12)
    assert [reply.text for reply in found] == replies
    assert face.seen == len(script)
    assert 2 <= face.most <= 12
    pace, busy = gate.seen()
    assert busy == 0
    assert pace.epoch >= 2  # it gave way in both storms
    assert pace.places(12) > 2  # and took up speed again
    assert sum(reply.attempts - 1 for reply in found) == 65


def test_a_calm_endpoint_is_asked_by_more_and_more_up_to_the_ceiling(tmp_path):
    face = CountingFace()
    with ScriptedEndpoint(face) as endpoint:
        gate, found = ask_all(endpoint.open([Canned("ok")] * 60), tmp_path, ceiling=6, callers=60)
    assert len(found) == 60
    assert face.most <= 6
    assert gate.seen()[0].places(6) == 6


def test_an_outage_of_the_gate_is_no_fault_of_the_caller(tmp_path):
    with ScriptedEndpoint() as endpoint:
        session = endpoint.open(["ok"])
        settings = session.settings(max_concurrency=1)
        other = EndpointGate(endpoint_of(settings), 1, tmp_path)
        other.enter(5)
        gate = EndpointGate(endpoint_of(settings), 1, tmp_path)
        chat = HttpChat("m", settings, api_key=session.token, environ={}, gate=gate)
        with pytest.raises(TransientEndpointError, match="no place"):
            chat.complete(ASK, seconds=0.05)
        other.leave(throttled=False, retry_after=None)
        assert chat.complete(ASK, seconds=60).text == "ok"
        chat.close()
