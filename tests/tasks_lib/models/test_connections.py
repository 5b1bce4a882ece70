"""Which connections serve the next call: those of whole replies, never one whose reply was broken."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator

import pytest

from tasks_lib.models import HttpChat, Message, ModelSettings

WHOLE = json.dumps({
    "id": "1", "object": "chat.completion", "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ready"}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}).encode()  # fmt: skip
EVENTS = (
    b'data: {"choices": [{"index": 0, "delta": {"content": "ready"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
)


class Server(socketserver.ThreadingTCPServer):
    """Answers every request over connections that it keeps; the first reply says that it is shorter than it is."""

    daemon_threads = True

    def __init__(self, body: bytes, kind: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.body, self.kind = body, kind
        self.connections: list[int] = []


class Handler(socketserver.StreamRequestHandler):
    """Of one connection."""

    server: Server

    def handle(self) -> None:
        self.server.connections.append(0)
        number = len(self.server.connections) - 1
        while self.rfile.readline():
            length = 0
            while (line := self.rfile.readline().strip().lower()) != b"":
                length = int(line.partition(b":")[2]) if line.startswith(b"content-length:") else length
            self.rfile.read(length)
            first = not any(self.server.connections)
            self.server.connections[number] += 1
            said = len(self.server.body) - (40 if first else 0)
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {self.server.kind}\r\nContent-Length: {said}\r\n\r\n"
            # In one piece: the rest is in the client's buffer when the reply seems to be over.
            self.wfile.write(head.encode() + self.server.body)


@pytest.fixture(params=["whole", "streamed"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    whole = request.param == "whole"
    with Server(WHOLE, "application/json") if whole else Server(EVENTS, "text/event-stream") as served:
        thread = threading.Thread(target=served.serve_forever, daemon=True)
        thread.start()
        yield served
        served.shutdown()
        thread.join()


def test_what_is_left_of_a_broken_reply_is_not_read_as_the_next_one(server: Server) -> None:
    settings = ModelSettings(
        base_url=f"http://127.0.0.1:{server.server_address[1]}/v1", model="m", attempts=2,
        stream=server.body is EVENTS,
    )  # fmt: skip
    model = HttpChat("m", settings, environ={}, sleep=lambda _: None)
    try:
        first = model.complete([Message.of("user", "x")])
        second = model.complete([Message.of("user", "x")])
    finally:
        model.close()
    assert (first.text, first.attempts) == ("ready", 2)
    assert (second.text, second.attempts) == ("ready", 1)
    assert server.connections == [1, 2], "a new connection after the broken reply, and that one is kept"
