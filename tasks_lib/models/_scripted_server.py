"""The HTTP server behind a scripted endpoint."""

from __future__ import annotations

import hmac
import json
import socket
import threading
from collections.abc import Iterable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tasks_lib.models.scripted_faces import Event, Face, event_bytes
from tasks_lib.models.scripted_replies import Canned, Fault, FaultKind, ScriptedSession

LARGEST_REQUEST = 64 * 1024 * 1024
_JSON = "application/json"
_EVENTS = "text/event-stream; charset=utf-8"


class Server(ThreadingHTTPServer):
    """Serves the sessions of an endpoint on 127.0.0.1."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, sessions: dict[str, ScriptedSession], stop: threading.Event, face: Face) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.sessions = sessions
        self.face = face
        self.stop = stop

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet: a client that hung up is what half of the tests do."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 60
    # Small replies at once: without it Nagle's algorithm and delayed ACKs cost 40 ms a reply.
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, format: str, *args: Any) -> None:  # the name is the base class's
        """Keep the console clean."""

    def do_POST(self) -> None:
        """Serve the next reply of the session that the path names."""
        body = self._body()
        if body is None:
            return
        session = self._session()
        if session is None:
            return
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            self._error(400, "the body is not valid JSON")
            return
        problem = self.server.face.problem(request) if isinstance(request, dict) else "the body is no JSON object"
        if problem:
            self._error(400, problem)
            return
        session.requests.append(request)
        item = session.take()
        if item is None:
            self._error(410, f"all {session.served} replies of this session are served")
            return
        face = self.server.face
        streamed = face.streams(request, self.path)
        reply = Canned("late") if isinstance(item, Fault) else item
        session.served += 0 if isinstance(item, Fault) else 1
        events = face.events(reply, request, session.served) if streamed else ()
        whole = json.dumps(face.completion(reply, request, session.served)).encode()
        if isinstance(item, Fault):
            self._fault(item, whole, events)
        elif streamed:
            self._chunked(map(event_bytes, events), _EVENTS)
        else:
            self._send_bytes(200, whole, {}, _JSON)

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST_REQUEST:
            self.close_connection = True
            self._error(413 if length.isdecimal() else 411, "send a Content-Length, at most 64 MiB")
            return None
        return self.rfile.read(int(length))

    def _session(self) -> ScriptedSession | None:
        parts = self.path.split("/")
        found = self.server.sessions.get(parts[2]) if len(parts) > 2 and parts[1] == "sessions" else None
        face = self.server.face
        if found is None or "/".join(parts[3:]) not in {f"v1{face.path}", f"v1{face.stream_path}"}:
            self._error(404, "no such session")
            return None
        given = face.key(self.headers).encode("utf-8", "replace")
        if not hmac.compare_digest(given, found.token.encode()):
            self._error(401, "wrong token")
            return None
        return found

    def _fault(self, fault: Fault, whole: bytes, events: Sequence[Event]) -> None:
        """Serve a fault; `whole` is the reply in one piece, `events` is not empty where it is streamed."""
        kind, media_type = fault.kind, _EVENTS if events else _JSON
        sent = list(map(event_bytes, events))
        body = b"".join(sent) if events else whole
        # The cut goes through the middle of an event.
        half = body[: len(b"".join(sent[: len(sent) // 2])) + 20] if events else whole[: len(whole) // 2]
        if kind is FaultKind.CUT:
            self._cut()
        elif kind is FaultKind.STATUS:
            headers = {} if fault.retry_after is None else {"Retry-After": fault.retry_after}
            self._send_bytes(fault.status, fault.body.encode(), headers, "text/html")
        elif kind is FaultKind.GARBAGE:
            self._send_bytes(200, fault.body.encode(), {}, _JSON)
        elif kind is FaultKind.NO_CHOICE:
            self._send_bytes(200, b"" if events else json.dumps(self.server.face.nothing()).encode(), {}, media_type)
        elif kind is FaultKind.TRUNCATED:
            self._send_bytes(200, half, {}, media_type)
        elif kind is FaultKind.SHORT:
            self._head(media_type, len(half) + 100)
            self._write(half)
            self._cut()
        elif kind is FaultKind.LONG:
            self._head(media_type, len(half))
            self._write(body)
        elif kind is FaultKind.CUT_WITHIN:
            self._head(media_type, None)
            self._write_chunk(half)
            self._cut()
        elif kind is FaultKind.BROKEN_EVENT:
            broken = [*sent[: len(sent) // 2], b'data: {"choices": [{"delta\n\n', *sent[len(sent) // 2 :]]
            self._send_bytes(200, b"".join(broken) if events else half + b'"}' + whole, {}, media_type)
        elif kind is FaultKind.ERROR_WITHIN:
            told = b"".join([*sent[: len(sent) // 2], event_bytes(("error", fault.body))])
            self._send_bytes(200, told if events else fault.body.encode(), {}, media_type)
        elif kind in {FaultKind.STALL, FaultKind.HELD_OPEN}:
            self._head(media_type, None)
            self._write_chunk(half if kind is FaultKind.STALL else body)
            self.server.stop.wait(fault.seconds)
            self._cut()
        elif kind is FaultKind.KEPT_ALIVE:
            self._head(media_type, None)
            while not self.server.stop.wait(fault.seconds):
                self._write_chunk(b": still here\n\n" if events else b"\n")
        elif kind is FaultKind.SLOW:
            self.server.stop.wait(fault.seconds)
            self._send_bytes(200, body, {}, media_type)
        else:
            self._head(media_type, len(body))
            for position in range(len(body)):
                self._write(body[position : position + 1])
                if self.server.stop.wait(fault.seconds):
                    return

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _head(self, media_type: str, length: int | None) -> None:
        self.close_connection = True
        self._send_head(200, media_type, length)

    def _send_head(self, status: int, media_type: str, length: int | None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.flush()

    def _chunked(self, chunks: Iterable[bytes], media_type: str) -> None:
        self._send_head(200, media_type, None)
        for chunk in chunks:
            self._write_chunk(chunk)
        self._write_chunk(b"")

    def _write_chunk(self, chunk: bytes) -> None:
        self._write(b"%x\r\n%s\r\n" % (len(chunk), chunk))

    def _write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def _error(self, status: int, message: str) -> None:
        body = json.dumps({"error": {"message": message, "type": "scripted"}}).encode()
        self._send_bytes(status, body, {}, _JSON)

    def _send_bytes(self, status: int, body: bytes, headers: dict[str, str], media_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self._write(body)
