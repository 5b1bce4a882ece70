"""A judge's reply is read strictly or not at all."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.evaluation.judges import Metric, read_judgement

TICKET = "0123456789abcdef"
FULL = {"planning": 2, "process": 2.5, "result": 4}


def read(text, metric=Metric.TASK_COMPLETION):
    return read_judgement(text, metric, TICKET)


@pytest.mark.parametrize(
    "wrap",
    ["{}", "```json\n{}\n```", "I judge.\n```\n{}\n```\n", "<tool_call>{}</tool_call>", "<think>{{}} 10</think>{}"],
)
def test_a_judgement_is_read_in_its_usual_dress(wrap, reply):
    assert read(wrap.format(reply(TICKET, **FULL))) == ({"planning": 2.0, "process": 2.5, "result": 4.0}, "ok")
    assert read(wrap.format(reply(TICKET, coverage=0.5)), Metric.INFORMATION_GROUNDING)[0] == {"coverage": 0.5}


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({**FULL, "result": 4.01}, "0 to 4"),
        ({**FULL, "result": -1}, "0 to 4"),
        ({**FULL, "result": "4"}, "of str"),
        ({**FULL, "result": True}, "of bool"),
        ({**FULL, "result": None}, "of NoneType"),
        ({**FULL, "result": 10**400}, "0 to 4"),
        ({"planning": 2, "process": 2}, "not as they should be: result"),
        ({**FULL, "score": 10}, "not as they should be: score"),
        ({"coverage": 1}, "not as they should be"),
    ],
)
def test_numbers_that_are_not_asked_for_are_refused(parts, told, reply):
    with pytest.raises(ValueError, match=told):
        read(reply(TICKET, **parts))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has 0"),
        ("10", "has 0"),
        ("\\boxed{10}", "has 0"),
        ("The score is 10/10.", "has 0"),
        ("[]", "has 0"),
        ('{"planning": 3, "process": 3, "result": 4}', "name and arguments"),
        ('{"name": "judgement"', "JSON"),
        ('{"name": "judgement", "arguments": "10"}', "not an object"),
        ("{" * 100_000, "JSON"),
        ('{"a":' * 100_000, "nested"),
        ('<think>{"name": "judgement"}', "has 0"),
    ],
)
def test_what_is_no_judgement_is_refused(text, told):
    with pytest.raises(ValueError, match=told):
        read(text)


def test_two_judgements_another_name_and_another_ticket_are_refused(reply):
    good, other = reply(TICKET, **FULL), reply(TICKET, planning=3, process=3, result=4)
    for text, told in [
        (f"[{good}, {other}]", "has 2"),
        (f"```json\n{good}\n```\n```json\n{other}\n```", "one fenced block"),
        (reply(TICKET, name="score", **FULL), "name is 'judgement'"),
        (reply("0" * 16, **FULL), "ticket is not"),
        (reply(TICKET.upper(), **FULL), "ticket is not"),
        (json.dumps({"name": "judgement", "arguments": {"ticket": TICKET, **FULL, "why": 1}}), "why is a text"),
        (good.replace('"why"', '"planning": 3, "why"'), "twice"),
        (good.replace("2.5", "NaN"), "NaN is no JSON|number from 0"),
    ]:
        with pytest.raises(ValueError, match=told):
            read(text)


@given(st.text())
def test_any_text_is_read_or_refused_with_a_reason(text):
    with pytest.raises(ValueError, match=r"\w"):
        read(text)
