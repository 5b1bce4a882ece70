"""What judges are shown: bounded, without secrets, not to be broken out of."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.evaluation.judges import SHORTEST_DIGEST, make_digest
from tasks_lib.models import Redactor

CALL = {"name": "wiki/summary", "arguments": {"title": "Newark"}, "result": "A city of New Jersey."}


def test_a_short_trajectory_is_shown_whole(trajectory):
    digest = make_digest(trajectory(CALL, final_reply="Newark."), question="Where?", reference=trajectory(CALL))
    assert json.loads(digest.text) == {
        "task": "Where?",
        "reference_calls": [{"step": 1, "tool": "wiki/summary", "arguments": {"title": "Newark"}}],
        "calls": [
            {"step": 1, "tool": "wiki/summary", "arguments": {"title": "Newark"}, "result": "A city of New Jersey."}
        ],
        "final_reply": "Newark.",
    }
    assert not digest.cut
    assert digest.sha256.startswith(digest.ticket)


def test_every_way_of_a_reference_is_shown_and_none_that_a_prediction_brings(trajectory):
    other = {"name": "maps/where", "arguments": {"place": "Newark"}, "result": "secret of the reference"}
    reference = replace(trajectory(CALL), alternatives=(trajectory(other), trajectory(other, CALL)))
    prediction = replace(trajectory(other), alternatives=(trajectory({**CALL, "name": "forged/way"}),))
    shown = json.loads(make_digest(prediction, question="Where?", reference=reference).text)
    tools = [[call["tool"] for call in way] for way in shown["alternative_references"]]
    assert tools == [["maps/where"], ["maps/where", "wiki/summary"]]
    assert all("result" not in call for way in shown["alternative_references"] for call in way)
    assert "forged/way" not in json.dumps(shown)


def test_long_alternatives_are_bounded_as_well_and_hide_no_call_of_the_agent(trajectory):
    long = [{**CALL, "arguments": {"title": f"{n} " + "a" * 900}} for n in range(40)]
    reference = replace(trajectory(CALL), alternatives=(trajectory(*long),) * 10)
    digest = make_digest(trajectory(CALL), question="Where?", reference=reference, longest=20_000)
    shown = json.loads(digest.text)
    assert (len(digest.text) <= 20_000, digest.cut, len(shown["alternative_references"])) == (True, True, 10)
    assert shown["calls"][0]["arguments"] == CALL["arguments"]


@pytest.mark.parametrize(("calls", "length"), [(1, 900_000), (300, 5000), (5000, 3), (40, 1500)])
def test_a_long_trajectory_is_cut_and_says_so(trajectory, calls, length):
    many = [{**CALL, "arguments": {"title": f"{n} " + "a" * length}, "result": "b" * length} for n in range(calls)]
    digest = make_digest(trajectory(*many, final_reply="c" * 10**5), question="d" * 10**5, longest=20_000)
    assert len(digest.text) <= 20_000
    assert digest.cut
    shown = json.loads(digest.text)
    assert "characters left out…]" in shown["final_reply"]
    assert shown["calls"][0]["step"] == 1
    assert shown["calls"][-1]["step"] == calls
    left_out = [one["left_out"] for one in shown["calls"] if "left_out" in one]
    assert len(shown["calls"]) - len(left_out) + sum(int(one.split()[0]) for one in left_out) == calls


@settings(max_examples=30, deadline=None)
@given(
    st.text(),
    st.integers(SHORTEST_DIGEST, 8000),
    st.integers(0, 8),
    st.sampled_from(["<", "\0", "\U0001f600", "\u202e", "字"]),
)
def test_no_text_breaks_the_bound_or_the_object(text, longest, calls, sign):
    from tasks_lib.evaluation.alignment import Call, Trajectory, canonical_text

    hostile = text + sign * 2000
    call = Call(hostile, {hostile: [hostile]}, canonical_text({hostile: [hostile]}), hostile)
    made = Trajectory("1", "", ((call,) * calls,), final_reply=hostile)
    digest = make_digest(made, question=hostile, reference=made, longest=longest)
    assert len(digest.text) <= longest
    assert isinstance(json.loads(digest.text), dict)
    assert not set("<>`\u202e\0") & set(digest.text)
    assert all(sign == "\n" or sign.isprintable() for sign in digest.text)


def test_what_was_written_comes_back_from_the_escapes(trajectory):
    told = 'a "quote" \\ </data-0> ```json {"x": 1}``` \u202e \ufe0f 字 😀 \ud800 end'
    digest = make_digest(trajectory({**CALL, "result": told}), question="q")
    assert json.loads(digest.text)["calls"][0]["result"] == told
    assert "字" in digest.text


def test_secrets_are_out_before_anything_is_cut(trajectory):
    secret = "sk-0123456789abcdef0123456789"
    hide = Redactor([secret])
    result = "a" * 2990 + secret + "b" * 9000
    made = trajectory({**CALL, "arguments": {"key": secret}, "result": result}, final_reply=secret)
    digest = make_digest(made, question=secret, hide=hide)
    assert secret[:8] not in digest.text
    assert digest.text.count("[redacted]") >= 4


def test_depth_is_no_crash(trajectory):
    deep = json.loads("[" * 400 + "]" * 400)
    digest = make_digest(trajectory({**CALL, "arguments": {"a": deep}, "result": deep}), question="q")
    assert isinstance(json.loads(digest.text)["calls"][0]["arguments"], str)


def test_a_ticket_is_of_what_it_encloses(trajectory):
    one, other = (make_digest(trajectory(CALL, final_reply=text), question="q") for text in ("a", "b"))
    assert one.ticket != other.ticket
    assert one.ticket not in one.text


def test_too_small_a_room_is_refused(trajectory):
    with pytest.raises(ValueError, match="at least 4000 characters, got 10"):
        make_digest(trajectory(CALL), question="q", longest=10)
