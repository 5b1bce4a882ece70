"""The way from a script to whoever holds the microscope."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any, Protocol
from urllib.parse import urlsplit

from ._errors import GONE, com_error, refused

_SECONDS = 180.0
# The other side closes a connection that was idle for a minute.
_IDLE = 20.0


class Link(Protocol):
    """Carries a request and brings status and content."""

    def request(self, method: str, target: str, body: bytes) -> tuple[int, bytes]: ...


class HttpLink:
    """Over loopback, by one connection that is opened anew after a pause."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_SECONDS)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._used = time.monotonic()

    def request(self, method: str, target: str, body: bytes) -> tuple[int, bytes]:
        if time.monotonic() - self._used > _IDLE:
            self._connection.close()
        try:
            self._connection.request(method, target, body, self._headers)
            response = self._connection.getresponse()
            return response.status, response.read()
        except BaseException:
            self._connection.close()
            raise
        finally:
            self._used = time.monotonic()


def ask(link: Link, method: str, target: str, order: dict[str, Any] | None = None) -> Any:
    """Return the answer: JSON as objects, a file as bytes."""
    try:
        body = b"" if order is None else json.dumps(order, allow_nan=False).encode()
    except ValueError as error:
        raise refused(f"The parameter is incorrect: {error}") from None
    try:
        status, content = link.request(method, target, body)
    except (OSError, http.client.HTTPException) as error:
        raise com_error(GONE, f"The RPC server is unavailable. ({error})", None, None) from None
    if status != http.client.OK:
        raise _fault(status, content)
    return content if target.startswith("/v1/frame") else json.loads(content)


def _fault(status: int, content: bytes) -> com_error:
    try:
        fault = json.loads(content)
        kind, words = str(fault["kind"]), str(fault["message"])
    except (ValueError, KeyError, TypeError):
        kind, words = "lost", f"answer {status}"
    if kind == "lost":
        return com_error(GONE, f"The RPC server is unavailable. ({words})", None, None)
    error = refused(words)
    error.kind = kind  # type: ignore[attr-defined]
    return error
