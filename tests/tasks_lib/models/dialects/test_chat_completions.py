from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.models import Message, ModelSettings
from tasks_lib.models.dialects import chat_completions
from tasks_lib.models.dialects.reply import BrokenReplyError, error_text, parse_object, split_thought


def read_reply(raw):
    return chat_completions.read_reply(parse_object(raw))


def body(message=None, **more):
    return json.dumps(
        {"choices": [{"message": message or {"content": "hi"}, "finish_reason": "stop"}], **more}
    ).encode()


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_the_limit_of_a_reply_goes_by_the_name_that_the_server_takes(field):
    settings = ModelSettings(base_url="http://127.0.0.1:1/v1", model="m", max_tokens=7, max_tokens_field=field)
    written = chat_completions.write_body([Message.of("user", "Well?")], settings)
    assert {name: value for name, value in written.items() if name.startswith("max_")} == {field: 7}


def test_content_in_parts_is_joined():
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, "b", 3]
    assert read_reply(body({"content": parts})).text == "ab"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_kept_apart(field):
    reply = read_reply(body({"content": "answer", field: "thought"}))
    assert (reply.text, reply.reasoning) == ("answer", "thought")


def test_a_refusal_is_the_answer():
    assert read_reply(body({"content": None, "refusal": "I cannot."})).text == "I cannot."


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        ("<think>\nhm\n</think>\n\nyes", "hm", "yes"),
        ("hm\n</think>\nyes", "hm", "yes"),
        ("<think>never closed ```python\nx\n```", "never closed ```python\nx\n```", ""),
        ("plain", "", "plain"),
        ("see <think>this</think> there", "", "see <think>this</think> there"),
    ],
)
def test_a_thought_in_the_text_is_split_off(text, thought, answer):
    assert split_thought(text) == (thought, answer)


@pytest.mark.parametrize(
    ("usage", "wanted"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 2}}, (5, 7, 2)),
        ({"prompt_tokens": 5.0, "completion_tokens": 0}, (5, 0, None)),
        ({"prompt_tokens": "5", "completion_tokens": -1}, (None, None, None)),
        ({"prompt_tokens": True, "completion_tokens": 1.5, "prompt_tokens_details": None}, (None, None, None)),
        (None, (None, None, None)),
        ([], (None, None, None)),
    ],
)
def test_usage_that_is_not_told_is_missing(usage, wanted):
    found = read_reply(body(usage=usage)).usage
    assert (found.input_tokens, found.output_tokens, found.cached_tokens) == wanted


def test_infinite_usage_is_missing():
    found = read_reply(b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": Infinity}}')
    assert found.usage.input_tokens is None


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "an empty body"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[" * 200_000, "not valid JSON"),
        (b"[]", "a JSON list"),
        (b"{}", "no choice"),
        (b'{"choices": []}', "no choice"),
        (b'{"choices": {}}', "no choice"),
        (b'{"choices": [null]}', "no choice"),
        (b'{"choices": [{"message": "x"}]}', "no choice"),
    ],
)
def test_what_is_no_reply_is_broken(raw, why):
    with pytest.raises(BrokenReplyError, match=why):
        read_reply(raw)


def test_lone_surrogates_do_not_survive():
    reply = read_reply(b'{"choices": [{"message": {"content": "a\\ud800b"}}]}')
    assert reply.text == "a\ufffdb"


@pytest.mark.parametrize(
    ("raw", "text", "code"),
    [
        (b'{"error": {"message": "no\\ncredit", "code": "insufficient_quota"}}', "no credit", "insufficient_quota"),
        (b'{"error": "flat"}', "flat", ""),
        (b'{"detail": "not found"}', "not found", ""),
        (b"<html>\x1b[31mbad</html>", "<html> [31mbad</html>", ""),
        (b"\xff", "\ufffd", ""),
        (b"x" * 500, "x" * 300 + "…", ""),
    ],
)
def test_an_error_body_is_one_short_line_without_control_characters(raw, text, code):
    assert error_text(raw) == (text, code)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "usage", "prompt_tokens", "x"]), inner, max_size=4
        )
    ),
)


@given(JSON)
def test_any_json_is_read_or_broken(value):
    try:
        reply = read_reply(json.dumps(value).encode())
    except BrokenReplyError:
        return
    reply.text.encode("utf-8")


@given(st.binary())
def test_any_bytes_are_read_or_broken(raw):
    with pytest.raises(BrokenReplyError):
        read_reply(raw)
    error_text(raw)
