"""Getting addresses of a live database: bounded in time and bytes, and nothing that the other side does raises."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx

from tasks_lib.databases._outbound import (
    MOST_REDIRECTS,
    UNDERSTOOD,
    BodyError,
    client_for,
    is_same_service,
    read_body,
    service_at,
)
from tasks_lib.databases.ingest.replies import Reply
from tasks_lib.records.errors import ConfigurationError

_LONGEST_WAIT = 30.0
_TRIES = 3
_PASSES = (429, 502, 503, 504)


class Fetcher:
    """Gets addresses of one host; also a context manager.

    Parameters
    ----------
    base : str
        Address of the database; other hosts are not asked.
    api_key : str or None
        Sent as ``X-API-KEY``.
    seconds : float
        Limit for one reply, s.

    Raises
    ------
    ConfigurationError
        If the address is no http or https address.
    """

    def __init__(self, base: str, *, api_key: str | None = None, seconds: float = 60.0) -> None:
        parts = service_at(base)
        if parts is None:
            msg = f"a database's address begins with http:// or https:// and names a host, got {base!r}: write it so"
            raise ConfigurationError(msg)
        self._parts = parts
        self._seconds = seconds
        headers = {"Accept-Encoding": UNDERSTOOD} | ({"X-API-KEY": api_key} if api_key else {})
        self._client = client_for(parts.hostname, seconds, headers)

    def __call__(self, url: str) -> Reply:
        """Get one address; what passes by itself (429 and 5xx of gateways) is asked again, up to three times."""
        reply = self._once(url)
        for turn in range(1, _TRIES):
            if reply[0].status not in _PASSES:
                break
            time.sleep(min(reply[1] if reply[1] is not None else 0.5 * 2**turn, _LONGEST_WAIT))
            reply = self._once(url)
        return reply[0]

    def _once(self, url: str) -> tuple[Reply, float | None]:
        began = time.monotonic()
        for _ in range(MOST_REDIRECTS):
            try:
                if not is_same_service(self._parts, url):
                    there = urlsplit(url).hostname
                    return Reply(url, 0, b"", f"it leads to {there}, only {self._parts.hostname} is asked"), None
                with self._client.stream("GET", url) as answer:
                    if answer.is_redirect and answer.next_request is not None:
                        url = str(answer.next_request.url)
                        continue
                    return self._read(url, answer, began)
            except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as error:
                return Reply(url, 0, b"", f"{type(error).__name__}: {error}"[:200]), None
        return Reply(url, 0, b"", f"more than {MOST_REDIRECTS} redirects"), None

    def _read(self, url: str, answer: httpx.Response, began: float) -> tuple[Reply, float | None]:
        try:
            body = read_body(answer, deadline=began + self._seconds, seconds=self._seconds)
        except BodyError as error:
            return Reply(url, answer.status_code, b"", str(error)), None
        after = answer.headers.get("Retry-After", "")
        return Reply(url, answer.status_code, body), float(after) if after.isdecimal() else None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
