"""Two calls, argument by argument: what is near counts, what is another thing does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.evaluation.alignment.strict import ArgumentRule, CallScore, Kind, compare, filled, rules_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)
RULES = st.builds(
    ArgumentRule, pointer=st.just("/a"), kind=st.sampled_from(Kind), tolerance=st.just(0.5), weight=st.floats(0, 2)
)


def alike(one: str, other: str) -> float:
    """Return the share of words that both texts have: what an encoder does, without one."""
    ours, theirs = set(one.split()), set(other.split())
    return len(ours & theirs) / max(1, len(ours | theirs))


def one_leaf(kind: Kind, want: Any, seen: Any, **how: Any) -> float:
    workspaces = how.pop("workspaces", ())
    rule = ArgumentRule(pointer="/a", kind=kind, **how)
    found = compare(filled({"a": want}, {}), filled({"a": seen}, {}), [rule], alike, workspaces=workspaces)
    return found.score


@settings(max_examples=60)
@given(JSON, JSON, RULES)
def test_a_score_is_a_share_and_a_copy_is_perfect(want: Any, seen: Any, rule: ArgumentRule) -> None:
    one, other = filled({"a": want, "b": 1}, {}), filled({"a": seen}, {})
    found = compare(one, other, [rule], alike)
    assert 0 <= found.score <= 1
    assert compare(one, one, [rule], alike).score == pytest.approx(1.0)
    assert CallScore.model_validate_json(found.model_dump_json()) == found


@settings(max_examples=60)
@given(JSON, JSON, st.sampled_from(Kind))
def test_the_two_sides_may_change_places(want: Any, seen: Any, kind: Kind) -> None:
    how = {"tolerance": 0.5, "relative": 0.0}
    assert one_leaf(kind, want, seen, **how) == pytest.approx(one_leaf(kind, seen, want, **how))


@pytest.mark.parametrize(
    ("kind", "want", "seen", "score"),
    [
        (Kind.NUMBER, 2, 2.0, 1),
        (Kind.NUMBER, 2, "2", 1),
        (Kind.NUMBER, 2, 2.1, 0),
        (Kind.NUMBER, 2, True, 0),
        (Kind.NUMBER, 10**400, 10**400, 1),
        (Kind.DATE, "2025-01-04", "2025-01-04T10:00:00Z", 1),
        (Kind.DATE, "2025-01-04", "2019-08-17", 0),
        (Kind.CHOICE, "metric", "us", 0),
        (Kind.FLAG, True, False, 0),
        (Kind.FLAG, True, 1, 0),
        (Kind.IDENTIFIER, "AAPL", "TSLA", 0),
        (Kind.IDENTIFIER, " AAPL", "AAPL", 1),
        (Kind.TEXT, "Bald eagle", "bald  EAGLE", 1),
        (Kind.TEXT, "Bald eagle", "Golden eagle", 0),
        (Kind.TEXT, "bald eagle", "Bald Eagles", 1),
        (Kind.TEXT, "glass", "glas", 0),
        (Kind.TEXT, "price of Bitcoin", "Bitcoin price", 1),
        (Kind.TEXT, "Apple", "Apple Inc.", 0.5),
        (Kind.TEXT, "Diet Pepsi", "Pepsi", 0.5),
        (Kind.TEXT, "Sao Paulo", "São Paulo", 1),
        (Kind.TEXT, "がく", "かく", 0),
        (Kind.FLAG, True, "True", 1),
        (Kind.FLAG, False, "true", 0),
        (Kind.IDENTIFIER, 42, "42", 1),
        (Kind.IDENTIFIER, 42, "042", 0),
        (Kind.NUMBER, "5 km", "5000 m", 1),
        (Kind.NUMBER, "5 km", "5 mi", 0),
        (Kind.NUMBER, "5 km", 5, 1),
        (Kind.NUMBER, "$5", "5 USD", 1),
        (Kind.NUMBER, "$5", "EUR 5", 0),
        (Kind.NUMBER, "5 km", "5 USD", 0),
        (Kind.TEXT, "Bitcoin", "Ethereum", 0),
        (Kind.TEXT, "a b c d", "a b c d e", 0.5),
        (Kind.TEXT, "a b c d e", "a b c d e f", 5 / 6),
        (Kind.TEXT, "1", 1, 0),
        (Kind.SEQUENCE, [1, 2, 3], [1, 3, 2], 1 / 3),
        (Kind.SET, [1, 2, 3], [3, 2, 1], 1),
        (Kind.SET, [1, 2, 3], [3], 1 / 3),
        (Kind.SET, [], [1], 0),
        (Kind.ANY, {"x": 1, "y": 2}, {"x": 1}, 1 / 2),
    ],
)
def test_each_kind_by_its_rule(kind: Kind, want: Any, seen: Any, score: float) -> None:
    if isinstance(want, dict):
        found = compare(filled(want, {}), filled(seen, {}), [], alike).score
    else:
        found = one_leaf(kind, want, seen)
    assert found == pytest.approx(score)


NEWARK, TOKYO = {"lat": 40.7357, "lng": -74.1724}, {"lat": 35.6895, "lng": 139.6917}


@pytest.mark.parametrize(
    ("seen", "score"),
    [
        (NEWARK, 1),
        ({"latitude": "40.7357", "longitude": -74.1724}, 1),
        ({"lat": 40.7357, "lng": -74.1824}, 1),
        (TOKYO, 0),
        ({"lat": 40.7357, "lng": 285.8276}, 1),
        ("Newark", 0),
    ],
)
def test_places_are_compared_by_distance(seen: Any, score: float) -> None:
    assert one_leaf(Kind.COORDINATES, NEWARK, seen) == pytest.approx(score)


@given(st.floats(0.001, 0.2), st.floats(0.001, 0.2))
def test_a_place_further_off_is_never_nearer(one: float, more: float) -> None:
    near, far = ({"lat": 40.7357 + shift, "lng": -74.1724} for shift in (one, one + more))
    assert one_leaf(Kind.COORDINATES, NEWARK, near) >= one_leaf(Kind.COORDINATES, NEWARK, far)


@pytest.mark.parametrize(
    ("want", "seen", "score"),
    [
        ("/a/media/00010.png", "file:///b/media/00010.png", 1),
        ("/a/media/00010.png", "media/./00010.png", 1),
        ("/a/media/00010.png", "/b/media/00011.png", 0),
        ("/a/media/00010.png", "/b/x/../../etc/00010.png", 0),
        ("https://host/a", "https://host/b", 0),
    ],
)
def test_paths_are_compared_within_their_workspaces(want: str, seen: str, score: float) -> None:
    assert one_leaf(Kind.PATH, want, seen, workspaces=("/a", "/b")) == score


def test_missing_and_extra_arguments_count_alike() -> None:
    whole, part = filled({"a": 1, "b": 2}, {}), filled({"a": 1}, {})
    assert compare(whole, part, [], alike).score == compare(part, whole, [], alike).score == 0.5


def test_calls_without_arguments_agree_and_unreadable_ones_never_do() -> None:
    assert compare(filled(None, {}), filled({}, {}), [], alike).score == 1
    broken = filled('{"a":1', {})
    assert compare(broken, broken, [], alike).score == 0


def test_weights_decide_how_much_a_leaf_counts() -> None:
    schema = {"type": "object", "properties": {"units": {"enum": ["a", "b"]}, "city": {"type": "string"}}}
    want, seen = filled({"units": "a", "city": "Rome"}, schema), filled({"units": "b", "city": "Rome"}, schema)
    assert compare(want, seen, rules_of(schema), alike).score == pytest.approx(1 / 1.25)


def test_arguments_nested_beyond_reason_are_a_problem() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    assert "nested deeper than 64" in filled({"a": deep}, {}).problem
    assert filled({"a": [[1]]}, {}).problem == ""


def test_long_lists_are_compared_in_their_order() -> None:
    numbers = list(range(1000))
    assert one_leaf(Kind.SET, numbers, numbers) == 1
    assert one_leaf(Kind.SET, numbers, numbers[::-1]) == 0


@pytest.mark.parametrize(
    ("want", "seen", "unit", "score"),
    [
        (5000, "5 km", "m", 1),
        (5, "5 km", "m", 0),
        (90, "1.5 min", "s", 1),
        (20, "$20", "USD", 1),
        (20, "€20", "USD", 0),
    ],
)
def test_a_bare_number_is_in_the_unit_of_its_rule(want: Any, seen: Any, unit: str, score: float) -> None:
    assert one_leaf(Kind.NUMBER, want, seen, unit=unit) == score


def test_an_argument_of_one_side_alone_counts_however_little_it_tells() -> None:
    rules = [ArgumentRule(pointer="/n", kind=Kind.NUMBER, weight=0.05), ArgumentRule(pointer="/q", kind=Kind.TEXT)]
    want, bare, other = ({"q": "x", **more} for more in ({"n": 1}, {}, {"n": 2}))
    assert compare(filled(want, {}), filled(bare, {}), rules, alike).score == pytest.approx(1 / 1.25)
    assert compare(filled(bare, {}), filled(want, {}), rules, alike).score == pytest.approx(1 / 1.25)
    assert compare(filled(want, {}), filled(other, {}), rules, alike).score == pytest.approx(1 / 1.05)


@pytest.mark.parametrize(
    ("want", "seen", "score"),
    [
        ({"latitude": 40.7357, "longitude": -74.1724}, {"longitude": -74.17, "latitude": "40.736"}, 1),
        ({"latitude": 40.7357, "longitude": -74.1724}, {"latitude": 35.6895, "longitude": 139.6917}, 0),
        ({"latitude": 40.7357, "longitude": -74.1724}, {"latitude": 40.7357}, 0),
        (
            {"lat": 40.7357, "n": 1, "at": {"lat": 1.0, "lng": 2.0}},
            {"lat": 40.7357, "n": 1, "at": {"lat": 1, "lng": 2}},
            1,
        ),
        ({"center": "40.7357,-74.1724"}, {"center": "40.736, -74.17"}, 1),
        ({"center": "40.7357,-74.1724"}, {"center": "35.6895,139.6917"}, 0),
        ({"center": "40.7357,-74.1724"}, {"center": "Newark"}, 0),
    ],
)
def test_a_place_may_be_two_arguments_or_one_text(want: Any, seen: Any, score: float) -> None:
    assert compare(filled(want, {}), filled(seen, {}), [], alike).score == score
