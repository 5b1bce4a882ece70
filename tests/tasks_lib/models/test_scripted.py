from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tasks_lib.models import Canned, Fault, FaultKind, ScriptedEndpoint

BODY = {"model": "scripted", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture(scope="module")
def endpoint():
    with ScriptedEndpoint() as found:
        yield found


def ask(session, path="/chat/completions", header=None, **options):
    headers = {"Authorization": f"Bearer {session.token}" if header is None else header}
    options = options or {"json": BODY}
    return httpx.post(session.base_url + path, headers=headers, trust_env=False, timeout=10, **options)


def test_replies_come_in_order_with_usage_and_then_the_session_is_spent(endpoint):
    session = endpoint.open(["one", Canned("two", reasoning="why")])
    first, second, third = ask(session), ask(session), ask(session)
    assert first.json()["choices"][0]["message"] == {"role": "assistant", "content": "one"}
    assert first.json()["usage"] == {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}
    assert second.json()["choices"][0]["message"]["reasoning_content"] == "why"
    assert (third.status_code, third.json()["error"]["message"]) == (410, "all 2 replies of this session are served")
    assert list(session.requests) == [BODY] * 3


def test_it_listens_on_loopback_alone(endpoint):
    assert endpoint._server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Basic x", "Bearer ö".encode(), b"Bearer \xff"])
def test_a_session_is_closed_to_others(endpoint, header):
    session = endpoint.open(["secret"])
    answer = ask(session, header=header)
    assert answer.status_code == 401
    assert "secret" not in answer.text
    assert not session.requests


def test_the_token_of_one_session_does_not_open_another(endpoint):
    session, other = endpoint.open(["secret"]), endpoint.open(["other"])
    assert ask(session, header=f"Bearer {other.token}").status_code == 401


@pytest.mark.parametrize("path", ["", "/models", "/chat/completions/more", "/../../x/v1/chat/completions"])
def test_there_is_nothing_else(endpoint, path):
    assert ask(endpoint.open(["x"]), path=path).status_code == 404


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"messages": 3}', b"[" * 100_000, b"\xff"])
def test_what_is_no_request_is_refused_and_takes_no_reply(endpoint, content):
    session = endpoint.open(["still there"])
    assert ask(session, content=content).status_code == 400
    assert ask(session).json()["choices"][0]["message"]["content"] == "still there"


def test_a_body_without_length_or_of_absurd_length_is_refused(endpoint):
    for length, status in (
        ("", b" 411 "),
        ("Content-Length: 99999999999\r\n", b" 413 "),
        ("Content-Length: -1\r\n", b" 411 "),
    ):
        with socket.create_connection(("127.0.0.1", endpoint.port), timeout=10) as raw:
            raw.sendall(f"POST / HTTP/1.1\r\nHost: x\r\n{length}\r\n".encode())
            assert status in raw.recv(1000)


def test_pictures_count_as_tokens(endpoint):
    content = [{"type": "text", "text": "abcd"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    answer = ask(endpoint.open(["x"]), json={"messages": [{"role": "user", "content": content}]})
    assert answer.json()["usage"]["prompt_tokens"] == 1001


def test_sessions_are_served_side_by_side(endpoint):
    sessions = [endpoint.open([f"reply {number}"]) for number in range(40)]
    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(ask, sessions))
    texts = [answer.json()["choices"][0]["message"]["content"] for answer in answers]
    assert texts == [f"reply {number}" for number in range(40)]


def test_a_slow_reply_does_not_hold_up_the_end():
    endpoint = ScriptedEndpoint()
    session = endpoint.open([Fault(FaultKind.SLOW, seconds=600)])
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, session)
        while not session.requests:
            assert not answer.done()
        endpoint.close()
        endpoint.close()
        assert json.loads(answer.result().text)["choices"]


def test_a_session_does_not_show_its_token():
    with ScriptedEndpoint() as endpoint:
        session = endpoint.open([])
        assert session.token not in repr(session)


def events_of(answer):
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    return list(map(json.loads, lines))


def test_a_reply_is_streamed_where_that_is_asked_for(endpoint):
    canned = Canned("It is done, all of it.", reasoning="hm", calls=(("click", '{"x": 1}'),))
    session = endpoint.open([canned, canned])
    chunks = events_of(ask(session, json=BODY | {"stream": True}))
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert "".join(delta.get("content", "") for delta in deltas) == canned.text
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "hm"
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    assert calls[0]["function"]["name"] == "click"
    assert "".join(call["function"]["arguments"] for call in calls) == '{"x": 1}'
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"
    assert not any("usage" in chunk for chunk in chunks)
    told = events_of(ask(session, json=BODY | {"stream": True, "stream_options": {"include_usage": True}}))[-1]
    assert (told["choices"], told["usage"]["completion_tokens"]) == ([], 11)


def test_a_refusal_stands_in_a_field_of_its_own(endpoint):
    message = ask(endpoint.open([Canned("", refusal="No.")])).json()["choices"][0]["message"]
    assert (message["content"], message["refusal"]) == (None, "No.")
