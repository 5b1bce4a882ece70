"""What a recorded result says of its call."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.evaluation.alignment.replay import CallClass, read_result

K = CallClass


def rpc(code, message=""):
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message}}


def failed(text, **more):
    return {"isError": True, "content": [{"type": "text", "text": text}], **more}


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        # Codes decide before words do.
        (rpc(-32602, "Invalid params: title"), K.INVALID_ARGUMENTS),
        (rpc(-32602, "Unknown tool: wiki/look"), K.UNKNOWN_TOOL),
        (rpc(-32601, "Method not found"), K.UNKNOWN_TOOL),
        (rpc(-32001, "Request timed out"), K.TIMEOUT),
        (rpc(-32000, "Connection closed"), K.TRANSPORT),
        (rpc(-32002, "Resource not found"), K.NOT_FOUND),
        (rpc(-32603, "page not found"), K.SERVER_ERROR),
        ({"error": {"code": 403, "status": "PERMISSION_DENIED", "message": "no"}}, K.AUTH_OR_QUOTA),
        ({"error": {"code": 400, "message": "page does not exist"}}, K.INVALID_ARGUMENTS),
        ({"status": 404, "message": "nothing"}, K.NOT_FOUND),
        ({"statusCode": 503}, K.SERVER_ERROR),
        ({"status": "ZERO_RESULTS", "results": []}, K.NOT_FOUND),
        ({"status": "OVER_QUERY_LIMIT"}, K.AUTH_OR_QUOTA),
        ({"success": False, "code": "ETIMEDOUT"}, K.TIMEOUT),
        ({"error": {"code": 429}}, K.AUTH_OR_QUOTA),
        # What the server of the protocol's SDK says, by its mark and in a text without one.
        (failed("Error executing tool find: 1 validation error for find\nq\n  Field required"), K.INVALID_ARGUMENTS),
        ("Error executing tool find: 1 validation error for find\nq\n  Field required", K.INVALID_ARGUMENTS),
        ("Error executing tool find", K.SERVER_ERROR),
        ("Unknown tool: find", K.UNKNOWN_TOOL),
        ({"content": [{"type": "text", "text": "Unknown tool: find"}]}, K.UNKNOWN_TOOL),
        ("MCP error -32001: Request timed out", K.TIMEOUT),
        # What the published host writes.
        ("[Tool error] Invalid arguments", K.INVALID_ARGUMENTS),
        ("[Tool error] Client error '404 Not Found' for url 'https://x.example/a'", K.NOT_FOUND),
        ("[Tool error] Request failed with status code 500", K.SERVER_ERROR),
        ("[Tool error] Request failed with status code 401: timeout must be a number", K.AUTH_OR_QUOTA),
        ("[Tool error] Tool 'wiki/look' not found", K.UNKNOWN_TOOL),
        ("[Tool error] [Errno 111] Connection refused", K.TRANSPORT),
        ("[Tool error] Read timed out", K.TIMEOUT),
        ("[Tool error] Invalid API key", K.AUTH_OR_QUOTA),
        ("[Tool error] No such file or directory: './media/a.png'", K.NOT_FOUND),
        ("[Tool error] x", K.SERVER_ERROR),
        ("Error: quota exceeded for today", K.AUTH_OR_QUOTA),
        ("Traceback (most recent call last):\n  …\nKeyError: 'a'", K.SERVER_ERROR),
        # What tools declare in JSON of their own.
        ('{"error": "Park not found"}', K.NOT_FOUND),
        ('{"success": false, "message": "api_key is not set"}', K.AUTH_OR_QUOTA),
        ('{"status": "error", "reason": "missing required parameter q"}', K.INVALID_ARGUMENTS),
        ('{"error": true}', K.SERVER_ERROR),
        (None, K.NO_RESULT),
    ],
)
def test_a_failure_has_its_class(result, kind):
    assert read_result(result).kind is kind
    if isinstance(result, dict):
        assert read_result(json.dumps(result)).kind is kind


@pytest.mark.parametrize(
    "result",
    [
        "",
        "HTTP 404 is the status of what was not found. A connection refused is another error.",
        "The article says: Error: not found, unknown tool, timed out, invalid arguments.",
        "Errors and residuals are closely related",
        "{not json, 404 not found}",
        {"title": "404", "text": "unauthorized access, rate limit"},
        {"error": None, "results": []},
        {"error": "", "results": [1]},
        {"error": 0.02, "fit": "ok"},
        {"code": 415, "place": "San Francisco"},
        {"code": "404", "icd": "B02"},
        {"status": "UNAVAILABLE", "product": "teapot"},
        {"status": "ok", "status_code": 200},
        {"isError": False, "content": [{"type": "text", "text": "the page 'Not found'"}]},
        {"jsonrpc": "2.0", "result": {"isError": False, "content": []}},
        [1, 2],
        0,
        False,
    ],
)
def test_a_result_that_speaks_of_failures_is_none(result):
    assert read_result(result).kind is K.SUCCESS


def test_a_failure_within_a_message_of_the_protocol_is_seen():
    assert read_result({"jsonrpc": "2.0", "id": 2, "result": failed("Error: forbidden")}).kind is K.AUTH_OR_QUOTA


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "code", "status", "content", "result", "isError", "jsonrpc", "message", "a"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_result_has_one_class_and_a_short_reason(result):
    read = read_result(result)
    assert read == read_result(result)
    assert isinstance(read.kind, CallClass)
    assert len(read.why) <= 201


def test_a_result_that_nests_without_end_is_no_crash():
    message = {}
    for _ in range(5000):
        message = {"jsonrpc": "2.0", "result": message}
    assert read_result(message).kind is K.SUCCESS
    assert read_result('{"a":' * 100_000).kind is K.SUCCESS
    assert read_result("[Tool error] " + "tool " * 1_000_000).kind is K.SERVER_ERROR
