"""Whether a recorded result tells of a failure, and of which.

Typed signs come first: JSON-RPC codes, HTTP statuses, ``isError``, fields by which tools declare an error. A text alone
counts as a failure where it begins as clients and servers begin one; what a successful result says in its middle, say a
page about HTTP 404, does not count. Phrases are looked for in what is a failure already.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tasks_lib.evaluation.alignment.replay.labels import CallClass
from tasks_lib.models.dialects.reply import content_text, one_line
from tasks_lib.records import Json

# Of a failure's text; an error says what it is at its beginning.
_READ = 2000
_LONGEST_WHY = 200


@dataclass(frozen=True, slots=True)
class ResultRead:
    """What a result says of its call: the class, the rule that decided, and the words of the failure."""

    kind: CallClass
    rule: str
    why: str = ""


_SUCCESS = ResultRead(CallClass.SUCCESS, "no sign of a failure")
_RPC = {
    -32700: CallClass.ILLEGAL_FORMAT,
    -32600: CallClass.ILLEGAL_FORMAT,
    -32601: CallClass.UNKNOWN_TOOL,
    -32602: CallClass.INVALID_ARGUMENTS,
    -32603: CallClass.SERVER_ERROR,
    -32000: CallClass.TRANSPORT,
    -32001: CallClass.TIMEOUT,
    -32002: CallClass.NOT_FOUND,
}
_HTTP = {
    401: CallClass.AUTH_OR_QUOTA,
    402: CallClass.AUTH_OR_QUOTA,
    403: CallClass.AUTH_OR_QUOTA,
    407: CallClass.AUTH_OR_QUOTA,
    429: CallClass.AUTH_OR_QUOTA,
    404: CallClass.NOT_FOUND,
    410: CallClass.NOT_FOUND,
    408: CallClass.TIMEOUT,
    504: CallClass.TIMEOUT,
}
# Names of statuses and of system errors.
_WORDS = {
    "NOT_FOUND": CallClass.NOT_FOUND,
    "ZERO_RESULTS": CallClass.NOT_FOUND,
    "ENOENT": CallClass.NOT_FOUND,
    "INVALID_ARGUMENT": CallClass.INVALID_ARGUMENTS,
    "INVALID_REQUEST": CallClass.INVALID_ARGUMENTS,
    "OUT_OF_RANGE": CallClass.INVALID_ARGUMENTS,
    "PERMISSION_DENIED": CallClass.AUTH_OR_QUOTA,
    "UNAUTHENTICATED": CallClass.AUTH_OR_QUOTA,
    "REQUEST_DENIED": CallClass.AUTH_OR_QUOTA,
    "RESOURCE_EXHAUSTED": CallClass.AUTH_OR_QUOTA,
    "OVER_QUERY_LIMIT": CallClass.AUTH_OR_QUOTA,
    "DEADLINE_EXCEEDED": CallClass.TIMEOUT,
    "ETIMEDOUT": CallClass.TIMEOUT,
    "UNAVAILABLE": CallClass.SERVER_ERROR,
    "INTERNAL": CallClass.SERVER_ERROR,
    "UNKNOWN_ERROR": CallClass.SERVER_ERROR,
    "ECONNREFUSED": CallClass.TRANSPORT,
    "ECONNRESET": CallClass.TRANSPORT,
    "ENOTFOUND": CallClass.TRANSPORT,
    "EPIPE": CallClass.TRANSPORT,
}
_CODE_FIELDS = ("code", "status", "statusCode", "status_code", "http_status", "httpStatus")
_FAILED = frozenset({"error", "failed", "failure"})
# How clients and servers begin the text of a failure.
_MARKER = re.compile(
    r"\s*(?:\[tool error\]|error executing tool|error calling tool|unknown tool\b|mcp error\b|input validation error\b"
    r"|error:|traceback \(most recent call last\))",
    re.IGNORECASE,
)
_CODE = re.compile(r"(?<![\d.])-32[67]\d\d\b|(?<![\d.])-3200[0-2]\b", re.ASCII)
_STATUS = re.compile(r"\b(?:http(?:/[\d.]+)?|status(?: code)?|error|code)[ :=/'\"(]{1,4}([45]\d\d)\b", re.IGNORECASE)
# Statuses that are a failure even where nothing else says so; the others may be a field of a result.
_SIGNS = frozenset({
    "ZERO_RESULTS", "NOT_FOUND", "REQUEST_DENIED", "OVER_QUERY_LIMIT", "INVALID_REQUEST", "INVALID_ARGUMENT",
    "PERMISSION_DENIED", "UNAUTHENTICATED", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED",
})  # fmt: skip
_NO_TOOL = re.compile(
    r"\btool ['\"]?[\w/.-]{1,200}['\"]? (?:was )?not found|\bunknown tool\b|\bno such tool\b", re.IGNORECASE
)
# The first that is found in a failure decides.
_Phrases = tuple[tuple[CallClass, tuple[str, ...]], ...]
_STRONG: _Phrases = ((CallClass.INVALID_ARGUMENTS, ("validation error", "invalid argument", "invalid param")),)
_PHRASES: _Phrases = (
    (CallClass.TIMEOUT, ("timed out", "time-out", "timeout", "deadline exceeded", "etimedout")),
    (
        CallClass.TRANSPORT,
        (
            "connection refused", "connection reset", "connection closed", "connection aborted", "connection error",
            "cannot connect", "could not connect", "failed to connect", "broken pipe", "network is unreachable",
            "name or service not known", "getaddrinfo", "econnre", "enotfound", "server disconnected",
            "no route to host", "fetch failed",
        ),
    ),
    (
        CallClass.AUTH_OR_QUOTA,
        (
            "unauthorized", "unauthorised", "forbidden", "permission denied", "access denied", "api key", "api_key",
            "credential", "authentication", "quota", "rate limit", "rate-limit", "too many requests",
            "payment required",
        ),
    ),
    (
        CallClass.INVALID_ARGUMENTS,
        (
            "missing required", "required property", "required parameter", "required argument", "field required",
            "is not of type", "unexpected keyword", "is not one of", "invalid input", "invalid value", "bad request",
            "must be ",
        ),
    ),
    (
        CallClass.NOT_FOUND,
        (
            "not found", "no such file", "does not exist", "doesn't exist", "no results", "could not find",
            "couldn't find", "cannot find", "unable to find", "zero results",
        ),
    ),
)  # fmt: skip


def read_result(result: Json) -> ResultRead:
    """Read a recorded result.

    Parameters
    ----------
    result
        As it was recorded: a text, JSON in a text, an MCP result (``content``, ``isError``), a JSON-RPC message, or
        whatever a tool gave. None: no result was recorded.

    Returns
    -------
    ResultRead
        A failure that nothing tells the kind of is a server error.
    """
    if result is None:
        return ResultRead(CallClass.NO_RESULT, "no result")
    if isinstance(result, str):
        return _read_text(result)
    return _read_object(result) if isinstance(result, Mapping) else _SUCCESS


def _read_text(text: str) -> ResultRead:
    if text.lstrip().startswith("{"):
        try:
            return _read_object(json.loads(text))
        except (ValueError, RecursionError):
            return _SUCCESS  # no JSON: a text that begins like it
    return _of_message(text) if _MARKER.match(text) else _SUCCESS


def _read_object(found: Mapping[str, Any]) -> ResultRead:
    error = found.get("error")
    if isinstance(inner := found.get("result"), Mapping) and "jsonrpc" in found and not error:
        found, error = inner, inner.get("error")
    layers = [found, error] if isinstance(error, Mapping) else [found]
    if not (_declares(found) or _is_failed_status(found)):
        # Hosts that do not look at isError keep the text of a failure as they keep a result.
        text = content_text(found.get("content"))
        return _of_message(text) if _MARKER.match(text) else _SUCCESS
    said = " ".join(_said(layers))
    if coded := [one for layer in reversed(layers) for one in _codes(layer)]:
        kind, rule = coded[0]
        if _NO_TOOL.search(said[:_READ]):
            # Servers refuse an unknown tool with the code of invalid arguments.
            kind, rule = CallClass.UNKNOWN_TOOL, "phrase of an error"
        return ResultRead(kind, rule, one_line(said, _LONGEST_WHY))
    return _of_message(said)


def _declares(found: Mapping[str, Any]) -> bool:
    """Say whether an object calls itself a failure."""
    error, status = found.get("error"), found.get("status")
    return (
        error is True
        or (isinstance(error, str | Mapping) and bool(error))
        or any(found.get(name) is True for name in ("isError", "is_error"))
        or any(found.get(name) is False for name in ("success", "ok"))
        or (isinstance(status, str) and status.lower() in _FAILED)
    )


def _is_failed_status(found: Mapping[str, Any]) -> bool:
    """Say whether an object has the status of a failure; a field `code` may be anything of a result's own."""
    statuses = [found.get(name) for name in _CODE_FIELDS if name != "code"]
    named = found.get("status")
    return (isinstance(named, str) and named in _SIGNS) or any(
        type(one) is int and 400 <= one <= 599 for one in statuses
    )


def _codes(layer: Mapping[str, Any]) -> Iterator[tuple[CallClass, str]]:
    """Give what the codes of a failure stand for; unknown ones are passed over."""
    for name in _CODE_FIELDS:
        value = layer.get(name)
        if isinstance(value, str) and value in _WORDS:
            yield _WORDS[value], f"status {value}"
            continue
        text = str(value)
        if not isinstance(value, bool) and isinstance(value, int | str) and re.fullmatch(r"-?\d{3,5}", text, re.ASCII):
            if kind := _RPC.get(int(text)):
                yield kind, f"JSON-RPC {text}"
            elif 400 <= int(text) <= 599:
                yield _of_status(int(text)), f"HTTP {text}"


def _of_status(status: int) -> CallClass:
    other = CallClass.INVALID_ARGUMENTS if status < 500 else CallClass.SERVER_ERROR
    return _HTTP.get(status, other)


def _said(layers: list[Mapping[str, Any]]) -> Iterator[str]:
    for layer in reversed(layers):
        for name in ("message", "detail", "error", "reason", "description"):
            if isinstance(text := layer.get(name), str) and text:
                yield text[:_READ]
        if text := content_text(layer.get("content")):
            yield text[:_READ]


def _of_message(text: str) -> ResultRead:
    """Tell the kind of a failure by its words."""
    text = text[:_READ]
    why = one_line(text, _LONGEST_WHY)
    if _NO_TOOL.search(text):
        return ResultRead(CallClass.UNKNOWN_TOOL, "phrase of an error", why)
    for kind, phrases in _STRONG:
        if _has(text, phrases):
            return ResultRead(kind, "phrase of an error", why)
    if (code := _CODE.search(text)) and int(code.group()) in _RPC:
        return ResultRead(_RPC[int(code.group())], f"JSON-RPC {code.group()}", why)
    if status := _STATUS.search(text):
        return ResultRead(_of_status(int(status.group(1))), f"HTTP {status.group(1)}", why)
    for kind, phrases in _PHRASES:
        if _has(text, phrases):
            return ResultRead(kind, "phrase of an error", why)
    return ResultRead(CallClass.SERVER_ERROR, "a failure of no told kind", why)


def _has(text: str, phrases: tuple[str, ...]) -> bool:
    lowered = text.lower()
    return any(phrase in lowered for phrase in phrases)
