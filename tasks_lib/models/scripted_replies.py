"""What a scripted endpoint serves: canned replies and faults, in sessions."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tasks_lib.models.settings import ImageSettings, ModelSettings


class FaultKind(StrEnum):
    """What can be wrong with an endpoint; each applies to replies in one piece and to streamed ones."""

    CUT = "connection cut without a reply"
    STATUS = "an HTTP error status"
    SLOW = "a reply that comes late"
    DRIP = "a reply of which a byte comes now and then"
    GARBAGE = "a body that is no JSON"
    TRUNCATED = "a reply that ends in the middle"
    SHORT = "fewer bytes than Content-Length says"
    LONG = "more bytes than Content-Length says"
    NO_CHOICE = "a reply without an answer"
    CUT_WITHIN = "connection cut in the middle of a reply"
    BROKEN_EVENT = "JSON that is broken in the middle of a reply"
    STALL = "silence in the middle of a reply"
    KEPT_ALIVE = "nothing but signs of life"
    HELD_OPEN = "a reply without an end of its body"
    ERROR_WITHIN = "an error told with status 200, of a stream in its middle"


@dataclass(frozen=True, slots=True)
class Canned:
    """A reply to be served: the text, and parts that endpoints add or leave out.

    Attributes
    ----------
    text, reasoning : str
    usage : bool
        Whether the usage is told.
    finish_reason : str
        In the words of chat completions.
    calls : tuple of (str, str)
        Tools that are called: name and arguments, sound or not.
    refusal : str
        What a refusal says; instead of the text.
    """

    text: str
    reasoning: str = ""
    usage: bool = True
    finish_reason: str = "stop"
    calls: tuple[tuple[str, str], ...] = ()
    refusal: str = ""


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
        Delay of `FaultKind.SLOW`, silence of `FaultKind.STALL` and `FaultKind.HELD_OPEN`, pause between bytes of
        `FaultKind.DRIP` and between signs of life of `FaultKind.KEPT_ALIVE`, s.
    body : str
        Of `FaultKind.STATUS` and `FaultKind.GARBAGE`; the JSON of `FaultKind.ERROR_WITHIN`.
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
