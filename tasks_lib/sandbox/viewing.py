"""A machine's desktop in a person's browser: noVNC's page, and a WebSocket that leads to the machine's VNC server.

Nothing but 127.0.0.1 is listened on. The address that the person is told holds a token that is good once: the browser
that comes first gets a cookie for it, and only that browser is served. From there every byte goes through the machine's
control socket, so the VNC server itself listens nowhere. A page for work that hands alone cannot do (`Bench`) may stand
before the desktop, or alone where a machine has none.
"""

from __future__ import annotations

import hmac
import html
import logging
import mimetypes
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from tasks_lib.records.errors import MachineLostError, NoDesktopError
from tasks_lib.sandbox.guest.viewer import PROGRAM

HOST = "127.0.0.1"
_PROGRAM_PATH = "/usr/bin:/bin:/usr/local/bin"
_PAGES = ("/usr/share/novnc", "/usr/share/webapps/novnc", "/usr/local/share/novnc")
_START = "vnc_lite.html"
_SOCKET = "websockify"
_BENCH = "bench.html"
_BENCH_SOCKET = "bench"
_COOKIE = "matassay"
_PART = 64 * 1024
_LARGEST_MESSAGE = 1024 * 1024
# A browser has six at a time; each is a thread and a file of this process, which strangers must not use up.
_MOST_CONNECTIONS = 64
_GOODBYE = 3.0  # s that pages have to take their leave
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".html": "text/html; charset=utf-8"}


def viewing_problems() -> list[str]:
    """Say what keeps a person from seeing a desktop here, with what to do; empty where nothing does."""
    missing = [] if shutil.which(PROGRAM, path=_PROGRAM_PATH) else [PROGRAM]
    missing += [] if pages_folder() is not None else ["novnc"]
    if not missing:
        return []
    command = f"apt-get install -y --no-install-recommends {' '.join(missing)}"
    return [f"a desktop in the browser needs {' and '.join(missing)}: {command}"]


def pages_folder() -> Path | None:
    """Return where noVNC's pages lie on this host; None where it is not installed."""
    return next((Path(place) for place in _PAGES if (Path(place) / _START).is_file()), None)


class Bench(Protocol):
    """A page of this project's own, with a WebSocket that it talks through."""

    def page(self, nonce: str) -> str:
        """Return the page; ``nonce`` lets its script and its styles in, and nothing else is let in."""

    def attend(self, browser: ServerConnection) -> None:
        """Serve a page that has connected, until it goes or the bench is closed."""

    def close(self) -> None:
        """Let the page that is there go; idempotent."""


class ScreenServer:
    """Serves one machine's desktop to one browser; a context manager.

    Parameters
    ----------
    connect : callable or None
        Opens a connection that speaks RFB: `Computer.open_screen`; None where there is no desktop.
    tell : callable, optional
        Gets a sentence when the person comes, goes, or is refused.
    bench : Bench, optional
        The page that is shown first; it may hold the desktop's.

    Raises
    ------
    NoDesktopError
        If a program for it is missing on this host.
    """

    def __init__(
        self,
        connect: Callable[[], socket.socket] | None,
        tell: Callable[[str], None] = lambda _: None,
        bench: Bench | None = None,
    ) -> None:
        problems = viewing_problems() if connect is not None else []
        if problems:
            raise NoDesktopError("; ".join(problems))
        folder = pages_folder() if connect is not None else None
        self._folder = None if folder is None else folder.resolve()
        self._connect = connect
        self._bench = bench
        self._tell = tell
        self._token: str | None = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)
        # Cookies know hosts and paths, not ports: another server of this host must not be sent ours.
        self._room = f"/{secrets.token_urlsafe(16)}/"
        self._lock = threading.Lock()
        self._arriving = threading.Lock()
        self._current: socket.socket | None = None
        self._served: dict[threading.Thread, socket.socket] = {}
        self._closed = False
        listener = socket.create_server((HOST, 0))
        self.port = int(listener.getsockname()[1])
        self._origin = f"http://{HOST}:{self.port}"
        self._server: Server = serve(
            self._bridge,
            sock=listener,
            process_request=self._answer,
            max_size=_LARGEST_MESSAGE,
            compression=None,
            open_timeout=10,
            close_timeout=2,
            logger=_silent(),
        )
        self._handle, self._server.handler = self._server.handler, self._take
        self._thread = threading.Thread(target=self._server.serve_forever, name="screen server", daemon=True)
        self._thread.start()
        self.url = f"{self._origin}{self._room}?token={self._token}"

    def __enter__(self) -> ScreenServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the person's connection and listen no more; idempotent."""
        self._server.shutdown()
        if self._bench is not None:
            self._bench.close()
        with self._lock:
            self._closed = True
            _end(self._current)
            self._current = None
            served = dict(self._served)
        self._thread.join(5.0)
        end = time.monotonic() + _GOODBYE
        for thread in served:
            thread.join(max(0.0, end - time.monotonic()))
        for thread, connection in served.items():
            if thread.is_alive():  # a page that is suspended reads nothing, and would keep this process alive
                _end(connection)
                thread.join(5.0)

    def _take(self, connection: socket.socket, address: Any) -> None:
        """Serve a connection, unless too many are served already.

        The server stops for good when it gets no file for one more connection, and so would the recording.
        """
        me = threading.current_thread()
        with self._lock:
            taken = len(self._served) < _MOST_CONNECTIONS and not self._closed
            if taken:
                self._served[me] = connection
        if not taken:
            connection.close()
            return
        try:
            self._handle(connection, address)
        finally:
            with self._lock:
                del self._served[me]

    def _answer(self, _: ServerConnection, request: Request) -> Response | None:
        """Answer a request for a page; None lets a WebSocket through."""
        try:
            address = urlsplit(request.path)
        except ValueError:
            return _said(HTTPStatus.BAD_REQUEST, "That is no address.")
        if request.headers.get_all("Host") != [f"{HOST}:{self.port}"]:
            return _said(HTTPStatus.FORBIDDEN, "This page is called by its address on loopback alone.")
        if address.path == self._room:
            return self._admit(parse_qs(address.query).get("token", [""])[0], request)
        if not address.path.startswith(self._room) or not self._is_admitted(request):
            return _said(HTTPStatus.FORBIDDEN, "Open the address that matassay printed.")
        if address.path not in self._sockets():
            return self._page(address.path.removeprefix(self._room))
        # A page of another site could make this browser send its cookie; it cannot make it lie about its origin.
        if request.headers.get("Origin", self._origin) != self._origin:
            return _said(HTTPStatus.FORBIDDEN, "Only the page of this desktop may connect to it.")
        return None

    def _admit(self, token: str, request: Request) -> Response:
        start = f"{self._room}{_BENCH if self._bench is not None else self._desktop()}"
        with self._lock:
            good = self._token is not None and _equal(token, self._token)
            if good:
                self._token = None
        if good:
            cookie = f"{_COOKIE}={self._cookie}; HttpOnly; SameSite=Strict; Path={self._room}"
            return _said(HTTPStatus.SEE_OTHER, "", {"Location": start, "Set-Cookie": cookie})
        if self._is_admitted(request):
            return _said(HTTPStatus.SEE_OTHER, "", {"Location": start})
        self._tell("a browser with a wrong or spent token was refused")
        return _said(
            HTTPStatus.FORBIDDEN,
            "This address is wrong or was opened before in another browser: go on there, or record anew.",
        )

    def _desktop(self) -> str:
        return f"{_START}?path={self._room[1:]}{_SOCKET}&scale=true"

    def _sockets(self) -> list[str]:
        there = ((_SOCKET, self._connect), (_BENCH_SOCKET, self._bench))
        return [f"{self._room}{name}" for name, served in there if served is not None]

    def _is_admitted(self, request: Request) -> bool:
        cookies: SimpleCookie = SimpleCookie()
        for value in request.headers.get_all("Cookie"):
            with suppress(CookieError):
                cookies.load(value)
        found = cookies.get(_COOKIE)
        return found is not None and _equal(found.value, self._cookie)

    def _page(self, path: str) -> Response:
        if path == _BENCH and self._bench is not None:
            nonce = secrets.token_urlsafe(16)
            policy = (
                f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; "
                f"connect-src ws://{HOST}:{self.port}; frame-src 'self'; base-uri 'none'; form-action 'none'"
            )
            desktop = self._desktop() if self._connect is not None else ""
            body = self._bench.page(nonce).replace("{{desktop}}", html.escape(desktop)).encode()
            return _response(HTTPStatus.OK, body, {"Content-Type": _TYPES[".html"], "Content-Security-Policy": policy})
        if self._folder is None:
            return _said(HTTPStatus.NOT_FOUND, "There is no such page.")
        file = (self._folder / path.lstrip("/").replace("\0", "")).resolve()
        if not file.is_relative_to(self._folder) or not file.is_file():
            return _said(HTTPStatus.NOT_FOUND, "There is no such page.")
        kind = _TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        framed = {"X-Frame-Options": "SAMEORIGIN"} if self._bench is not None else {}
        return _response(HTTPStatus.OK, file.read_bytes(), {"Content-Type": kind} | framed)

    def _bridge(self, browser: ServerConnection) -> None:
        """Carry bytes between the browser and the machine until either goes; the bench speaks for itself."""
        asked = "" if browser.request is None else urlsplit(browser.request.path).path
        if self._bench is not None and asked == f"{self._room}{_BENCH_SOCKET}":
            self._bench.attend(browser)
            return
        if self._connect is None:
            return
        # One after the other: of two pages at once the machine would serve the one and this server the other.
        with self._arriving:
            with self._lock:
                before, self._current = self._current, None  # the machine ends it when the new one connects
            try:
                machine = self._connect()
            except (MachineLostError, NoDesktopError) as error:
                with self._lock:
                    self._current = before
                self._tell(f"the desktop cannot be shown: {error}")
                browser.close(1011, "the desktop cannot be shown")
                return
            with self._lock:
                if self._closed:  # meanwhile: what is judged now must not change any more
                    machine.close()
                    return
                self._current = machine
            _end(before)  # a reloaded page, or a second one: the newest has the desktop
        self._tell("the person is at the desktop" if before is None else "the desktop went over to another page")
        carrier = threading.Thread(target=_carry, args=(machine, browser), name="screen", daemon=True)
        carrier.start()
        try:
            for message in browser:
                machine.sendall(message if isinstance(message, bytes) else message.encode())
        except (ConnectionClosed, OSError):
            pass
        finally:
            _end(machine)
            carrier.join(5.0)
            machine.close()
            with self._lock:
                last = self._current is machine
                self._current = None if last else self._current
            if last:
                self._tell("the person left the desktop; the recording waits")


def _silent() -> logging.Logger:
    """Return a logger for what strangers send: it is refused, and no trace of it belongs on a person's terminal."""
    logger = logging.getLogger(f"{__name__}.connections")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


def _carry(machine: socket.socket, browser: ServerConnection) -> None:
    try:
        while part := machine.recv(_PART):
            browser.send(part)
    except (ConnectionClosed, OSError):
        pass
    browser.close()


def _end(connection: socket.socket | None) -> None:
    if connection is not None:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def _equal(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _said(status: HTTPStatus, text: str, headers: dict[str, str] | None = None) -> Response:
    return _response(status, f"{text}\n".encode(), {"Content-Type": "text/plain; charset=utf-8"} | (headers or {}))


def _response(status: HTTPStatus, body: bytes, headers: dict[str, str]) -> Response:
    always: dict[str, Any] = {
        "Content-Length": str(len(body)),
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Connection": "close",
    }
    return Response(int(status), status.phrase, Headers(always | headers), body)


__all__ = ["HOST", "Bench", "ScreenServer", "pages_folder", "viewing_problems"]
