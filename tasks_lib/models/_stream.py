"""The events of a streamed reply, read as they come and put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import httpx
from httpx_sse import EventSource

from tasks_lib.models._failures import TryFailedError, failed_event
from tasks_lib.models.dialects import Assembler, BrokenReplyError
from tasks_lib.models.dialects.reply import parse_object

# Ends a streamed chat completion; no other event is without JSON.
_DONE = "[DONE]"


class StalledError(Exception):
    """Bytes came, but no event for too long."""


def assemble(
    chunks: Iterable[bytes],
    assembler: Assembler,
    stall: float,
    clock: Callable[[], float],
    ended: Callable[[], None] = lambda: None,
) -> None:
    """Read a stream to its end.

    What goes wrong after the model has said all is passed over: its reply is whole.

    Parameters
    ----------
    chunks : iterable of bytes
        The body, split anywhere.
    assembler : Assembler
        Takes the events.
    stall : float
        Longest time without an event, s. Comments, by which proxies keep a connection open, are none.
    clock : callable
        Time, s.
    ended : callable
        Called when the endpoint says that nothing follows; what follows all the same is read and thrown away.

    Raises
    ------
    BrokenReplyError
        If an event is no JSON object, or the stream ends before the reply does.
    TryFailedError
        If an event tells of an error.
    StalledError
        If no event came for too long.
    """
    done = False
    try:
        for data in _events(chunks, stall, clock):
            if done or assembler.ended:
                continue
            if data == _DONE:
                done = True
            else:
                event = parse_object(data)
                failure = failed_event(event)
                if failure is not None:
                    raise failure
                assembler.take(event)
            if done or assembler.ended:
                ended()
    except (BrokenReplyError, TryFailedError, StalledError, httpx.TransportError, httpx.DecodingError):
        if not (done or assembler.complete):
            raise
    if not (done or assembler.complete):
        msg = "the stream ended before the reply did"
        raise BrokenReplyError(msg)


def looks_like_events(raw: bytes) -> bool:
    """Tell whether a body holds events whatever its type says: some proxies lose the type on the way."""
    return raw.lstrip()[:6].startswith((b"data:", b"event:", b"id:", b"retry:", b":"))


class _Watched(httpx.SyncByteStream):
    """Chunks for the reader of events, as long as it finds some."""

    def __init__(self, chunks: Iterable[bytes], stall: float, clock: Callable[[], float]) -> None:
        self._chunks, self._stall, self._clock = chunks, stall, clock
        self.last_event = clock()

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            yield chunk
            if self._clock() - self.last_event > self._stall:
                raise StalledError


def _events(chunks: Iterable[bytes], stall: float, clock: Callable[[], float]) -> Iterator[str]:
    watched = _Watched(chunks, stall, clock)
    # The body is decoded as UTF-8 whatever the endpoint says, and no content encoding is undone a second time.
    head = {"content-type": "text/event-stream; charset=utf-8"}
    for event in EventSource(httpx.Response(200, headers=head, stream=watched)).iter_sse():
        if event.data:
            watched.last_event = clock()
            yield event.data
