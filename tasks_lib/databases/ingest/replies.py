"""Replies as they came, and the first step of reading them: bytes to a JSON object, whatever the bytes are."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tasks_lib.databases.ingest._shown import without_key
from tasks_lib.databases.ingest.findings import Fault, Finding, finding


@dataclass(frozen=True)
class Reply:
    """One reply of a database.

    Attributes
    ----------
    url : str
        What was asked.
    status : int
        HTTP status; 0 where no reply came.
    body : bytes
        As it came, after content encoding.
    problem : str
        Why no whole reply came; empty where one did.
    """

    url: str
    status: int
    body: bytes
    problem: str = ""


Fetch = Callable[[str], Reply]


def read_object(reply: Reply) -> tuple[dict[str, Any] | None, tuple[Finding, ...]]:
    """Return the reply's JSON object, or None and the finding that says why there is none.

    NaN and infinities, which are no JSON, are read as the numbers that they name: who reads a field decides.
    """
    url = without_key(reply.url)
    if reply.problem or reply.status != 200:
        told = reply.problem or f"status {reply.status}"
        why = "a whole reply with status 200 is needed; ask again later"
        return None, (finding(Fault.UNREACHABLE, "", told, why, url),)
    try:
        document = json.loads(reply.body)
    except (ValueError, RecursionError) as error:
        start = reply.body[:60].decode("utf-8", "replace")
        what = f"a reply is JSON, this one is not ({type(error).__name__}); it has {len(reply.body)} bytes"
        return None, (finding(Fault.NOT_JSON, "", start, what, url),)
    if not isinstance(document, dict):
        what = f"a reply is a JSON object, got {type(document).__name__}"
        return None, (finding(Fault.NOT_A_REPLY, "", document, what, url),)
    return document, ()
