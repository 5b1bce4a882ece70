"""The log of requests: every try is a line, pictures are blobs that exist, and no secret is in it."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.models import (
    Exchange,
    Fault,
    FaultKind,
    HttpChat,
    ImagePart,
    Message,
    ModelSettings,
    Redactor,
    RequestLog,
    ScriptedEndpoint,
)
from tasks_lib.models.dialects import DIALECTS
from tasks_lib.models.request_log import LONGEST_REPLY
from tasks_lib.records import ExchangeRecord
from tasks_lib.records.errors import TransientEndpointError
from tasks_lib.store import Store

PATH = "runs/r1/episodes/e/attempt-001/requests.jsonl"
CANARY = "canary-4f1c/9d+77=e2"
PICTURE = b"\x89PNG\r\n" + bytes(range(256))
KEPT = {"openai": "openai", "openai-responses": "openai-responses", "anthropic": "anthropic", "gemini": "gemini"}


@pytest.fixture
def store(tmp_path):
    return Store.open(str(tmp_path / "store"))


def log(store, *secrets):
    return RequestLog(store, PATH, "m", Redactor(secrets))


def lines(store):
    return store.read_lines(PATH, ExchangeRecord)


def exchange(request=None, *, attempt=1, reply="{}", **changes):
    return Exchange(
        dialect="openai", url="http://h/v1/chat/completions", attempt=attempt, request=request or {}, status=200,
        reply=reply, error="", seconds=0.1, started=datetime(2026, 11, 30, tzinfo=UTC), **changes,
    )  # fmt: skip


@pytest.mark.parametrize("provider", sorted(KEPT))
def test_pictures_of_every_dialect_are_references_to_blobs_that_exist(store, provider):
    settings = ModelSettings(base_url="http://h/v1", model="m", provider=provider)
    messages = [Message.of("user", "look", ImagePart(PICTURE, "image/png"), ImagePart(b"\xff\xd8x", "image/jpeg"))]
    log(store).add(exchange(DIALECTS[provider].write(messages, settings, ())))
    (line,) = lines(store)
    assert {(ref.media_type, store.get_blob(ref)) for ref in line.pictures} == {
        ("image/png", PICTURE), ("image/jpeg", b"\xff\xd8x"),
    }  # fmt: skip
    text = json.dumps(line.request)
    assert base64.b64encode(PICTURE).decode() not in text
    assert all(f"blob:{ref.sha256}" in text for ref in line.pictures)
    assert "look" in text


def test_every_try_is_a_line_and_the_number_of_the_call_goes_up_with_each_first_try(store):
    found = log(store)
    with ScriptedEndpoint() as endpoint:
        session = endpoint.open(
            [Fault(FaultKind.STATUS, status=429), Fault(FaultKind.TRUNCATED), "one", Fault(FaultKind.CUT), "two"]
        )
        chat = HttpChat(
            "m", session.settings(stream=False), api_key=session.token, environ={}, sleep=lambda _: None,
            on_exchange=found.add,
        )  # fmt: skip
        for text in ("one", "two"):
            assert chat.complete([Message.of("user", "go")]).text == text
        chat.close()
    told = lines(store)
    assert [(line.call, line.attempt, line.status) for line in told] == [
        (1, 1, 429), (1, 2, 200), (1, 3, 200), (2, 1, None), (2, 2, 200),
    ]  # fmt: skip
    assert [bool(line.error) for line in told] == [True, True, False, True, False]
    assert "one" in told[2].reply
    assert {line.url for line in told} == {f"{session.base_url}/chat/completions"}
    assert told[0].request["messages"] == [{"role": "user", "content": "go"}]


def test_a_canary_key_is_nowhere_in_the_log_whoever_repeats_it(store):
    found = log(store, CANARY)
    with ScriptedEndpoint() as endpoint:
        session = endpoint.open(
            [
                Fault(FaultKind.STATUS, status=500, body=f'{{"error": "bad key {CANARY}"}}'),
                Fault(FaultKind.GARBAGE, body=f"<p>{CANARY}</p>"),
                f"the key is {CANARY}",
            ]
        )
        session.token = CANARY
        chat = HttpChat(
            "m", session.settings(extra_body={"note": CANARY}), api_key=CANARY, environ={}, sleep=lambda _: None,
            on_exchange=found.add,
        )  # fmt: skip
        chat.complete([Message.of("user", f"say {CANARY}", "and as JSON " + json.dumps(CANARY))])
        chat.close()
    assert len(lines(store)) == 3
    for path in store.list():
        data = store.read_bytes(path)
        for form in (
            CANARY,
            json.dumps(CANARY)[1:-1],
            quote(CANARY, safe=""),
        ):
            assert form.encode() not in data, path


def test_a_secret_of_the_machine_is_hidden_too_in_keys_and_values(store):
    log(store, CANARY).add(exchange({CANARY: [f"x {CANARY}"]}, reply=CANARY))
    assert CANARY.encode() not in store.read_bytes(PATH)
    assert lines(store)[0].request == {"[redacted]": ["x [redacted]"]}


def test_a_kept_reply_is_marked_and_has_a_number_of_its_own(store):
    found = log(store)
    found.add(exchange())
    found.add_kept("openai", "http://h/v1", {"model": "m"}, "as before")
    assert [(line.call, line.attempt, line.from_cache) for line in lines(store)] == [(1, 1, False), (2, 0, True)]


def test_a_reply_of_megabytes_is_cut(store):
    log(store).add(exchange(reply="x" * (LONGEST_REPLY + 5)))
    assert lines(store)[0].reply.endswith("x [… 5 characters more]")


@pytest.mark.parametrize("data", ["no base64!", "A", "=", ""])
def test_what_only_looks_like_a_picture_stays_text(store, data):
    body = {"inlineData": {"mimeType": "image/png", "data": data}, "url": f"data:image/png;base64,{data}"}
    log(store).add(exchange(body))
    (line,) = lines(store)
    assert (line.request, line.pictures) == (body, ())


@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_any_request_can_be_logged(tmp_path_factory, value):
    store = Store.open(str(tmp_path_factory.mktemp("s")))
    log(store, "abcdefgh").add(exchange({"body": value}, reply="\ud800"))
    assert len(lines(store)) == 1


def test_a_log_that_cannot_be_written_ends_the_call(store):
    class BrokenError(Exception):
        pass

    def refuse(found):
        raise BrokenError

    with ScriptedEndpoint() as endpoint:
        session = endpoint.open(["one"])
        chat = HttpChat("m", session.settings(), api_key=session.token, environ={}, on_exchange=refuse)
        with pytest.raises(BrokenError):
            chat.complete([Message.of("user", "go")])
        chat.close()


def test_no_place_for_another_try_is_no_line(store):
    found = log(store)
    with ScriptedEndpoint() as endpoint:
        session = endpoint.open([Fault(FaultKind.STATUS, status=500)])
        chat = HttpChat(
            "m", session.settings(attempts=1), api_key=session.token, environ={}, on_exchange=found.add
        )  # fmt: skip
        with pytest.raises(TransientEndpointError):
            chat.complete([Message.of("user", "go")])
        chat.close()
    assert len(lines(store)) == 1
