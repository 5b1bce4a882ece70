"""The ways to a tool server: standard input and output, or HTTP on loopback for who knows the token."""

from __future__ import annotations

import hmac
import logging
import socket
import time
from collections.abc import Callable

import anyio
import anyio.to_thread
import uvicorn
from mcp.server.stdio import stdio_server
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tasks_lib.toolservers.desktop import DesktopFace

HOST = "127.0.0.1"
PATH = "/mcp"
LARGEST_BODY = 1024 * 1024
# Each is a task and a file of this process.
_MOST_CONNECTIONS = 32
_LOOK = 0.2  # s between two looks at whether anybody is there
_GOODBYE = 3.0  # s in which a client may ask once more after the end
_LOGGERS = ("mcp", "uvicorn.error", "uvicorn.access")


async def serve_stdio(face: DesktopFace) -> None:
    """Serve the client at the other end of standard input and output until it leaves; then the episode ends."""
    _silence()
    try:
        async with stdio_server() as (read, write):
            await face.server.run(read, write, face.server.create_initialization_options())
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(face.leave)


async def serve_http(
    face: DesktopFace, *, token: str, patience: float, ready: Callable[[str], None], port: int = 0
) -> None:
    """Serve streamable HTTP on loopback until the episode is over, or the client has left; then the episode ends.

    Parameters
    ----------
    face : DesktopFace
    token : str
        What ``Authorization: Bearer`` has to hold.
    patience : float
        s without an open request after which the client has left.
    ready : callable
        Gets the address when it answers.
    port : int
        0: a free one.

    Raises
    ------
    OSError
        If the port is taken.
    """
    _silence()
    listener = socket.create_server((HOST, port))
    app = face.server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=LARGEST_BODY,
        session_idle_timeout=None,  # ours counts for clients without a session too
        max_sessions=1,
        host=HOST,
    )
    door = Door(app, token)
    server = uvicorn.Server(
        uvicorn.Config(
            door,
            log_config=None,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=2,
            server_header=False,
            ws="none",
        )
    )

    async def watch() -> None:
        until = float("inf")
        while not door.has_ended and door.idle() <= (_GOODBYE if face.is_over else patience):
            if face.is_over:
                # Streams that are kept open keep nobody here for long.
                until = min(until, time.monotonic() + patience)
                if time.monotonic() > until:
                    break
            await anyio.sleep(_LOOK)  # it is time that passes, too
        server.should_exit = True

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            ready(f"http://{HOST}:{listener.getsockname()[1]}{PATH}")
            await server.serve(sockets=[listener])
            tasks.cancel_scope.cancel()
    finally:
        listener.close()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(face.leave)


class Door:
    """Lets in who knows the token, and sees whether anybody is there.

    Parameters
    ----------
    app : ASGIApp
        Behind the door.
    token : str
    clock : callable
        Seconds, for tests.

    Attributes
    ----------
    has_ended : bool
        Whether the client has ended its session.
    """

    def __init__(self, app: ASGIApp, token: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()
        self._clock = clock
        self._open = 0
        self._last = clock()
        self.has_ended = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).getlist("authorization") if scope["type"] == "http" else []
        if len(given) != 1 or not hmac.compare_digest(given[0].encode("utf-8", "replace"), self._wanted):
            answer = PlainTextResponse(
                "The token that matassay printed is wanted: Authorization: Bearer ...\n",
                status_code=401,
                headers={"WWW-Authenticate": "Bearer"},
            )
            await answer(scope, receive, send)
            return
        self._open += 1
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            self._open -= 1
            self._last = self._clock()
            self.has_ended |= scope["method"] == "DELETE" and 200 <= status < 300

    def idle(self) -> float:
        """Return for how long no request that was let in has been open, s."""
        return 0.0 if self._open else self._clock() - self._last


def _silence() -> None:
    """Keep what strangers send out of a person's terminal: it is refused, and that is all."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
