"""Bodies of the three other dialects, whatever they hold: an answer, or a broken reply, and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.models import ImagePart, Message, ModelSettings
from tasks_lib.models.dialects import DIALECTS, BrokenReplyError, retry_delay
from tasks_lib.models.dialects.dialect import turns
from tasks_lib.models.dialects.reply import parse_object

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([
        "content", "text", "type", "output", "summary", "candidates", "parts", "usage", "usageMetadata", "thought",
        "input_tokens", "promptFeedback", "blockReason", "choices", "message", "status", "error", "incomplete_details",
    ]), inner, max_size=4), max_leaves=12,
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(DIALECTS))
@given(body=st.one_of(VALUES.map(lambda value: json.dumps(value).encode()), st.binary(max_size=40)))
def test_any_body_is_an_answer_or_a_broken_reply(name: str, body: bytes) -> None:
    try:
        reply = DIALECTS[name].read(parse_object(body))
    except BrokenReplyError:
        return
    assert isinstance(reply.text, str)
    assert isinstance(reply.reasoning, str)
    (reply.text + reply.reasoning).encode("utf-8")


@pytest.mark.parametrize(
    ("name", "body", "text", "reason"),
    [
        ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}, "", "blocked: SAFETY"),
        ("gemini", {"candidates": [{"finishReason": "SAFETY"}]}, "", "SAFETY"),
        ("anthropic", {"content": [], "stop_reason": "refusal"}, "", "refusal"),
        ("anthropic", {"content": [{"type": "tool_use", "name": "x"}, {"type": "text", "text": "a"}]}, "a", None),
        (
            "openai-responses",
            {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]}]},
            "I cannot.",
            None,
        ),
    ],
)
def test_a_refusal_is_the_models_answer(name: str, body: dict, text: str, reason: str | None) -> None:
    reply = DIALECTS[name].read(body)
    assert (reply.text, reply.finish_reason) == (text, reason)


def test_a_response_that_failed_is_the_endpoints_fault() -> None:
    body = {"status": "failed", "error": {"code": "server_error", "message": "We crashed."}, "output": []}
    with pytest.raises(BrokenReplyError, match="has failed: We crashed"):
        DIALECTS["openai-responses"].read(body)


def test_neighbours_of_one_role_are_one_turn() -> None:
    talk = [Message.of("user", "a"), Message.of("system", "s"), Message.of("user", "b"), Message.of("assistant", "c")]
    assert [(role, [part.text for part in parts]) for role, parts in turns(talk)] == [
        ("user", ["a", "b"]), ("assistant", ["c"]),
    ]  # fmt: skip


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_a_model_name_cannot_leave_its_place_in_the_address(name: str) -> None:
    from tasks_lib.models import HttpChat

    settings = ModelSettings(provider=name, base_url="http://h/v1", model="../x?y#z")
    assert "../" not in HttpChat("m", settings, environ={})._wire.url


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_a_request_is_json_and_has_no_missing_values(name: str) -> None:
    settings = ModelSettings(provider=name, base_url="http://h/v1", model="m", max_tokens=None)
    talk = [Message.of("system", ""), Message.of("user", "", ImagePart(b"x", "image/png"), "look")]
    said = DIALECTS[name].write(talk, settings)
    assert "null" not in json.dumps(said)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b'{"error": {"details": [{"retryDelay": "34s"}]}}', 34.0),
        (b'{"error": {"details": [{"retryDelay": "x"}]}}', None),
        (b'{"error": {"details": {"retryDelay": "3s"}}}', None), (b'{"error": "busy"}', None), (b"busy", None),
        (b'{"error": {"details": [{"retryDelay": "99999999s"}]}}', None),
    ],
)  # fmt: skip
def test_a_delay_is_read_from_where_google_puts_it(body: bytes, wanted: float | None) -> None:
    assert retry_delay(body) == wanted
