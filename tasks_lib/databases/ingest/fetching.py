"""Getting addresses of a live database: bounded in time and bytes, and nothing that the other side does raises."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx

from tasks_lib.databases._outbound import LARGEST_BODY, MOST_REDIRECTS, client_for
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
        try:
            parts = urlsplit(base)
            port = parts.port
        except ValueError:
            parts, port = urlsplit(""), None
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            msg = f"a database's address begins with http:// or https:// and names a host, got {base!r}: write it so"
            raise ConfigurationError(msg)
        self._place = (parts.hostname, port)
        self._seconds = seconds
        headers = {"X-API-KEY": api_key} if api_key else {}
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
                parts = urlsplit(url)
                if (parts.hostname, parts.port) != self._place and not self._same_host(url):
                    return Reply(url, 0, b"", f"it leads to {parts.hostname}, only {self._place[0]} is asked"), None
                with self._client.stream("GET", url) as answer:
                    if answer.is_redirect and answer.next_request is not None:
                        url = str(answer.next_request.url)
                        continue
                    return self._read(url, answer, began)
            except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as error:
                return Reply(url, 0, b"", f"{type(error).__name__}: {error}"[:200]), None
        return Reply(url, 0, b"", f"more than {MOST_REDIRECTS} redirects"), None

    def _same_host(self, url: str) -> bool:
        # From http to https the port changes with the scheme.
        parts = urlsplit(url)
        return parts.hostname == self._place[0] and parts.port is None and parts.scheme == "https"

    def _read(self, url: str, answer: httpx.Response, began: float) -> tuple[Reply, float | None]:
        parts, size = [], 0
        for part in answer.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > LARGEST_BODY:
                return Reply(url, answer.status_code, b"", f"the body has more than {LARGEST_BODY} bytes"), None
            if time.monotonic() - began > self._seconds:
                return Reply(url, answer.status_code, b"", f"the body took more than {self._seconds:g} s"), None
        after = answer.headers.get("Retry-After", "")
        return Reply(url, answer.status_code, b"".join(parts)), float(after) if after.isdecimal() else None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
