"""What everybody who asks a live database keeps to: limits, and where proxies come from."""

from __future__ import annotations

from collections.abc import Mapping

import httpx

LARGEST_BODY = 64 * 2**20
MOST_REDIRECTS = 5
_CONNECT_SECONDS = 10.0
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


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
