"""Every document comes back from disk as it was, whatever the values; what is not a document is refused."""

import json
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks_lib.records import DOCUMENTS, Lease, clean_json, clean_text, dump_json, load_json, now

ALL = pytest.mark.parametrize("model", DOCUMENTS, ids=lambda model: model.__name__)
PROPERTY = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@ALL
@PROPERTY
@given(data=st.data())
def test_every_document_comes_back_as_it_was(documents, model, data):
    document = data.draw(documents(model))
    text = document.to_json()
    back = model.from_json(text)
    assert back == document
    assert model.from_json(text.encode("utf-8")) == document
    assert back.to_json() == text, "the same content gives the same bytes"
    assert text.endswith("}\n")
    line = document.to_line()
    assert line.count("\n") == 1
    assert model.from_json(line) == document


@ALL
@PROPERTY
@given(data=st.data())
def test_no_document_holds_what_strict_json_cannot(documents, model, data):
    def refuse(name: str) -> None:
        pytest.fail(f"{name} in a document")

    text = data.draw(documents(model)).to_json()
    tree = json.loads(text.encode("utf-8"), parse_constant=refuse)
    assert tree["schema_version"] == 1
    assert dump_json(tree) == text, "keys are sorted"


@ALL
@settings(PROPERTY, max_examples=5)
@given(data=st.data())
def test_an_unknown_field_is_refused(documents, model, data):
    tree = load_json(data.draw(documents(model)).to_json())
    with pytest.raises(ValueError, match="Extra inputs are not permitted"):
        model.from_json(dump_json(tree | {"colour": "red"}))


@ALL
@settings(PROPERTY, max_examples=5)
@given(data=st.data())
def test_a_document_cannot_be_changed(documents, model, data):
    document = data.draw(documents(model))
    with pytest.raises(ValueError, match="frozen"):
        document.schema_version = 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Expecting value"),
        ("[]", "valid dictionary"),
        ("{", "Expecting"),
        ('{"a": NaN}', "strict JSON has no NaN"),
        ('{"a": -Infinity}', "strict JSON has no -Infinity"),
        ('{"owner": "a", "owner": "b"}', "'owner' stands twice"),
        (f'{{"{"k" * 999}": 1, "{"k" * 999}": 2}}', "key 'k{80}' stands twice"),
        (b"\xff\xfe{\x00}\x00", "utf-8"),
        ('{"a": 1} x', "Extra data"),
        ("[" * 200_000, "nested too deep"),
        ('{"owner": "a"}', "Field required"),
    ],
)
def test_what_is_no_document_is_refused(text, said):
    with pytest.raises(ValueError, match=said):
        Lease.from_json(text)


@pytest.mark.parametrize("time", ["2026-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "x"])
def test_times_have_a_zone_and_a_place_in_utc(time):
    good = Lease(owner="a", resource="b", acquired=now(), expires=now())
    with pytest.raises(ValueError, match="acquired"):
        Lease.from_json(dump_json(load_json(good.to_json()) | {"acquired": time}))


def test_times_are_written_in_utc():
    given_time = "2026-07-01T02:00:00+02:00"
    lease = Lease.from_json(dump_json({"owner": "a", "resource": "b", "acquired": given_time, "expires": given_time}))
    assert load_json(lease.to_json())["acquired"] == "2026-07-01T00:00:00Z"


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        (math.nan, None),
        (-math.inf, None),
        (0.0, 0.0),
        ((1, (2.5, math.nan)), [1, [2.5, None]]),
        ({"a\ud800": "\udcff"}, {"a\ufffd": "\ufffd"}),
        (True, True),
    ],
)
def test_cleaning_keeps_what_json_can_hold(value, clean):
    assert clean_json(value) == clean
    assert type(clean_json(value)) is type(clean)


@pytest.mark.parametrize("value", [{1: 2}, b"x", {1, 2}, object(), 1j, now(), {"a": [{None: 1}]}])
def test_cleaning_refuses_what_json_cannot_hold(value):
    with pytest.raises(ValueError, match=r"JSON"):
        clean_json(value)


@given(st.text(st.characters()))
def test_clean_text_can_be_written_and_good_text_is_left_alone(text):
    cleaned = clean_text(text)
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    if not any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        assert cleaned == text


@pytest.mark.parametrize("value", [math.nan, math.inf, [math.nan], {"a": -math.inf}])
def test_writing_refuses_numbers_that_are_none(value):
    with pytest.raises(ValueError, match="JSON compliant"):
        dump_json(value)
