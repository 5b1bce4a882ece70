"""What everybody who asks a live database keeps to: which host, how much, how long, and where proxies come from."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Mapping
from urllib.parse import SplitResult, urlsplit

import httpx

LARGEST_BODY = 64 * 2**20
MOST_REDIRECTS = 5
_CONNECT_SECONDS = 10.0
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_PART = 2**20
_CODINGS = frozenset({"gzip", "x-gzip", "deflate"})
UNDERSTOOD = "gzip, deflate"
"""What `read_body` unpacks, for ``Accept-Encoding``."""


class BodyError(ValueError):
    """A body is too large, too slow, packed in a way that is not read, or broken; the message says which."""


def client_for(host: str | None, seconds: float, headers: Mapping[str, str] | None = None) -> httpx.Client:
    """Return a client for one host that follows no redirects by itself.

    Parameters
    ----------
    host : str or None
    seconds : float
        Limit between two parts of a reply, s.
    headers : mapping or None
        Sent with every request.
    """
    # A lab's proxy and certificates come from the environment; a database on loopback needs none of them.
    there = host not in _LOOPBACK
    return httpx.Client(headers=headers, timeout=httpx.Timeout(seconds, connect=_CONNECT_SECONDS), trust_env=there)


def service_at(base: str) -> SplitResult | None:
    """Return the parts of a service's address; None where it is no http or https address of a host."""
    try:
        parts = urlsplit(base)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return None
    return parts if sound else None


def is_same_service(base: SplitResult, url: str) -> bool:
    """Tell whether an address is of the service at `base`: same host and port, and the key is not sent in the clear.

    From http to https the port may change with the scheme; from https to http nothing leads.

    Raises
    ------
    ValueError
        If `url` is no address.
    """
    there = urlsplit(url)
    if there.hostname != base.hostname:
        return False
    upgrade = (base.scheme, there.scheme, there.port) == ("http", "https", None)
    return (there.scheme, there.port) == (base.scheme, base.port) or upgrade


def read_body(reply: httpx.Response, *, deadline: float, seconds: float, bare: bool = False) -> bytes:
    """Read and unpack the body of a streamed reply, bounded in time and in bytes as they are after unpacking.

    Parameters
    ----------
    reply : httpx.Response
        Its body not read yet.
    deadline : float
        In seconds of `time.monotonic`.
    seconds : float
        What the deadline allowed in all, for the message.
    bare : bool
        Whether it has no body whatever its headers say, as the reply to HEAD.

    Raises
    ------
    BodyError
        If a limit is exceeded or the body cannot be unpacked.
    """
    codings = [one.strip().lower() for one in reply.headers.get("content-encoding", "identity").split(",")]
    packed = [one for one in codings if one not in {"", "identity"}]
    if len(packed) > 1 or not _CODINGS.issuperset(packed):
        msg = f"the body is packed as {', '.join(packed)[:80]!r}, which was not asked for"
        raise BodyError(msg)
    parts, size = [], 0
    for part in _unpacked(reply.iter_raw(), packed[0]) if packed and not bare else reply.iter_raw():
        parts.append(part)
        size += len(part)
        if size > LARGEST_BODY:
            msg = f"the body has more than {LARGEST_BODY} bytes"
            raise BodyError(msg)
        if time.monotonic() > deadline:
            msg = f"the reply took more than {seconds:g} s"
            raise BodyError(msg)
    return b"".join(parts)


def _unpacked(raw: Iterator[bytes], coding: str) -> Iterator[bytes]:
    """Unpack a body in parts of bounded size, so that a small one that unpacks to a huge one stops at the limit."""
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16 if coding.endswith("gzip") else zlib.MAX_WBITS)
    came = False
    try:
        for piece in raw:
            left, came = piece, True
            while left and not unpacker.eof:
                yield unpacker.decompress(left, _PART)
                left = unpacker.unconsumed_tail
    except zlib.error as error:
        msg = f"the body is not packed as {coding!r}: {error}"
        raise BodyError(msg) from error
    while rest := unpacker.decompress(unpacker.unconsumed_tail, _PART):
        yield rest
    if came and not unpacker.eof:
        msg = f"the packed body ({coding}) breaks off"
        raise BodyError(msg)
