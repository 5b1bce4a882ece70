"""A chat-completions endpoint on loopback that serves canned replies, and faults where it is told to."""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from email.message import Message
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol, Self

from tasks_lib.models.settings import ImageSettings, ModelSettings

LARGEST_REQUEST = 64 * 1024 * 1024
# A rule of thumb; the figures are there so that budgets in tokens have something real to count.
CHARACTERS_PER_TOKEN = 4
TOKENS_PER_IMAGE = 1000


class FaultKind(StrEnum):
    """What can be wrong with an endpoint."""

    CUT = "connection cut without a reply"
    STATUS = "an HTTP error status"
    SLOW = "a reply that comes late"
    DRIP = "a reply of which a byte comes now and then"
    GARBAGE = "a body that is no JSON"
    TRUNCATED = "JSON cut in the middle"
    SHORT = "fewer bytes than Content-Length says"
    NO_CHOICE = "JSON without a choice"


@dataclass(frozen=True, slots=True)
class Canned:
    """A reply to be served: the text, and parts that endpoints add or leave out."""

    text: str
    reasoning: str = ""
    usage: bool = True
    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault to be served instead of a reply; the reply waits for the next request.

    Attributes
    ----------
    kind : FaultKind
        What goes wrong.
    status : int
        Of `FaultKind.STATUS`.
    retry_after : str or None
        Header of `FaultKind.STATUS`.
    seconds : float
        Delay of `FaultKind.SLOW`, pause between bytes of `FaultKind.DRIP`, s.
    body : str
        Of `FaultKind.STATUS` and `FaultKind.GARBAGE`.
    """

    kind: FaultKind
    status: int = 500
    retry_after: str | None = None
    seconds: float = 0.0
    body: str = "<html>bad gateway</html>"


@dataclass(slots=True)
class ScriptedSession:
    """One client's queue of replies.

    Attributes
    ----------
    base_url : str
        Address for the client; its path holds the session's name.
    token : str
        Bearer token, without which the endpoint answers 401.
    requests : deque of dict
        The last requests, parsed.
    """

    base_url: str
    token: str = field(repr=False)
    queue: deque[Canned | Fault]
    requests: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=1000))
    served: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def settings(self, *, image: ImageSettings | None = None, **changes: Any) -> ModelSettings:
        """Return settings that point a client here; hand the token over as its key."""
        return ModelSettings(
            base_url=self.base_url, model="scripted", image=image or ImageSettings(), max_tokens=None, **changes
        )

    def take(self) -> Canned | Fault | None:
        """Take the next reply or fault; None when all are served."""
        with self.lock:
            return self.queue.popleft() if self.queue else None


class Face(Protocol):
    """The dialect that an endpoint speaks."""

    path: str

    def key(self, headers: Message) -> str:
        """Return the key that a request brings."""
        ...

    def problem(self, request: dict[str, Any]) -> str | None:
        """Return what is wrong with a request."""
        ...

    def completion(self, reply: Canned, request: dict[str, Any], served: int) -> dict[str, Any]:
        """Return the body of an answer."""
        ...

    def nothing(self) -> dict[str, Any]:
        """Return a body of the right kind without any answer."""
        ...


class ChatFace:
    """Chat completions."""

    path = "/chat/completions"

    def key(self, headers: Message) -> str:
        """Return the bearer token."""
        return headers.get("Authorization", "").removeprefix("Bearer ")

    def problem(self, request: dict[str, Any]) -> str | None:
        """Want a list of messages."""
        return None if isinstance(request.get("messages"), list) else "the body is a JSON object with a list `messages`"

    def nothing(self) -> dict[str, Any]:
        """Return a completion without a choice."""
        return {"object": "chat.completion", "choices": []}

    def completion(self, reply: Canned, request: dict[str, Any], served: int) -> dict[str, Any]:
        """Return a completion with one choice."""
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        body: dict[str, Any] = {
            "id": f"scripted-{served}",
            "object": "chat.completion",
            "created": 0,
            "model": str(request.get("model", "")),
            "choices": [{"index": 0, "message": message, "finish_reason": reply.finish_reason}],
        }
        if reply.usage:
            given = _request_tokens(request["messages"])
            made = _tokens(reply.text) + _tokens(reply.reasoning)
            body["usage"] = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
        return body


class ScriptedEndpoint:
    """A server on 127.0.0.1 whose sessions answer ``POST …/chat/completions`` from a list.

    Examples
    --------
    >>> with ScriptedEndpoint() as endpoint:
    ...     session = endpoint.open(["Hello."])
    """

    def __init__(self, face: Face | None = None) -> None:
        self._sessions: dict[str, ScriptedSession] = {}
        self._stop = threading.Event()
        self._server = _Server(self._sessions, self._stop, face or ChatFace())
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="matassay-scripted", daemon=True
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return int(self._server.server_address[1])

    def open(self, replies: Iterable[str | Canned | Fault]) -> ScriptedSession:
        """Open a session that serves these, in order; afterwards it answers 410."""
        name = secrets.token_hex(8)
        queue = deque(Canned(reply) if isinstance(reply, str) else reply for reply in replies)
        session = ScriptedSession(f"http://127.0.0.1:{self.port}/sessions/{name}/v1", secrets.token_hex(24), queue)
        self._sessions[name] = session
        return session

    def close(self) -> None:
        """Stop serving and end slow replies; may be called twice."""
        if self._stop.is_set():
            return
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
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
    server: _Server
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
        elif isinstance(item, Fault):
            self._fault(session, item, request)
        else:
            session.served += 1
            self._send(200, self.server.face.completion(item, request, session.served))

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
        if found is None or "/".join(parts[3:]) != f"v1{self.server.face.path}":
            self._error(404, "no such session")
            return None
        given = self.server.face.key(self.headers).encode("utf-8", "replace")
        if not hmac.compare_digest(given, found.token.encode()):
            self._error(401, "wrong token")
            return None
        return found

    def _fault(self, session: ScriptedSession, fault: Fault, request: dict[str, Any]) -> None:
        whole = json.dumps(self.server.face.completion(Canned("late"), request, session.served)).encode()
        if fault.kind is FaultKind.CUT:
            self._cut()
        elif fault.kind is FaultKind.STATUS:
            headers = {} if fault.retry_after is None else {"Retry-After": fault.retry_after}
            self._send_bytes(fault.status, fault.body.encode(), headers, "text/html")
        elif fault.kind is FaultKind.GARBAGE:
            self._send_bytes(200, fault.body.encode(), {}, "application/json")
        elif fault.kind is FaultKind.TRUNCATED:
            self._send_bytes(200, whole[: len(whole) // 2], {}, "application/json")
        elif fault.kind is FaultKind.NO_CHOICE:
            self._send(200, self.server.face.nothing())
        elif fault.kind is FaultKind.SHORT:
            self._head(len(whole) + 100)
            self.wfile.write(whole)
            self.wfile.flush()
            self._cut()
        elif fault.kind is FaultKind.SLOW:
            self.server.stop.wait(fault.seconds)
            self._send_bytes(200, whole, {}, "application/json")
        else:
            self._head(len(whole))
            for position in range(len(whole)):
                self.wfile.write(whole[position : position + 1])
                self.wfile.flush()
                if self.server.stop.wait(fault.seconds):
                    return

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _head(self, length: int) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.flush()

    def _error(self, status: int, message: str) -> None:
        self._send(status, {"error": {"message": message, "type": "scripted"}})

    def _send(self, status: int, body: dict[str, Any]) -> None:
        self._send_bytes(status, json.dumps(body).encode(), {}, "application/json")

    def _send_bytes(self, status: int, body: bytes, headers: dict[str, str], media_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _request_tokens(messages: list[Any]) -> int:
    total = 0
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, str):
                total += _tokens(part)
            elif isinstance(part, dict):
                total += _tokens(str(part["text"])) if "text" in part else TOKENS_PER_IMAGE
    return total
