"""The other side of a relay: what may be asked of an upstream, and how its reply is got, bounded in time and bytes."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

import httpx

from tasks_lib.records.errors import ConfigurationError

LARGEST_BODY = 64 * 2**20
SECONDS = 120.0
_REDIRECTS = 5
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
# Passed on to the upstream; everything else that a client sends (keys, cookies, signatures) stays here.
_ASKED = ("accept", "content-type", "range", "user-agent")
# Passed on to the client; lengths and encodings are this side's own.
_ANSWERED = (
    "content-type", "etag", "last-modified", "content-range", "accept-ranges", "retry-after", "x-ratelimit-remaining",
    "x-matassay-snapshot", "x-matassay-snapshot-name",
)  # fmt: skip
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]|%(?:2f|5c|00|0a|0d)", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """What an upstream replied, or why it did not.

    Attributes
    ----------
    status : int or None
        None where no whole reply came.
    body : bytes
        As it came.
    headers : dict of str to str
        Those that a client needs.
    problem : str
        Why no whole reply came.
    """

    status: int | None
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    problem: str = ""


class Upstream:
    """One base address that a relay forwards to; nothing else is ever asked.

    Parameters
    ----------
    base : str
        Address of the service, without credentials, query or fragment.
    api_key : str or None
        Sent as ``X-API-KEY``.

    Raises
    ------
    ConfigurationError
        If the address is none.
    """

    def __init__(self, base: str, *, api_key: str | None = None) -> None:
        self.base = check_base(base)
        self._parts = urlsplit(self.base)
        self._key = {"X-API-KEY": api_key} if api_key else {}
        # A lab's proxy and certificates come from the environment; a database on loopback needs none of them.
        there = self._parts.hostname not in _LOOPBACK
        self._client = httpx.Client(timeout=httpx.Timeout(SECONDS / 2, connect=10.0), trust_env=there)

    def ask(self, method: str, path: str, query: str, headers: dict[str, str], body: bytes) -> Answer:
        """Ask for a path below the base address.

        Parameters
        ----------
        method : str
        path : str
            Percent-encoded, checked by `refused_path`, empty or with a slash in front.
        query : str
            Percent-encoded.
        headers : dict of str to str
            The client's, names in small letters.
        body : bytes
            The client's.
        """
        sent = {name: headers[name] for name in _ASKED if name in headers}
        # Unpacked, so that what is recorded is what came, and what came is what the client reads.
        sent |= {"accept-encoding": "identity", **self._key}
        url = f"{self.base}{path}" + (f"?{query}" if query else "")
        deadline = time.monotonic() + SECONDS
        for _ in range(_REDIRECTS):
            try:
                with self._client.stream(method, url, headers=sent, content=body or None) as reply:
                    if not (reply.is_redirect and reply.next_request is not None):
                        return _whole(reply, method, deadline)
                    following = str(reply.next_request.url)
            except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, ValueError) as error:
                return Answer(None, problem=f"{type(error).__name__}: {error}"[:300])
            if method == "POST" or not self._is_own(following):
                return Answer(None, problem=f"the upstream leads to {following[:200]}, which is not asked")
            url = following
        return Answer(None, problem=f"more than {_REDIRECTS} redirects")

    def prefixes(self) -> tuple[str, ...]:
        """Return how the upstream's own absolute links begin."""
        place = f"{self._parts.netloc}{self._parts.path}"
        return tuple(f"{scheme}://{place}" for scheme in ("http", "https"))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _is_own(self, url: str) -> bool:
        there = urlsplit(url)
        if there.hostname != self._parts.hostname:
            return False
        upgrade = (self._parts.scheme, there.scheme, there.port) == ("http", "https", None)
        return (there.scheme, there.port) == (self._parts.scheme, self._parts.port) or upgrade


def check_base(base: str) -> str:
    """Return a base address without a slash at its end.

    Raises
    ------
    ConfigurationError
        If it is no http or https address, or carries credentials, a query or a fragment.
    """
    try:
        parts = urlsplit(base)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        parts, sound = urlsplit(""), False
    if not sound or parts.username or parts.password or parts.query or parts.fragment or _UNSAFE.search(base):
        shown = base if "@" not in base else base.rpartition("@")[2]
        msg = (
            f"an upstream is http:// or https://, a host and perhaps a path, without credentials, got {shown!r}: "
            "write it so; keys go into the environment"
        )
        raise ConfigurationError(msg)
    return base.rstrip("/")


def refused_path(raw_path: str) -> str | None:
    """Say why a request's path is not forwarded; None where it is.

    Parameters
    ----------
    raw_path : str
        As sent, percent-encoded.
    """
    if not raw_path.startswith("/") or raw_path.startswith("//"):
        return "a path begins with one slash"
    if _UNSAFE.search(raw_path) or not raw_path.isascii():
        return "a path has no blanks, backslashes, control characters or encoded slashes"
    plain = unquote(unquote(raw_path))
    if any(segment in {".", ".."} for segment in plain.split("/")):
        return "a path has no segments . and .."
    return None


def _whole(reply: httpx.Response, method: str, deadline: float) -> Answer:
    parts, size = [], 0
    for part in reply.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > LARGEST_BODY:
            return Answer(None, problem=f"the body has more than {LARGEST_BODY} bytes")
        if time.monotonic() > deadline:
            return Answer(None, problem=f"the reply took more than {SECONDS:g} s")
    headers = {name: reply.headers[name] for name in _ANSWERED if name in reply.headers}
    if method == "HEAD" and "content-length" in reply.headers:
        headers["content-length"] = reply.headers["content-length"]  # the size of what a GET would bring
    return Answer(reply.status_code, b"".join(parts), headers)
