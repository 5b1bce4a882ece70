"""The parts of strict mode: workspaces, inferred schemas, weights, chunks of text, quantities, pairings, data flow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.evaluation.alignment import Call, Trajectory, canonical_text, embed
from tasks_lib.evaluation.alignment.strict import (
    ArgumentRule,
    Kind,
    TextSimilarity,
    argument_swap,
    dependencies,
    family_template,
    filled,
    rules_of,
    with_inferred,
)
from tasks_lib.evaluation.alignment.strict.information import weighted
from tasks_lib.evaluation.alignment.strict.pairing import pair
from tasks_lib.evaluation.alignment.strict.quantities import Quantity, quantity
from tasks_lib.evaluation.alignment.strict.texts import chunks
from tasks_lib.evaluation.alignment.strict.workspace import PICTURE, mapping


def _call(tool: str, arguments: Any, result: Any = None) -> Call:
    return Call(tool, arguments, canonical_text(arguments), result)


def _trajectory(*steps: Sequence[Call], key: str = "00010000", **more: Any) -> Trajectory:
    return Trajectory(key, "kind", tuple(map(tuple, steps)), **more)


class TestWorkspaces:
    @pytest.mark.parametrize(
        "path",
        ["./media/7_2.png", "/a/b/7.png", "file:///a/7_1.PNG", "images/7.jpg", "7.webp", " media//x/../7.png"],
    )
    def test_the_tasks_picture_is_one_wherever_it_lies(self, path: str) -> None:
        assert mapping("7", [_call("t", {"p": path})])(path) == PICTURE

    @pytest.mark.parametrize(
        "path", ["17.png", "7_crop.png", "7.txt", "7.png.exe", "a 7", "https://host.example/8.png"]
    )
    def test_another_file_stays_another(self, path: str) -> None:
        assert mapping("7", [])(path) == path

    def test_files_beside_the_picture_lose_their_folder(self) -> None:
        calls = [_call("t", {"in": ["/run/a/media/7_1.png"]})]
        mapped = mapping("7", calls, ["/shared"])
        assert mapped({"x": ["/run/a/media/out/7_cat.png", "/shared/deck.pptx", "/etc/passwd", 3, None]}) == {
            "x": ["out/7_cat.png", "deck.pptx", "/etc/passwd", 3, None]
        }
        assert mapped("/run/a/media/../../etc") == "/run/a/media/../../etc"


class TestInference:
    def test_schemas_fit_the_calls_of_the_references(self) -> None:
        calls = [
            _call("a/t", {"day": f"2025-01-{n:02}", "at": {"lat": n, "lng": 2.5}, "mode": "day" if n % 2 else "night",
                          "n": n, "deep": True, "odd": n if n % 2 else "x", "names": [f"x{n}"]})
            for n in range(1, 11)
        ]  # fmt: skip
        odd = [_call("a/t", one) for one in ('{"day": null}', '{"day', 3, [1], None)]
        tool = with_inferred(None, [*calls, *odd]).tool("a/t")
        assert {rule.pointer: rule.kind for rule in rules_of(tool.input_schema)} == {
            "/at": Kind.COORDINATES,
            "/day": Kind.DATE,
            "/deep": Kind.FLAG,
            "/mode": Kind.CHOICE,
            "/n": Kind.NUMBER,
            "/names": Kind.SEQUENCE,
            "/odd": Kind.ANY,
        }

    def test_a_snapshot_wins(self) -> None:
        known = with_inferred(None, [_call("a/t", {"x": 1})])
        both = with_inferred(known, [_call("a/t", {"x": "text"}), _call("b/u", {})])
        assert both.tool("a/t") == known.tool("a/t")
        assert [tool.name for tool in both.tools] == ["a/t", "b/u"]

    @settings(max_examples=40)
    @given(
        st.lists(
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
                max_leaves=8,
            ),
            max_size=4,
        )
    )
    def test_no_arguments_stop_it(self, arguments: list[Any]) -> None:
        snapshot = with_inferred(None, [_call("a/t", one) for one in arguments])
        assert [tool.name for tool in snapshot.tools] == (["a/t"] if arguments else [])


def test_what_all_tasks_have_alike_tells_little() -> None:
    rules = {"a/t": tuple(ArgumentRule(pointer=f"/{key}", kind=Kind.ANY) for key in "cuv")}
    calls = [("a/t", f"task {n}", filled({"c": 1, "u": n, "extra": n % 2}, {})) for n in range(40)]
    found = {rule.pointer: rule.weight for rule in weighted(rules, calls)["a/t"]}
    assert found["/c"] == found["/v"] == pytest.approx(0.05)
    assert found["/u"] == 1.0
    assert found["/extra"] == pytest.approx(0.5, abs=0.03)
    within = [("a/t", "one task", filled({"c": 1}, {}))] * 40
    assert {rule.weight for rule in weighted(rules, within)["a/t"]} == {1.0}
    few = [("a/t", f"task {n}", filled({"c": 1}, {})) for n in range(2)]
    assert weighted(rules, few)["a/t"][0].weight == 0.75


class TestTexts:
    def test_no_tail_is_cut(self, new_stub: Any) -> None:
        body = " ".join(f"word{n}" for n in range(900))
        one, other = f"{body} first ending", f"{body} second ending"
        alike = TextSimilarity([one, other], new_stub())
        assert alike(one, one) == 1.0
        assert 0.8 < alike(one, other) == alike(other, one) < 1.0
        assert len(list(chunks(body))) > 5

    def test_a_text_with_more_says_more(self, new_stub: Any) -> None:
        body = " ".join(f"word{n}" for n in range(300))
        whole = f"{body} {' '.join(f'other{n}' for n in range(300))}"
        assert TextSimilarity([body, whole], new_stub())(body, whole) < 0.9

    @given(st.text())
    def test_chunks_lose_no_word_and_fit_the_encoder(self, text: str) -> None:
        parts = list(chunks(text * 9))
        assert "".join("".join(parts).split()) == "".join((text * 9).split())
        assert all(len(part) <= 720 for part in parts)

    def test_each_chunk_is_encoded_once(self, new_stub: Any) -> None:
        stub = new_stub()
        TextSimilarity(["a b c d e"] * 5, stub)
        assert stub.asked == [["a b c d e"]]
        assert embed(["a b c d e"], new_stub()).encoded == 1


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (5, Quantity(5)),
        ("5", Quantity(5)),
        ("-1.5e3", Quantity(-1500)),
        ("5 km", Quantity(5, "km")),
        ("$1,250.50", Quantity(1250.5, "USD")),
        ("12 EUR", Quantity(12, "EUR")),
        (True, None),
        ("five", None),
        ("", None),
        (None, None),
        ([5], None),
        (float("nan"), None),
        (10**400, None),
    ],
)
def test_quantities_are_read_or_refused(value: Any, read: Quantity | None) -> None:
    assert quantity(value) == read


@pytest.mark.parametrize(
    ("value", "unit", "found"),
    [
        ("5 km", "m", 5000),
        ("1 mile", "km", 1.609344),
        ("2 hours", "min", 120),
        ("5 km", "s", None),
        ("$5", "EUR", None),
    ],
)
def test_quantities_are_converted_within_what_they_measure(value: str, unit: str, found: float | None) -> None:
    read = quantity(value)
    assert read is not None
    assert read.within(unit) == (None if found is None else pytest.approx(found))


class TestPairing:
    @settings(max_examples=60)
    @given(st.data())
    def test_no_assignment_has_a_larger_sum_or_steps_that_agree_better(self, data: Any) -> None:
        n, m = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
        worth = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
        scores = np.array([[data.draw(worth) for _ in range(m)] for _ in range(n)])
        ours, theirs = (sorted(data.draw(st.lists(st.integers(0, 3), min_size=k, max_size=k))) for k in (n, m))
        found = pair(scores, 0.5, ours, theirs)

        def value(pairs: Any) -> tuple[float, int]:
            counted = [(i, j) for i, j in pairs if scores[i, j] >= 0.5]
            return sum(scores[i, j] for i, j in counted), -sum(abs(ours[i] - theirs[j]) for i, j in counted)

        every = ([(i, j) for i, j in enumerate(columns) if j < m] for columns in permutations(range(m + n), n))
        best = max(value(pairs) for pairs in every)
        assert value([(one.reference, one.prediction) for one in found]) == best
        assert all(one.similarity >= 0.5 for one in found)

    def test_one_perfect_pair_is_worth_as_much_as_two_halves(self) -> None:
        scores = np.array([[1.0, 0.5], [0.5, 0.0]])
        assert sum(one.similarity for one in pair(scores, 0.5, [0, 0], [0, 0])) == 1.0
        assert pair(np.zeros((2, 2)), 0.5, [0, 0], [0, 0]) == ()


class TestFlow:
    def test_a_value_comes_from_the_first_call_that_gave_it(self) -> None:
        first = _call("a", {}, '{"code": "acad", "n": 12345}')
        again = _call("a", {"x": "y"}, "the code acad again")
        last = _call("b", {"park": "acad"})
        found = dependencies(_trajectory([first], [again], [last]))
        assert (found.source, found.before.tolist()) == (
            "data",
            [[False, False, True], [False, False, False], [False, False, False]],
        )

    @pytest.mark.parametrize(
        ("result", "argument", "question", "count"),
        [
            ("12345", {"id": 12345}, "", 1),
            ("Newark", {"query": "air in Newark today"}, "", 1),
            ("Newark", {"query": "air in Newark today"}, "What about Newark?", 0),
            ("yes", {"query": "yes"}, "", 0),
            ("academy", {"query": "acad"}, "", 0),
            ({"a": [{"b": 40.7357}]}, {"lat": 40.7357}, "", 1),
            ("[" * 100_000, {"q": "nothing"}, "", 0),
        ],
    )
    def test_what_makes_a_call_wait(self, result: Any, argument: Any, question: str, count: int) -> None:
        found = dependencies(_trajectory([_call("a", {}, result)], [_call("b", argument)], question=question))
        assert found.count == count

    def test_waiting_is_handed_on_and_circles_are_left_out(self) -> None:
        calls = [_call("a", {"n": n}) for n in range(4)]
        found = dependencies(_trajectory(calls, dependencies=((0, 1), (1, 2), (3, 3))))
        assert sorted(map(tuple, np.argwhere(found.before).tolist())) == [(0, 1), (0, 2), (1, 2)]
        assert dependencies(_trajectory(calls, dependencies=((0, 1), (1, 0)))).count == 0

    def test_steps_decide_where_results_are_missing(self) -> None:
        found = dependencies(_trajectory([_call("a", 1), _call("a", 2, "x")], [], [_call("b", 3)]))
        assert (found.source, found.count) == ("steps", 2)


class TestBaselines:
    REFERENCES = (
        _trajectory([_call("a", {"p": "./media/00010000_1.png", "q": "one"}), _call("c", {"z": 1})]),
        _trajectory([_call("a", {"p": "x/00010001.png", "q": "two 00010001"})], key="00010001"),
        _trajectory([_call("a", {"p": "x/00020000.png", "q": "three"})], key="00020000"),
    )

    def test_swapped_arguments_are_of_another_task_and_know_the_own_picture(self) -> None:
        for seed in range(9):
            swapped = argument_swap(self.REFERENCES, seed)
            first, second = swapped["00010000"].calls
            assert first.arguments in (
                {"p": "x/00010000.png", "q": "two 00010001"},
                {"p": "x/00010000.png", "q": "three"},
            )
            assert (second.tool, second.arguments) == ("c", {})
            assert argument_swap(self.REFERENCES, seed) == swapped
        assert len({argument_swap(self.REFERENCES, seed)["00010000"].calls[0].text for seed in range(9)}) == 2

    def test_a_template_is_of_the_family(self) -> None:
        found = family_template(self.REFERENCES, 0)
        assert sorted(found) == ["00010000", "00010001"]
        assert [call.tool for call in found["00010001"].calls] == ["a", "c"]
        assert found["00010001"].calls[0].arguments == {"p": "./media/00010001_1.png", "q": "one"}
