"""The desk behind HTTP on this machine's loopback: a token, small requests, and no other host's name."""

from __future__ import annotations

import hmac
import re
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from tasks_lib.instruments.nanosurf.desk import Desk
from tasks_lib.instruments.nanosurf.routes import answer, fault

MAX_BODY_BYTES = 64 * 1024
MAX_CONNECTIONS = 128
MIN_TOKEN = 16
_IDLE_SECONDS = 60.0
_LENGTH = re.compile(r"\d{1,9}", re.ASCII)


class DeskServer:
    """Serves a desk on 127.0.0.1 until it is closed.

    Parameters
    ----------
    desk : Desk
        Who carries out what is asked.
    token : str
        What every request must bring, 16 characters at least.
    port : int
        0 for any free one.

    Raises
    ------
    ValueError
        If the token is too short.
    OSError
        If the port is taken.
    """

    def __init__(self, desk: Desk, token: str, *, port: int = 0) -> None:
        if len(token) < MIN_TOKEN:
            msg = f"a token has {MIN_TOKEN} characters at least"
            raise ValueError(msg)
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.desk = desk
        self._server.expected = f"Bearer {token}".encode()
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="desk-server", daemon=True
        )
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def port(self) -> int:
        """The port."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Address for clients."""
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Stop to serve; the desk stays."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    # On Windows the option would let another process take the port over.
    allow_reuse_address = sys.platform != "win32"
    desk: Desk
    expected: bytes

    def __init__(self, *arguments: Any) -> None:
        self._room = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client that went away in the middle is its own affair.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "MatAssay"
    sys_version = ""
    timeout = _IDLE_SECONDS
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        refused, body = self._body()
        if refused is not None:
            self.close_connection = True
            self._send(*refused)
            return
        self._send(*answer(self.server.desk, self.command, self.path, body))

    def _body(self) -> tuple[tuple[int, str, bytes] | None, bytes]:
        """Check who asks before anything of the body is read."""
        port = self.server.server_address[1]
        if self.headers.get("Host") not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return (403, *fault("denied", "this server answers for 127.0.0.1 alone")[1:]), b""
        given = (self.headers.get("Authorization") or "").encode("utf-8", "replace")
        if not hmac.compare_digest(given, self.server.expected):
            return fault("denied", "the token is missing or wrong: take the one that the worker was started with"), b""
        length = self.headers.get("Content-Length") or "0"
        if self.headers.get("Transfer-Encoding") or not _LENGTH.fullmatch(length):
            return fault("invalid", "a body comes with its length"), b""
        if int(length) > MAX_BODY_BYTES:
            return (413, *fault("invalid", f"a body has {MAX_BODY_BYTES} bytes at most, not {length}")[1:]), b""
        return None, self.rfile.read(int(length))

    def _send(self, status: int, media_type: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet: the guard has the log."""
