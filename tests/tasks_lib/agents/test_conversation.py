"""What each request of a conversation holds, whoever answers."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.agents import AgentSettings
from tasks_lib.agents._conversation import TOKENS_PER_PICTURE, Conversation, Told, estimate
from tasks_lib.models import (
    Completion,
    ImagePart,
    Message,
    OpaquePart,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolResultPart,
)
from tasks_lib.records import Usage

PICTURE = ImagePart(b"png", "image/png")
KEPT = AgentSettings(conversation="kept")


def told(n, size=0):
    return Told(f"state {n}{'s' * size}", f"feedback {n - 1}" if n > 1 else "", (PICTURE,))


def text_of(message):
    return "\n".join(part.text for part in message.parts if isinstance(part, TextPart))


def pictures_of(messages):
    return [[isinstance(part, ImagePart) for part in message.parts].count(True) for message in messages]


def calls_of(n, count=1):
    names = ["mouse_single_click", "keyboard_press", "wait"]
    return tuple(ToolCall(f"{n}-{k}", names[k % 3], json.dumps({"n": n}), {"n": n}) for k in range(count))


def go(conversation, steps, *, size=0, calls=0, problems=None, usage=None):
    """Ask and answer so many times; return the requests."""
    requests = []
    for n in range(1, steps + 1):
        requests.append(conversation.request("system", "the task", told(n, size)))
        completion = Completion(f"answer {n}", calls=calls_of(n, calls), usage=usage or Usage())
        conversation.answered(completion, (problems or {}).get(n, {}))
    return requests


def test_a_fresh_conversation_is_one_question():
    requests = go(Conversation(AgentSettings()), 4)
    for n, request in enumerate(requests, start=1):
        assert [message.role for message in request] == ["system", "user"]
        assert text_of(request[1]).startswith("the task\n\n")
        assert f"state {n}" in text_of(request[1])
        assert ("feedback" in text_of(request[1])) is (n > 1)
        assert pictures_of(request) == [0, 1]


def test_a_kept_conversation_holds_every_step_and_the_newest_pictures_alone():
    *_, request = go(Conversation(KEPT), 4)
    assert [message.role for message in request] == ["system", *["user", "assistant"] * 3, "user"]
    assert [text_of(message) for message in request[2::2]] == ["answer 1", "answer 2", "answer 3"]
    for n, message in enumerate(request[1::2], start=1):
        assert f"state {n}" in text_of(message)
        assert ("no longer shown" in text_of(message)) is (n < 4)
    assert [text_of(message).count("the task") for message in request] == [0, 1, 0, 0, 0, 0, 0, 0]
    assert pictures_of(request) == [0] * 7 + [1]


@given(st.integers(1000, 9000), st.integers(1, 16), st.integers(0, 4000), st.sampled_from([0, 1, 3]))
def test_trimming_takes_the_oldest_steps_and_never_the_task_or_the_newest_step(limit, steps, size, calls):
    replies = "tools" if calls else "blocks"
    settings = AgentSettings(conversation="kept", context_tokens=limit, replies=replies)
    for n, request in enumerate(go(Conversation(settings), steps, size=size, calls=calls), start=1):
        assert [message.role for message in request] == [
            "system",
            *["user", "assistant"] * ((len(request) - 2) // 2),
            "user",
        ]
        assert text_of(request[1]).startswith("the task\n\n")
        assert f"state {n}s" in text_of(request[-1]) or size == 0
        shown = [k for k in range(1, n) if any(f"answer {k}" == text_of(message) for message in request)]
        left_out = n - 1 - len(shown)
        # What is shown is the end of the conversation, without a gap.
        assert shown == list(range(left_out + 1, n))
        assert ("left out here" in text_of(request[1])) is (left_out > 0)
        assert estimate(request) <= limit or len(request) == 2
        # Every call has its result in the message after it, and no result is without its call.
        for before, after in itertools.pairwise(request):
            called = [part.call.id for part in before.parts if isinstance(part, ToolCallPart)]
            answered = [part.call_id for part in after.parts if isinstance(part, ToolResultPart)]
            assert called == answered


def test_what_an_endpoint_counts_corrects_the_rule_of_thumb():
    settings = AgentSettings(conversation="kept", context_tokens=4000)
    loose = go(Conversation(settings), 8, size=400)[-1]
    tight = go(Conversation(settings), 8, size=400, usage=Usage(input_tokens=3900))[-1]
    assert len(tight) < len(loose) == 16
    missing = go(Conversation(settings), 8, size=400, usage=Usage(output_tokens=3))[-1]
    assert len(missing) == len(loose)


def test_with_tools_a_fresh_conversation_holds_the_last_calls_and_their_results():
    requests = go(Conversation(AgentSettings(replies="tools")), 3, calls=2)
    assert [len(request) for request in requests] == [2, 4, 4]
    _, first, answer, last = requests[-1]
    assert "the task" in text_of(first)
    assert "state 2" in text_of(first)
    assert "feedback 1" in text_of(first)
    assert text_of(answer) == "answer 2"
    results = [part for part in last.parts if isinstance(part, ToolResultPart)]
    assert [(part.call_id, part.name, part.is_error) for part in results] == [
        ("2-0", "mouse_single_click", False),
        ("2-1", "keyboard_press", False),
    ]
    assert results[1].text == "feedback 2"
    assert "last result" in results[0].text
    assert "feedback" not in text_of(last)
    # Results stand before what else is said, as every dialect wants them.
    assert [type(part) for part in last.parts] == [ToolResultPart, ToolResultPart, TextPart, ImagePart]


def test_each_call_is_told_why_nothing_was_done():
    conversation = Conversation(AgentSettings(replies="tools", conversation="kept"))
    *_, request = go(conversation, 2, calls=2, problems={1: {"1-1": "no such key"}})
    results = [part for part in request[-1].parts if isinstance(part, ToolResultPart)]
    assert [(part.text, part.is_error) for part in results] == [
        ("not done, because another call of the reply is wrong", True),
        ("not done: no such key", True),
    ]


def test_a_reply_without_calls_is_answered_in_words():
    *_, request = go(Conversation(AgentSettings(replies="tools")), 2)
    assert "# What came of your last reply\nfeedback 1" in text_of(request[-1])


def test_what_an_endpoint_wants_back_comes_back_unchanged():
    conversation = Conversation(KEPT)
    conversation.request("system", "the task", told(1))
    opaque = OpaquePart("anthropic", {"type": "thinking", "thinking": "hm", "signature": "x"})
    turn = Message("assistant", (opaque, TextPart("answer 1")))
    conversation.answered(Completion("answer 1", turn=turn), {})
    assert conversation.request("system", "the task", told(2))[2] is turn


def test_an_empty_answer_is_not_sent_back_empty():
    conversation = Conversation(KEPT)
    conversation.request("system", "the task", told(1))
    conversation.answered(Completion(""), {})
    assert text_of(conversation.request("system", "the task", told(2))[2]) == "(no answer)"


def test_a_question_that_was_not_answered_is_asked_anew():
    conversation = Conversation(KEPT)
    for _ in range(3):
        request = conversation.request("system", "the task", told(1))
        assert [message.role for message in request] == ["system", "user"]


@pytest.mark.parametrize("pictures", [0, 1, 3])
def test_pictures_count(pictures):
    assert estimate([Message("user", (PICTURE,) * pictures)]) == TOKENS_PER_PICTURE * pictures


@pytest.mark.parametrize("conversation", ["fresh", "kept"])
@pytest.mark.parametrize(
    "completion",
    [
        Completion("x" * 3_000_000),
        Completion("", calls=tuple(ToolCall(str(n), "wait", "{}", {}) for n in range(10_000))),
        Completion("", calls=(ToolCall("a", "run_script", "x" * 3_000_000, None, "no valid JSON object"),)),
    ],
    ids=["text", "calls", "arguments"],
)
def test_a_reply_without_end_is_not_given_back(conversation, completion):
    found = Conversation(AgentSettings(conversation=conversation, replies="tools", context_tokens=2000))
    found.request("system", "the task", told(1))
    found.answered(completion, {call.id: "too many" for call in completion.calls})
    request = found.request("system", "the task", told(2))
    assert estimate(request) < 1500
    assert "the task" in text_of(request[1])
    assert "feedback 1" in text_of(request[-1])
    assert not any(isinstance(part, ToolResultPart) for message in request for part in message.parts)
