"""A database's absolute links turned to the relay, so that clients that follow them stay on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

LARGEST_TURNED = 16 * 2**20
"""A page of a database is far smaller; what is larger is passed on and not read: read, it takes ten times its size."""


def turned(body: bytes, prefixes: Sequence[str], local: str) -> bytes:
    """Return a JSON body whose links lead to the relay: those under ``links`` and ``meta``, and each ``base_url``.

    Data are left alone, and a body without such links, or above 16 MiB, leaves byte for byte as it came.

    Parameters
    ----------
    body : bytes
        As it came.
    prefixes : sequence of str
        How the database's own links begin.
    local : str
        What they begin with here.
    """
    if len(body) > LARGEST_TURNED:
        return body
    plain = body.replace(b"\\/", b"/")
    if not any(prefix.encode("utf-8") in plain for prefix in prefixes):
        return body
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return body
    if not isinstance(document, dict):
        return body
    changed = False
    for place, key in _places(document):
        value = place[key]
        there = _here(value, prefixes, local) if isinstance(value, str) else None
        if there is not None:
            place[key] = there
            changed = True
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass") if changed else body


def _places(document: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yield each container and key under which a link may stand; without recursion, for hostile depths."""
    data = document.get("data")
    items = [one for one in (data if isinstance(data, list) else [data]) if isinstance(one, dict)]
    heap: list[Any] = []
    for one in (document, *items):
        for name in ("links", "meta"):
            if name in one:
                yield one, name
                heap.append(one[name])
    for item in items:
        attributes = item.get("attributes")
        if isinstance(attributes, dict) and "base_url" in attributes:
            yield attributes, "base_url"
            heap.append(attributes["base_url"])
    while heap:
        one = heap.pop()
        keys: Iterator[Any] = iter(())
        if isinstance(one, dict):
            keys = iter(list(one))
        elif isinstance(one, list):
            keys = iter(range(len(one)))
        for key in keys:
            yield one, key
            heap.append(one[key])


def _here(text: str, prefixes: Sequence[str], local: str) -> str | None:
    for prefix in prefixes:
        if text.startswith(prefix) and text[len(prefix) : len(prefix) + 1] in {"", "/", "?", "#"}:
            return local + text[len(prefix) :]
    return None
