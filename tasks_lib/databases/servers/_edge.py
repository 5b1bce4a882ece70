"""The edge that every dialect's app sits behind: limits, faults, the digest in a header, the log of requests."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tasks_lib.databases.servers._paging_faults import asked_again, rewriter
from tasks_lib.databases.servers.dialect import Dialect
from tasks_lib.databases.servers.faults import FaultSettings
from tasks_lib.databases.servers.request_log import RequestLog, clean_query
from tasks_lib.records import now

DIGEST_HEADER = "X-MatAssay-Snapshot"
SNAPSHOT_HEADER = "X-MatAssay-Snapshot-Name"
# Real gateways refuse longer request lines; nine elements' chemical systems (511 of them) still fit.
LONGEST_QUERY = 32_000
LONGEST_BODY = 1_000_000
# Answering is the work of the harness's own process: more at once would only take it from the other episodes.
MOST_AT_ONCE = 4


class _BodyCutError(Exception):
    """Ends a reply before its promised length; the server closes the connection."""


class Edge:
    """ASGI app around a dialect's app.

    Parameters
    ----------
    app : ASGIApp
        The dialect.
    name, digest : str
        Of the snapshot, for the headers.
    faults : FaultSettings
        What to do wrong.
    is_data : callable
        Whether a path is a data route; only those show faults.
    dialect : Dialect
        Decides what a broken page looks like.
    log : RequestLog
        Where requests are kept.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        name: str,
        digest: str,
        faults: FaultSettings,
        is_data: Callable[[str], bool],
        dialect: Dialect,
        log: RequestLog,
    ) -> None:
        self._app = app
        self._headers = {DIGEST_HEADER: f"sha256:{digest}", SNAPSHOT_HEADER: name}
        self._faults = faults
        self._is_data = is_data
        self._dialect = dialect
        self._rewriter = rewriter(dialect, faults)
        self._log = log
        self._limits_left = faults.rate_limited
        self._errors_left = faults.server_errors
        self._cuts_left = faults.truncated_bodies
        self._places = asyncio.Semaphore(MOST_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        seen: dict[str, Any] = {"status": 500, "body_bytes": 0}
        fault: list[str] = []
        kept: list[bool] = []
        promised = -1
        began, started = now(), time.perf_counter()

        def keep() -> None:
            self._log.add(
                time=began,
                method=scope["method"],
                path=scope["path"][:1000],
                query=clean_query(scope["query_string"]),
                seconds=time.perf_counter() - started,
                fault=", ".join(fault) or None,
                **seen,
            )
            kept.append(True)

        async def record(message: Message) -> None:
            nonlocal promised
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                promised = int(Headers(scope=message).get("content-length", "-1"))
                headers = MutableHeaders(scope=message)
                for key, value in self._headers.items():
                    headers[key] = value
            elif message["type"] == "http.response.body":
                seen["body_bytes"] += len(message.get("body", b""))
                if not kept and (not message.get("more_body") or seen["body_bytes"] == promised):
                    keep()  # before the last byte leaves: who has the reply finds the request in the log
            await send(message)

        try:
            await self._answer(scope, receive, record, fault)
        finally:
            if not kept:
                keep()

    async def _answer(self, scope: Scope, receive: Receive, send: Send, fault: list[str]) -> None:
        refusal = _refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        if not (self._faults.any and self._is_data(scope["path"])):
            await self._worked(scope, receive, send)
            return
        if self._faults.latency_seconds:
            fault.append("latency")
            await asyncio.sleep(self._faults.latency_seconds)
        wrong = self._wrong_status(fault)
        if wrong is not None:
            await wrong(scope, receive, send)
            return
        cut = self._cuts_left > 0
        if not (cut or self._faults.rewrites):
            await self._worked(scope, receive, send)
            return
        asked = {**scope, "query_string": asked_again(scope["query_string"], self._dialect, self._faults)}
        start, body = await _whole_reply(self._worked, asked, receive)
        if self._faults.rewrites and start["status"] == 200:
            fault.append("paging")
            body = self._rewritten(Request(scope), body)
            MutableHeaders(scope=start)["content-length"] = str(len(body))
        await send(start)
        if cut:
            self._cuts_left -= 1
            fault.append("truncated")
            await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
            raise _BodyCutError
        await send({"type": "http.response.body", "body": body})

    async def _worked(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._places:
            await self._app(scope, receive, send)

    def _wrong_status(self, fault: list[str]) -> Response | None:
        if self._limits_left:
            self._limits_left -= 1
            fault.append("rate_limited")
            seconds = self._faults.retry_after_seconds
            return JSONResponse(
                {"detail": f"rate limit reached: try again in {seconds} s"}, 429, headers={"Retry-After": str(seconds)}
            )
        if self._errors_left:
            self._errors_left -= 1
            fault.append("server_error")
            return JSONResponse({"detail": "the server failed: try again"}, self._faults.server_error_status)
        return None

    def _rewritten(self, request: Request, body: bytes) -> bytes:
        try:
            document = json.loads(body)
        except ValueError:
            return body
        if not isinstance(document, dict):
            return body
        return json.dumps(self._rewriter(request, document), ensure_ascii=False).encode("utf-8")


def _refusal(scope: Scope) -> Response | None:
    if len(scope["query_string"]) > LONGEST_QUERY:
        detail = f"a query string has at most {LONGEST_QUERY} bytes, got {len(scope['query_string'])}: ask in parts"
        return JSONResponse({"detail": detail}, 414)
    length = Headers(scope=scope).get("content-length", "0")
    if not length.isdecimal() or int(length) > LONGEST_BODY:
        return JSONResponse({"detail": f"a request's body has at most {LONGEST_BODY} bytes: send less"}, 413)
    return None


async def _whole_reply(app: ASGIApp, scope: Scope, receive: Receive) -> tuple[Message, bytes]:
    parts: list[bytes] = []
    start: list[Message] = []

    async def collect(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.append(message)
        elif message["type"] == "http.response.body":
            parts.append(message.get("body", b""))

    await app(scope, receive, collect)
    return start[0], b"".join(parts)
