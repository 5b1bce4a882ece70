"""One try of a request over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from tasks_lib.models._deadline import OverdueError, within
from tasks_lib.models._failures import LOG, TryFailedError, failed_event, failed_status
from tasks_lib.models._stream import StalledError, assemble, looks_like_events
from tasks_lib.models.dialects import DIALECTS, BrokenReplyError, ChatReply
from tasks_lib.models.dialects.reply import parse_object
from tasks_lib.models.settings import ModelSettings

# A reply of a chat model is some kilobytes; a longer body is a fault or an attack.
LARGEST_BODY = 32 * 1024 * 1024
# What is read behind the end of a stream, so that its connection can serve the next call.
_REST = 64 * 1024
_CONNECT_SECONDS = 10.0
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(slots=True)
class Seen:
    """What a try saw of the answer, for the log."""

    status: int | None = None
    reply: str = ""
    streamed: bool = False


class Wire:
    """Where a model answers, and the connections to it.

    Parameters
    ----------
    settings : ModelSettings
    key : str or None
        The key.
    clock : callable
        Time, s.
    """

    def __init__(self, settings: ModelSettings, key: str | None, clock: Callable[[], float]) -> None:
        self._settings = settings
        self._clock = clock
        self._dialect = DIALECTS[settings.provider]
        path = self._dialect.stream_path if settings.stream else self._dialect.path
        self.url = settings.base_url + path.format(model=quote(settings.model, safe=""))
        self._headers = {"Content-Type": "application/json", **self._dialect.headers_with(key)}
        if settings.stream:
            self._headers["Accept"] = "text/event-stream, application/json"
        self._client: httpx.Client | None = None
        self._opening = threading.Lock()

    def ask(self, body: Mapping[str, Any], limit: float, *, of_caller: bool) -> tuple[ChatReply | TryFailedError, Seen]:
        """Send a request and read the reply.

        Parameters
        ----------
        body : mapping
            JSON of the request.
        limit : float
            Time for all of it, s.
        of_caller : bool
            Whether the limit is the caller's own, not the model's.

        Returns
        -------
        tuple of ChatReply or TryFailedError, and Seen
            The reply, or why there is none; and what was seen of it.
        """
        # Lone surrogates, which no UTF-8 can carry, become question marks here.
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        seen, abandoned = Seen(), threading.Event()
        try:
            return within(
                limit, lambda deliver: self._post(content, limit, seen, abandoned, deliver), abandoned.set
            ), seen
        except TryFailedError as failure:
            return failure, seen
        except (OverdueError, StalledError, httpx.HTTPError, httpx.InvalidURL, BrokenReplyError) as error:
            return self._failure(error, limit, of_caller=of_caller), seen

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        with self._opening:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _failure(self, error: Exception, limit: float, *, of_caller: bool) -> TryFailedError:
        stall = self._stall(limit)
        if isinstance(error, StalledError) or (isinstance(error, httpx.ReadTimeout) and stall < limit):
            advice = "see whether it is overloaded, raise `stall_seconds`, or set `stream = false`"
            return TryFailedError(f"stalled: nothing of a reply came for {stall:.3g} s", advice)
        if isinstance(error, OverdueError | httpx.ReadTimeout):
            if of_caller:
                why = f"no whole reply within the {limit:.3g} s that were left of the budget"
                return TryFailedError(why, "give the stage a larger budget in seconds", of_caller=True)
            why = f"no whole reply within {limit:.3g} s ({type(error).__name__})"
            return TryFailedError(why, "see whether it is overloaded, or raise `read_seconds`")
        if isinstance(error, httpx.ConnectError):
            return TryFailedError(f"cannot connect ({error})", "start the server, or check `base_url`")
        if isinstance(error, httpx.TimeoutException):
            return TryFailedError(type(error).__name__, "see whether the server is overloaded")
        if isinstance(error, BrokenReplyError | httpx.DecodingError):
            return TryFailedError(f"broken reply: {error}", LOG)
        if isinstance(error, httpx.UnsupportedProtocol) or not isinstance(error, httpx.TransportError):
            return TryFailedError(f"{type(error).__name__}: {error}", "check `base_url`", transient=False)
        return TryFailedError(f"the connection was cut ({error})", LOG)

    def _stall(self, limit: float) -> float:
        return min(limit, self._settings.stall_seconds) if self._settings.stream else limit

    def _post(
        self,
        content: bytes,
        limit: float,
        seen: Seen,
        abandoned: threading.Event,
        deliver: Callable[[ChatReply], None],
    ) -> ChatReply:
        stall = self._stall(limit)
        timeout = httpx.Timeout(limit, connect=min(limit, _CONNECT_SECONDS), read=stall)
        with self._open().stream("POST", self.url, content=content, headers=self._headers, timeout=timeout) as response:
            seen.status = response.status_code
            try:
                return self._read(response, stall, seen, abandoned, deliver)
            except (BrokenReplyError, httpx.DecodingError, TryFailedError):
                # Its length may have been wrong too: what is left of it would be read as the next call's reply.
                response.extensions["network_stream"].close()
                raise

    def _read(
        self,
        response: httpx.Response,
        stall: float,
        seen: Seen,
        abandoned: threading.Event,
        deliver: Callable[[ChatReply], None],
    ) -> ChatReply:
        ended = threading.Event()
        chunks = _chunks(response, abandoned, ended)
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if response.is_success and kind == "text/event-stream":
            return self._read_events(chunks, stall, seen, ended, deliver)
        raw = b"".join(chunks)
        if not response.is_success:
            seen.reply = raw.decode("utf-8", "replace")
            raise failed_status(response, raw)
        if looks_like_events(raw):
            return self._read_events(iter([raw]), stall, seen, ended, deliver)
        seen.reply = raw.decode("utf-8", "replace")
        found = parse_object(raw)
        failure = failed_event(found)
        if failure is not None:
            raise failure
        return self._dialect.read(found)

    def _read_events(
        self,
        chunks: Iterator[bytes],
        stall: float,
        seen: Seen,
        ended: threading.Event,
        deliver: Callable[[ChatReply], None],
    ) -> ChatReply:
        assembler = self._dialect.assembler()
        seen.streamed = True

        def at_the_end() -> None:
            seen.reply = _json(assembler.body())
            deliver(self._dialect.read(assembler.body()))
            ended.set()

        try:
            assemble(chunks, assembler, stall, self._clock, at_the_end)
        finally:
            seen.reply = _json(assembler.body())
        return self._dialect.read(assembler.body())

    def _open(self) -> httpx.Client:
        with self._opening:
            if self._client is None:
                address = urlsplit(self.url)
                self._client = httpx.Client(
                    # A proxy of the environment must not be asked for an endpoint on this very host.
                    trust_env=address.hostname not in _LOOPBACK,
                    follow_redirects=False,
                    # Certificates are loaded where one is to be checked: it takes longer than a call on loopback.
                    verify=address.scheme != "http",
                )
            return self._client


def _chunks(response: httpx.Response, abandoned: threading.Event, ended: threading.Event) -> Iterator[bytes]:
    size, rest = 0, _REST
    for chunk in response.iter_bytes():
        size += len(chunk)
        rest -= len(chunk) if ended.is_set() else 0
        if abandoned.is_set() or rest < 0:
            return
        if size > LARGEST_BODY:
            why = f"a reply of more than {LARGEST_BODY // 2**20} MiB"
            raise TryFailedError(why, "check that `base_url` is a chat endpoint", transient=False)
        yield chunk


def _json(body: Mapping[str, Any]) -> str:
    try:
        return json.dumps(body, ensure_ascii=False)
    except (ValueError, RecursionError):
        return ""
