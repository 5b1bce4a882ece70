"""An endpoint on loopback that serves canned replies, and faults where it is told to."""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from tasks_lib.models._scripted_server import Server
from tasks_lib.models.scripted_faces import ChatFace, Face
from tasks_lib.models.scripted_replies import Canned, Fault, ScriptedSession


class ScriptedEndpoint:
    """A server on 127.0.0.1 whose sessions answer ``POST …/chat/completions`` from a list, streamed where asked.

    Parameters
    ----------
    face : Face, optional
        Another dialect than chat completions.

    Examples
    --------
    >>> with ScriptedEndpoint() as endpoint:
    ...     session = endpoint.open(["Hello."])
    """

    def __init__(self, face: Face | None = None) -> None:
        self._sessions: dict[str, ScriptedSession] = {}
        self._stop = threading.Event()
        self._server = Server(self._sessions, self._stop, face or ChatFace())
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
