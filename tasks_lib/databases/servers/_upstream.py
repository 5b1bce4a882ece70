"""The other side of a relay: what may be asked of an upstream, and how its reply is got, bounded in time and bytes."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

import httpx

from tasks_lib.databases._outbound import MOST_REDIRECTS, BodyError, client_for, is_same_service, read_body, service_at
from tasks_lib.records.errors import ConfigurationError

SECONDS = 120.0
# Passed on to the upstream; everything else that a client sends (keys, cookies, signatures) stays here.
_ASKED = ("accept", "content-type", "range", "user-agent")
# Passed on to the client; lengths and encodings are this side's own.
_ANSWERED = (
    "content-type", "etag", "last-modified", "content-range", "accept-ranges", "retry-after", "x-ratelimit-remaining",
    "x-matassay-snapshot", "x-matassay-snapshot-name",
)  # fmt: skip
_REMOVED = "removed"
_SHORTEST_SECRET = 8  # what is shorter stands by chance in any text
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]|%(?:2f|5c|00|0a|0d)", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """What an upstream replied, or why it did not.

    Attributes
    ----------
    status : int or None
        None where no whole reply came.
    body : bytes
        As it came, the key taken out where the upstream repeats it.
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
        Sent as ``X-API-KEY``; it stands in no answer.

    Raises
    ------
    ConfigurationError
        If the address is none, or the key cannot be sent.
    """

    def __init__(self, base: str, *, api_key: str | None = None) -> None:
        self.base = check_base(base)
        self._parts = urlsplit(self.base)
        self._secret = check_sendable(api_key) if api_key else ""
        self._key = {"X-API-KEY": self._secret} if self._secret else {}
        self._client = client_for(self._parts.hostname, SECONDS / 2)

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
        return self._without_key(self._asked(method, path, query, headers, body))

    def _asked(self, method: str, path: str, query: str, headers: dict[str, str], body: bytes) -> Answer:
        sent = {name: headers[name] for name in _ASKED if name in headers}
        # Unpacked, so that what is recorded is what came, and what came is what the client reads.
        sent |= {"accept-encoding": "identity", **self._key}
        url = f"{self.base}{path}" + (f"?{query}" if query else "")
        deadline = time.monotonic() + SECONDS
        for _ in range(MOST_REDIRECTS):
            try:
                with self._client.stream(method, url, headers=sent, content=body or None) as reply:
                    if not (reply.is_redirect and reply.next_request is not None):
                        return _whole(reply, method, deadline)
                    following = str(reply.next_request.url)
            except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, ValueError) as error:
                return Answer(None, problem=f"{type(error).__name__}: {error}"[:300])
            if method == "POST" or not is_same_service(self._parts, following):
                return Answer(None, problem=f"the upstream leads to {following[:200]}, which is not asked")
            url = following
        return Answer(None, problem=f"more than {MOST_REDIRECTS} redirects")

    def _without_key(self, answer: Answer) -> Answer:
        """Take the key out of what an upstream repeats of it: errors name headers, and debug pages show them all."""
        if len(self._secret) < _SHORTEST_SECRET:
            return answer
        return Answer(
            answer.status,
            answer.body.replace(self._secret.encode("ascii"), _REMOVED.encode("ascii")),
            {name: value.replace(self._secret, _REMOVED) for name, value in answer.headers.items()},
            answer.problem.replace(self._secret, _REMOVED),
        )

    def prefixes(self) -> tuple[str, ...]:
        """Return how the upstream's own absolute links begin."""
        place = f"{self._parts.netloc}{self._parts.path}"
        return tuple(f"{scheme}://{place}" for scheme in ("http", "https"))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def check_base(base: str) -> str:
    """Return a base address without a slash at its end.

    Raises
    ------
    ConfigurationError
        If it is no http or https address, or carries credentials, a query or a fragment.
    """
    parts = service_at(base)
    if parts is None or parts.username or parts.password or parts.query or parts.fragment or _UNSAFE.search(base):
        shown = base if "@" not in base else base.rpartition("@")[2]
        msg = (
            f"an upstream is http:// or https://, a host and perhaps a path, without credentials, got {shown!r}: "
            "write it so; keys go into the environment"
        )
        raise ConfigurationError(msg)
    return base.rstrip("/")


def check_sendable(key: str) -> str:
    """Return a key that a header can carry.

    Raises
    ------
    ConfigurationError
        If it cannot, as with a line end from a file; the message does not hold the key.
    """
    if not (key.isascii() and key.isprintable()) or " " in key:
        msg = (
            f"the key has {len(key)} characters, and one of them is a blank, a line end or no ASCII, which no header "
            "carries: set the bare key"
        )
        raise ConfigurationError(msg)
    return key


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
    if not 200 <= reply.status_code <= 599:
        return Answer(None, problem=f"status {reply.status_code} is none of a reply")
    try:
        body = read_body(reply, deadline=deadline, seconds=SECONDS, bare=method == "HEAD")
    except BodyError as error:
        return Answer(None, problem=str(error))
    # What a client cannot be sent again is left out: a database may say anything.
    said = {name: reply.headers[name] for name in _ANSWERED if name in reply.headers}
    headers = {name: value for name, value in said.items() if value.isascii() and value.isprintable()}
    if method == "HEAD" and "content-length" in reply.headers:
        headers["content-length"] = reply.headers["content-length"]  # the size of what a GET would bring
    return Answer(reply.status_code, body, headers)
