"""The Prefect server as a program of ours: one process, a socket that is bound already, files and headers added.

``python -m flows.serving.webserver FD [STORE_URL]``: without a store it serves the API alone (`matassay run`).
"""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from flows.serving import lifeline

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

# Prefect's UI starts Amplitude whatever the settings say: the browser is told to call nobody but us. The graph of a
# flow run compiles its shaders with eval.
_PAGE_POLICY = (
    "default-src 'self'; connect-src 'self' ws://127.0.0.1:* ws://localhost:*; img-src 'self' data:; "
    "style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; worker-src 'self' blob:; "
    "font-src 'self' data:; frame-ancestors 'none'; base-uri 'self'; form-action 'self'"
)
# A page of the web that resolves its own name to 127.0.0.1 must not reach the API.
_HOSTS = ["127.0.0.1", "localhost"]


def restrict_pages(app: FastAPI) -> None:
    """Add the content policy to what an application answers."""

    @app.middleware("http")
    async def policy(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await proceed(request)
        response.headers.setdefault("content-security-policy", _PAGE_POLICY)
        response.headers.setdefault("x-content-type-options", "nosniff")
        return response


def queue_writers() -> None:
    """Let SQLite's writers wait for each other instead of failing.

    Prefect begins its transactions DEFERRED. One that has read and then wants to write, while another writes, fails at
    once whatever the busy time-out says; the API answers 503 and the client tries again seconds later. Begun IMMEDIATE
    they queue.
    """
    from sqlalchemy import Engine, event

    @event.listens_for(Engine, "before_cursor_execute", retval=True)
    def immediate(
        _connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool
    ) -> tuple[str, Any]:
        return ("BEGIN IMMEDIATE" if statement == "BEGIN DEFERRED" else statement), parameters


def application(store_url: str | None) -> ASGIApp:
    """Build the application: Prefect's own, with the store's files where there is a store."""
    from prefect.server.api.server import create_app
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    queue_writers()
    app = create_app(ephemeral=store_url is None, final=True)
    if store_url is not None:
        from starlette.routing import Route

        from flows.links import PREFIX
        from flows.serving.files import StoreFiles
        from tasks_lib.store import Store

        # Before Prefect's own routes: its UI answers every path.
        files = StoreFiles(Store.open(store_url))
        app.router.routes.insert(0, Route(PREFIX + "/{path:path}", files.answer, methods=["GET"]))
    restrict_pages(app)
    # Around the application and not inside: Prefect's automations call it within the process, by a name of their own.
    return TrustedHostMiddleware(app, allowed_hosts=_HOSTS)


def main(arguments: list[str]) -> int:
    """Serve until SIGTERM or the end of the lifeline."""
    lifeline.hold(grace=15.0)
    bound = socket.socket(fileno=int(arguments[0]))
    app = application(arguments[1] if len(arguments) > 1 else None)

    import uvicorn

    config = uvicorn.Config(
        app, log_level="warning", loop="asyncio", timeout_graceful_shutdown=3, timeout_keep_alive=5, access_log=False
    )
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    uvicorn.Server(config).run(sockets=[bound])
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
