"""Whatever a client asks stays below the upstream's address; whatever an upstream sends loses nothing but its links."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import httpx
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.databases.servers._links import turned
from tasks_lib.databases.servers._upstream import refused_path

BASE, HERE = "https://up.example/api", "http://127.0.0.1:5/api"
PIECES = st.sampled_from(["/", "..", ".", "%2e", "%2E%2e", "%252e", "%2f", "%5c", "\\", "@", ":", "//", "#", "?", "a",
                          "materials", "%00", "é", " ", "http:", "[", "]", ";", "=", "%", "%3D"])  # fmt: skip
PATHS = st.lists(PIECES | st.text(max_size=4), max_size=8).map(lambda parts: "/" + "".join(parts))
LINKS = st.sampled_from([BASE, f"{BASE}/x?page=2", f"{BASE}x", "http://up.example/api/y", "https://other.example/api"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | LINKS
NAMES = st.sampled_from(["links", "meta", "next", "href", "data", "attributes", "base_url", "id"]) | st.text(max_size=3)
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4))
PREFIXES = ("http://up.example/api", "https://up.example/api")


@settings(max_examples=400, deadline=None)
@given(path=PATHS)
def test_a_path_that_is_let_through_stays_below_the_base(path: str) -> None:
    if refused_path(path) is not None or "?" in path or "#" in path:
        return  # the query is taken off before, and no client sends a fragment
    url = httpx.URL(BASE + path)
    assert (url.scheme, url.host, url.port) == ("https", "up.example", None)
    assert url.raw_path.startswith(b"/api/")
    plain = unquote(unquote(url.raw_path.decode("ascii")))
    assert not {".", ".."} & set(plain.split("/"))
    assert "\\" not in plain


def _links_of(document: Any) -> list[str]:
    found, heap = [], [document]
    while heap:
        one = heap.pop()
        if isinstance(one, str):
            found.append(one)
        heap.extend(one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
    return found


def _back(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("http://up.example", "https://up.example").replace(HERE, BASE)
    if isinstance(value, list):
        return [_back(one) for one in value]
    return {key: _back(one) for key, one in value.items()} if isinstance(value, dict) else value


@settings(max_examples=200, deadline=None)
@given(document=TREES, links=TREES, escaped=st.booleans())
def test_only_links_are_turned(document: Any, links: Any, escaped: bool) -> None:
    whole = {"data": document, "links": links}
    text = json.dumps(whole)
    body = (text.replace("/", "\\/") if escaped else text).encode()
    after = json.loads(turned(body, PREFIXES, HERE))
    assert _back(after) == _back(whole)
    own = [one for one in _links_of(after["links"]) if one.startswith(tuple(f"{prefix}/" for prefix in PREFIXES))]
    assert own == []
    if turned(body, PREFIXES, HERE) != body:
        assert HERE in json.dumps(after)


@settings(max_examples=100, deadline=None)
@given(body=st.binary(max_size=100))
def test_what_is_no_json_leaves_as_it_came(body: bytes) -> None:
    assert turned(body + b'"https://up.example/api"', PREFIXES, HERE) == body + b'"https://up.example/api"'
