"""Live mode: a server on loopback that forwards to a public database and keeps every reply.

The machine of an episode reaches loopback only. A relay stands there with the face of a server of the snapshot: the
same addresses, a key of its own that is worth nothing elsewhere. It puts the real key in itself, so no credential
reaches a machine; it turns the database's absolute links to itself, so that clients that follow them stay here; and it
gives every reply, as it came, to whoever records the run.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from anyio import CapacityLimiter, to_thread
from pydantic import Field
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tasks_lib.databases._keys import KEY_NAME
from tasks_lib.databases.servers._dialects import OPEN_DATA
from tasks_lib.databases.servers._edge import LONGEST_BODY, LONGEST_QUERY
from tasks_lib.databases.servers._links import turned
from tasks_lib.databases.servers._upstream import Answer, Upstream, refused_path
from tasks_lib.databases.servers.database_server import DatabaseServer
from tasks_lib.databases.servers.dialect import Dialect
from tasks_lib.databases.servers.faults import FaultSettings
from tasks_lib.databases.servers.request_log import clean_query
from tasks_lib.databases.servers.running import KEY_CHARACTERS
from tasks_lib.records import Document, Text, UtcTime, now, slug
from tasks_lib.records.errors import ConfigurationError

# Searching by a structure is the one question that the client of the Materials Project sends with a body.
_POSTED = re.compile(r"/materials/(?:[a-z_]+/)?find_structure/?")
# Of one stage. Beyond it the client is refused, for what an agent does too much of is its own affair.
MOST_REPLIES = 10_000
LARGEST_SUM = 512 * 2**20
_AT_ONCE = 8
# The relay's own; everything else is the upstream's, also /heartbeat.
_STATE = "/-/relay"
_GENERIC = frozenset({"optimade", "api", "v0", "v1"})


class RelayedReply(Document):
    """A line of ``replies.jsonl``: one reply of an upstream as it came. Headers, and with them keys, are never kept."""

    number: int = Field(ge=1, description="counted from the start of the relay")
    time: UtcTime = Field(description="when it was asked")
    dialect: Dialect
    endpoint: Text = Field(description="mp, open_data, oqmd or the name of an OPTIMADE provider")
    upstream: Text = Field(description="base address that was asked")
    method: Text
    path: Text = Field(description="below the base address, percent-encoded")
    query: Text = Field(description="as sent, keys removed, cut at 4 000 characters")
    byte_range: Text | None = Field(default=None, description="the part of an object that was asked for")
    status: int | None = Field(description="None: no whole reply came")
    problem: Text = Field(default="", description="why no whole reply came")
    sha256: Text = Field(description="of the body as it came")
    size: int = Field(ge=0, description="bytes of the body as it came")
    media_type: Text = ""
    seconds: float = Field(ge=0)

    @property
    def url(self) -> str:
        """What the upstream was asked, keys removed."""
        return self.upstream + self.path + (f"?{self.query}" if self.query else "")


Recorder = Callable[[RelayedReply, bytes], None]
"""Gets every reply and its body, before the client does; one call at a time."""


@dataclass(frozen=True)
class _Route:
    """Where requests below a prefix of this server go."""

    name: str
    prefix: str
    upstream: Upstream
    local: str


class Relay(DatabaseServer):
    """A relay before a live database: it plays no faults, asks for a key of its own, and records every reply."""

    def __init__(
        self, dialect: Dialect, targets: Mapping[str, Upstream], *, port: int, local_key: str | None, record: Recorder
    ) -> None:
        super().__init__(dialect, port=port, faults=FaultSettings(), api_key=local_key)
        self._targets = targets
        self._record = record
        self._lock = threading.Lock()
        self._count = 0
        self._bytes = 0
        self._closed = False
        self._places = CapacityLimiter(_AT_ONCE)
        self._routes = _routes(dialect, self.url.rstrip("/"), targets)
        self.endpoints = _endpoints(dialect, self.url, self._routes)
        try:
            routes = [
                Route(_STATE, self._state),
                Route("/{rest:path}", self._forward, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
            ]
            app = Starlette(routes=routes)
            app.router.redirect_slashes = False
            self._loopback.serve(app, f"relay {dialect}", probe=_STATE)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop answering and recording, free the port, close the connections; a second call does nothing."""
        super().close()
        with self._lock:
            self._closed = True
        for upstream in self._targets.values():
            upstream.close()

    async def _state(self, request: Request) -> Response:
        return JSONResponse({"status": "OK", "relayed": {one.name: one.upstream.base for one in self._routes}})

    async def _forward(self, request: Request) -> Response:
        began, started = now(), time.perf_counter()
        answer = self._refusal(request)
        if answer is None:
            body = await request.body()
            # Abandoned when the relay closes: a database that hangs must not hold up the end of a stage.
            answer = await to_thread.run_sync(
                self._relayed, request, body, abandon_on_cancel=True, limiter=self._places
            )
        self._log.add(
            time=began,
            method=request.method,
            path=request.scope["path"][:1000],
            query=clean_query(request.scope["query_string"]),
            status=answer.status_code,
            body_bytes=len(answer.body),
            seconds=time.perf_counter() - started,
        )
        return answer

    def _refusal(self, request: Request) -> Response | None:
        raw = _raw_path(request)
        if len(request.scope["query_string"]) > LONGEST_QUERY:
            return _error(414, f"a query string has at most {LONGEST_QUERY} bytes: ask in parts")
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LONGEST_BODY or "transfer-encoding" in request.headers:
            return _error(413, f"a request's body has at most {LONGEST_BODY} bytes and says how many: send less")
        why = refused_path(raw)
        if why is not None:
            return _error(400, f"{why}: it is not forwarded")
        posted = self.dialect is Dialect.MATERIALS_PROJECT and _POSTED.fullmatch(raw)
        if request.method not in {"GET", "HEAD"} and not (request.method == "POST" and posted):
            return _error(405, f"{request.method} is not forwarded: databases are asked with GET")
        if self._route(raw) is None:
            bases = ", ".join(self.endpoints.values())
            return _error(501, f"{raw[:200]} is not relayed; the base addresses are {bases}")
        if self._count >= MOST_REPLIES or self._bytes >= LARGEST_SUM:
            most = f"{MOST_REPLIES} replies and {LARGEST_SUM // 2**20} MiB"
            return _error(429, f"a stage is given at most {most} of a live database, and has had them")
        return self._unlocked(request, raw)

    def _unlocked(self, request: Request, raw: str) -> Response | None:
        """Ask for the relay's own key as the real service asks for its own; open data need none."""
        if self.api_key is None or raw.rstrip("/") == "/heartbeat" or raw.startswith(f"{OPEN_DATA}/"):
            return None
        given = request.headers.get("x-api-key", "")
        if not given:
            return _error(401, "No API key found in request: send it in the header X-API-KEY")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self.api_key.encode("ascii")):
            return _error(403, "Invalid API key: this server does not know the key in the header X-API-KEY")
        return None

    def _route(self, raw: str) -> _Route | None:
        return next((one for one in self._routes if f"{raw}/".startswith(f"{one.prefix}/")), None)

    def _relayed(self, request: Request, body: bytes) -> Response:
        raw = _raw_path(request)
        route = self._route(raw)
        assert route is not None  # noqa: S101 - `_refusal` has asked
        path, query = raw[len(route.prefix) :], _without_keys(request.scope["query_string"].decode("latin-1"))
        headers = {name: value for name, value in request.headers.items() if name != "x-api-key"}
        began, started = now(), time.perf_counter()
        answer = route.upstream.ask(request.method, path, query, headers, body)
        told = {
            "time": began,
            "dialect": self.dialect,
            "endpoint": route.name,
            "upstream": route.upstream.base,
            "method": request.method,
            "path": path[:1000],
            "query": clean_query(query.encode("latin-1")),
            "byte_range": headers["range"][:200] if "range" in headers else None,
            "seconds": time.perf_counter() - started,
        }
        if not self._keep(told, answer):
            return _error(507, "the reply could not be recorded, so it is not given on: this run is not whole")
        if answer.status is None:
            return _error(502, f"{route.name}: {answer.problem}")
        return self._local(answer, route)

    def _keep(self, told: dict[str, Any], answer: Answer) -> bool:
        with self._lock:
            if self._closed:
                return False  # it came after the end of the stage, and nobody waits for it
            self._count += 1
            self._bytes += len(answer.body)
            reply = RelayedReply.model_validate(
                {
                    "number": self._count,
                    "status": answer.status,
                    "problem": answer.problem,
                    "sha256": hashlib.sha256(answer.body).hexdigest(),
                    "size": len(answer.body),
                    "media_type": answer.headers.get("content-type", "").partition(";")[0],
                    **told,
                }
            )
            try:
                self._record(reply, answer.body)
            except Exception as error:  # noqa: BLE001 - whatever the recorder is; the run's owner raises it
                self.failure = self.failure or error
                return False
        return True

    def _local(self, answer: Answer, route: _Route) -> Response:
        assert answer.status is not None  # noqa: S101 - the caller has asked
        body = answer.body
        if "json" in answer.headers.get("content-type", ""):
            body = turned(body, route.upstream.prefixes(), route.local)
        response = Response(body, answer.status)
        for name, value in answer.headers.items():
            response.headers[name] = value
        return response


def relay(
    dialect: Dialect | str,
    upstream: str | Sequence[str],
    *,
    api_key: str | None = None,
    open_data: str | None = None,
    port: int = 0,
    record: Recorder,
) -> Relay:
    """Forward to a live database from a port on loopback until the handle is closed.

    Parameters
    ----------
    dialect : Dialect or str
        ``mp``, ``oqmd`` or ``optimade``.
    upstream : str or sequence of str
        Base address; for OPTIMADE one or more providers'.
    api_key : str or None
        Materials Project's real key; the relay alone holds it.
    open_data : str or None
        Materials Project only: base address of the S3 host of its buckets; None relays none.
    port : int
        0 for a free one.
    record : callable
        Gets every `RelayedReply` and its body. Where it raises, the client gets 507 and not the data.

    Raises
    ------
    ConfigurationError
        If the dialect is unknown, an address is none, or Materials Project's key is missing.
    HarnessTimeoutError
        If the relay does not answer within 30 s.
    """
    spoken = Dialect.named(dialect)
    bases = [upstream] if isinstance(upstream, str) else list(upstream)
    if not bases or (len(bases) > 1 and spoken is not Dialect.OPTIMADE):
        msg = f"dialect {spoken.value!r} is relayed from one address, optimade from several, got {bases}: mend it"
        raise ConfigurationError(msg)
    local_key: str | None = None
    if spoken is Dialect.MATERIALS_PROJECT:
        if not api_key:
            msg = "the Materials Project answers nobody without a key: set MP_API_KEY in the environment"
            raise ConfigurationError(msg)
        local_key = secrets.token_hex(KEY_CHARACTERS // 2)
    targets: dict[str, Upstream] = {}
    with contextlib.ExitStack() as undo:
        if open_data is not None and spoken is Dialect.MATERIALS_PROJECT:
            targets["open_data"] = Upstream(open_data)
            undo.callback(targets["open_data"].close)
        for base in bases:
            name = _provider_name(base, targets) if spoken is Dialect.OPTIMADE else spoken.value
            targets[name] = Upstream(base, api_key=api_key)
            undo.callback(targets[name].close)
        made = Relay(spoken, targets, port=port, local_key=local_key, record=record)
        undo.pop_all()
    return made


def _routes(dialect: Dialect, url: str, targets: Mapping[str, Upstream]) -> tuple[_Route, ...]:
    """Say which prefix leads where; the open data first, because the whole root belongs to Materials Project."""
    found = []
    for name, upstream in targets.items():
        prefix = OPEN_DATA if name == "open_data" else f"/{name}" if dialect is Dialect.OPTIMADE else ""
        found.append(_Route(name, prefix, upstream, url + prefix))
    return tuple(found)


def _endpoints(dialect: Dialect, url: str, routes: Sequence[_Route]) -> dict[str, str]:
    if dialect is Dialect.MATERIALS_PROJECT:
        return {"mp": url, "open_data": f"{url.rstrip('/')}{OPEN_DATA}"}
    if dialect is Dialect.OQMD:
        return {"oqmd": f"{url}oqmdapi", "optimade": f"{url}optimade"}
    return {route.name: route.local for route in routes}


def _provider_name(base: str, taken: Mapping[str, Upstream]) -> str:
    """Return a short name for a provider: the last part of its path that says something, else its host."""
    parts = urlsplit(base)
    said = [part for part in parts.path.split("/") if part and part not in _GENERIC]
    name = slug(said[-1] if said else parts.hostname or "provider")
    numbered = (name if turn == 1 else f"{name}-{turn}" for turn in range(1, len(taken) + 2))
    return next(one for one in numbered if one not in taken)


def _raw_path(request: Request) -> str:
    raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode("utf-8")
    return raw.partition(b"?")[0].decode("latin-1")


def _without_keys(query: str) -> str:
    """Return a query without parameters that may be keys: the relay's own key is nothing to the upstream."""
    if not KEY_NAME.search(query):
        return query
    return urlencode([pair for pair in parse_qsl(query, keep_blank_values=True) if not KEY_NAME.fullmatch(pair[0])])


def _error(status: int, detail: str) -> Response:
    error = {"status": str(status), "title": "relay", "detail": detail}
    return JSONResponse({"detail": detail, "errors": [error]}, status)
