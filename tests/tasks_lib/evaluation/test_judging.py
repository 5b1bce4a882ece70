"""The verdict as a whole: pure, complete, and never an exception for what an agent did."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tasks_lib.evaluation import GETTERS, METRICS, check_criterion, check_handoff, getter, judge, metric
from tasks_lib.evaluation._registry import Judgement, Seen, Unreadable
from tasks_lib.records import Criterion, Outcome, Task
from tasks_lib.records.errors import EvaluatorError, StoreError


def criterion(number: int, reads: dict[str, Any], compares: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"id": f"c{number}", "points": number, "reads": reads, "compares": compares, "why": "it is so", **rest} | {
        "why": "because the test needs it"
    }


GAP = ({"getter": "json", "path": "a.json", "arguments": {"pointer": "/gap"}}, {"metric": "number", "want": 1.12})


def task(*criteria: dict[str, Any], mixed: bool = False) -> Task:
    stage = {
        "id": "main",
        "modality": "code",
        "instruction": "Write the band gap into a.json.",
        "deliverables": [{"path": "a.json", "what": "the band gap"}],
    }
    stages = [stage]
    if mixed:
        first = {**stage, "id": "build", "hands_over": [{"path": "a.json", "as_path": "b.json"}]}
        stages = [first, {**stage, "id": "plot", "modality": "figure"}]
    return Task.model_validate(
        {
            "id": "gap",
            "title": "Band gap",
            "suite": "test",
            "domain": "test",
            "modality": "mixed" if mixed else "code",
            "difficulty": "easy",
            "stages": stages,
            "criteria": list(criteria),
        }
    )


def gap(number: int = 1, **rest: Any) -> dict[str, Any]:
    reads, compares = GAP
    return criterion(number, reads, {**compares, "tolerance": 0.01, "unit": "eV"}, **rest)


def test_a_verdict(left: Any) -> None:
    evidence = {"main": left.evidence({"a.json": b'{"gap": 1.125}'})}
    wrong = criterion(2, {"getter": "file", "path": "b.json"}, {"metric": "exists"})
    verdict = judge(task(gap(), wrong), {}, evidence, left.blob)
    assert (verdict.outcome, verdict.earned, verdict.points) == (Outcome.FAIL, 1, 3)
    first, second = verdict.criteria
    assert (first.passed, first.seen, first.wanted) == (True, 1.125, {"value": 1.12, "tolerance": 0.01, "unit": "eV"})
    assert first.why == "1.125 eV is 0.005 eV from 1.12 eV; 0.01 eV or less is allowed"
    assert first.evidence == (evidence["main"].files[0].blob.sha256,)
    assert (second.passed, second.why) == (False, "there is no file b.json")
    assert judge(task(gap()), {}, evidence, left.blob).outcome is Outcome.PASS


def test_the_same_evidence_gives_the_same_bytes(left: Any, good: Any) -> None:
    evidence = {
        "main": left.evidence({"a.json": b'{"gap": 1.125}', "r.cif": good("rutile.cif"), "f.fit": good("c1s.fit")})
    }
    whole = task(
        gap(),
        criterion(2, {"getter": "structure", "path": "r.cif"}, {"metric": "structure-match", "gold": "r.vasp"}),
        criterion(3, {"getter": "fityk-session", "path": "f.fit"}, {"metric": "count", "want": 3}),
    )
    gold = {"r.vasp": good("rutile.vasp")}
    first, second = (judge(whole, gold, evidence, left.blob).to_json() for _ in range(2))
    assert first == second
    assert judge(whole, gold, evidence, left.blob).outcome is Outcome.PASS


def test_the_digest_follows_task_and_gold(left: Any) -> None:
    evidence = {"main": left.evidence()}
    digests = {
        judge(task(gap()), {}, evidence, left.blob).task_digest,
        judge(task(gap(2)), {}, evidence, left.blob).task_digest,
        judge(task(gap()), {"x": b"1"}, evidence, left.blob).task_digest,
        judge(task(gap()), {}, evidence, left.blob, task_digest="0" * 64).task_digest,
    }
    assert len(digests) == 4
    assert "0" * 64 in digests


def test_gold_is_read_as_the_answer_is(left: Any) -> None:
    reads, _ = GAP
    judged = task(criterion(1, reads, {"metric": "number", "gold": "gold.json", "relative": 0.01}))
    evidence = {"main": left.evidence({"a.json": b'{"gap": 1.12}'})}
    verdict = judge(judged, {"gold.json": b'{"gap": 1.125}'}, evidence, left.blob)
    assert verdict.criteria[0].wanted == {"value": 1.125, "gold": "gold.json", "relative": 0.01}
    assert verdict.outcome is Outcome.PASS


def test_gold_as(left: Any) -> None:
    reads, _ = GAP
    other = {"gold_as": {"getter": "key-value", "key": "gap"}}
    judged = task(criterion(1, reads, {"metric": "number", "gold": "g.txt", "relative": 0.01, "arguments": other}))
    evidence = {"main": left.evidence({"a.json": b'{"gap": 1.12}'})}
    assert judge(judged, {"g.txt": b"gap = 1.12"}, evidence, left.blob).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("metric_name", "answer", "gold", "arguments"),
    [
        ("members", ["mp-tsbpx"], ["mp-9000002", "mp-9000001"], {"count": 1}),
        (
            "members",
            [{"id": "mp-tsbpx", "rho": 5.301}],
            [{"id": "mp-9000001", "rho": 5.3}],
            {"count": 1, "keys": ["id"], "columns": {"rho": {"tolerance": 0.01}}},
        ),
        ("set-equals", ["Si", "mp-tsbpx"], ["mp-9000001", "Si"], {}),
        ("number-list", [1.0, "2 g/cm^3"], [2.0, 1.0], {}),
        (
            "key-values",
            {"rho": 5.301, "id": "mp-aaatsbpx", "n": 8, "elements": ["Ga", "As"]},
            {"rho": 5.3, "id": "mp-9000001", "n": 8, "elements": ["As", "Ga"]},
            {"keys": {"rho": {"relative": 0.001}, "elements": {"ordered": False}}},
        ),
        (
            "table-match",
            [{"id": "mp-tsbpx", "rho": 5.301}],
            [{"id": "mp-9000001", "rho": 5.3}],
            {"keys": ["id"], "columns": {"rho": {}}},
        ),
    ],
)
def test_answers_beside_the_gold_of_a_database(
    left: Any, metric_name: str, answer: Any, gold: Any, arguments: dict[str, Any]
) -> None:
    reads = {"getter": "json", "path": "a.json", "arguments": {"pointer": "/found", "ids": True}}
    compares: dict[str, Any] = {"metric": metric_name, "gold": "answer.json"}
    compares |= {"arguments": {**arguments, "gold_as": {"getter": "json", "pointer": "/answer"}}}
    if METRICS[metric_name].takes_tolerance:
        compares |= {"tolerance": 0.01, "unit": "g/cm^3"}
    judged = task(criterion(1, reads, compares))
    golds = {"answer.json": json.dumps({"database": {"name": "s"}, "answer": gold}).encode()}
    itself = gold[:1] if metric_name == "members" else gold
    found: Any
    for found, outcome in ((answer, Outcome.PASS), (itself, Outcome.PASS), (None, Outcome.FAIL), ([], Outcome.FAIL)):
        evidence = {"main": left.evidence({"a.json": json.dumps({"found": found}).encode()})}
        assert judge(judged, golds, evidence, left.blob).outcome is outcome, found


@pytest.mark.parametrize(
    ("gold", "reason"), [({}, "no gold file 'g.json'; there are: none"), ({"g.json": b"{"}, "cannot be read")]
)
def test_broken_gold_is_our_fault(left: Any, gold: dict[str, bytes], reason: str) -> None:
    reads, _ = GAP
    judged = task(criterion(1, reads, {"metric": "number", "gold": "g.json", "relative": 0.01}))
    with pytest.raises(EvaluatorError, match=rf"criterion 'c1' .*getter 'json', metric 'number'.*{reason}"):
        judge(judged, gold, {"main": left.evidence()}, left.blob)


def test_a_stage_that_never_ran(left: Any) -> None:
    judged = task(gap(1, stage="build", kind="hand-off"), gap(2, stage="plot"), mixed=True)
    missing = judge(judged, {}, {"build": left.evidence(stage="build")}, left.blob)
    assert [record.why for record in missing.criteria] == [
        "there is no file a.json",
        "stage plot never ran: stage build did not leave a.json for it",
    ]
    handed = judge(judged, {}, {"build": left.evidence({"a.json": b"{}"}, stage="build")}, left.blob)
    assert handed.criteria[1].why == "stage plot never ran: no evidence of it was collected"
    nothing = judge(judged, {}, {}, left.blob)
    assert nothing.criteria[1].why == "stage plot never ran: stage build before it has no evidence either"
    assert nothing.outcome is Outcome.FAIL


def test_hand_offs_are_judged_alone_and_alike(left: Any) -> None:
    judged = task(gap(1, stage="build", kind="hand-off"), gap(2, stage="plot"), mixed=True)
    evidence = left.evidence({"a.json": b'{"gap": 9}'}, stage="build")
    checks = check_handoff(judged, "build", {}, evidence, left.blob)
    assert [(record.id, record.kind, record.passed) for record in checks] == [("c1", "hand-off", False)]
    assert checks[0] == judge(judged, {}, {"build": evidence}, left.blob).criteria[0]
    assert check_handoff(judged, "plot", {}, evidence, left.blob) == []


@pytest.mark.parametrize(
    ("reads", "compares", "fault"),
    [
        ({"getter": "jsn", "path": "a"}, {"metric": "exists"}, "no getter 'jsn': take one of"),
        ({"getter": "json", "path": "a"}, {"metric": "exist"}, "no metric 'exist': take one of"),
        (
            {"getter": "json", "path": "a", "arguments": {"pinter": "/"}},
            {"metric": "exists"},
            "takes no argument 'pinter'",
        ),
        ({"getter": "json"}, {"metric": "exists"}, "needs a path"),
        ({"getter": "window-title", "path": "a"}, {"metric": "exists"}, "takes no path"),
        ({"getter": "json", "path": "a"}, {"metric": "number"}, "needs either want or gold, 0"),
        ({"getter": "json", "path": "a"}, {"metric": "number", "want": 1, "gold": "g"}, "needs either want or gold, 2"),
        ({"getter": "json", "path": "a"}, {"metric": "exists", "want": 1}, "takes neither want nor gold"),
        ({"getter": "json", "path": "a"}, {"metric": "equals", "want": 1, "tolerance": 0.1}, "takes no tolerance"),
        ({"getter": "json", "path": "a"}, {"metric": "table-match", "want": []}, "needs the argument 'columns'"),
        (
            {"getter": "json", "path": "a"},
            {"metric": "equals", "gold": "g", "arguments": {"gold_as": {"getter": "x"}}},
            "gold_as is",
        ),
    ],
)
def test_a_wrong_call_is_our_fault(left: Any, reads: Any, compares: Any, fault: str) -> None:
    wrong = criterion(1, reads, compares)
    faults = check_criterion(Criterion.model_validate(wrong))
    assert any(fault in sentence for sentence in faults), faults
    with pytest.raises(EvaluatorError, match=r"criterion 'c1' of task 'gap'"):
        judge(task(wrong), {}, {"main": left.evidence({"a": b"{}"})}, left.blob)


def test_wrong_values_of_arguments_are_our_fault(left: Any) -> None:
    wrong = criterion(1, {"getter": "table", "path": "a", "arguments": {"what": "all"}}, {"metric": "exists"})
    with pytest.raises(EvaluatorError, match=r"getter 'table', metric 'exists'\) broke: CallError"):
        judge(task(wrong), {}, {"main": left.evidence({"a": b"1"})}, left.blob)


def test_a_bug_in_a_getter_or_metric_is_our_fault(left: Any) -> None:

    @getter("broken")
    def read(context: Any, path: str) -> Seen:
        """Read nothing."""
        raise ZeroDivisionError

    @metric("broken", want=False)
    def compare(seen: Seen, want: Any = None, **_: Any) -> Judgement:
        """Compare nothing."""
        return "passed"  # type: ignore[return-value]

    for reads, compares, said in (("broken", "exists", "ZeroDivisionError"), ("file", "broken", "returned str")):
        wrong = criterion(1, {"getter": reads, "path": "a"}, {"metric": compares})
        with pytest.raises(EvaluatorError, match=said):
            judge(task(wrong), {}, {"main": left.evidence({"a": b"1"})}, left.blob)
    del GETTERS["broken"], METRICS["broken"]


def test_a_store_that_fails_is_not_blamed_on_the_evaluator(left: Any) -> None:
    def blob(_: Any) -> bytes:
        msg = "the store does not answer"
        raise StoreError(msg)

    with pytest.raises(StoreError):
        judge(task(gap()), {}, {"main": left.evidence({"a.json": b"{}"})}, blob)


def test_records_stay_small_and_printable(left: Any) -> None:
    names = ",".join(f"\x1b[31m{number}" for number in range(3000))
    reads = {"getter": "table", "path": "a", "arguments": {"column": "nowhere"}}
    evidence = {"main": left.evidence({"a": f"{names}\n{names}\n".encode()})}
    (record,) = judge(task(criterion(1, reads, {"metric": "exists"})), {}, evidence, left.blob).criteria
    assert record.why.isprintable()
    assert len(record.why) < 700
    text = criterion(1, {"getter": "text", "path": "a"}, {"metric": "equals", "want": "x"})
    verdict = judge(task(text), {}, evidence, left.blob)
    assert len(verdict.to_json()) < 6000


def test_long_values_are_cut_and_say_so(left: Any) -> None:
    data = b'{"a": [' + b"1," * 999 + b'1], "t": "' + b"x" * 1000 + b'", "n": {"n": {"n": {"n": {"n": [1]}}}}}'
    reads = {"getter": "json", "path": "a"}
    judged = task(criterion(1, reads, {"metric": "equals", "want": 1}))
    seen: Any = judge(judged, {}, {"main": left.evidence({"a": data})}, left.blob).criteria[0].seen
    assert seen["a"][-1] == "… and 980 more"
    assert seen["t"].endswith("… and 600 more characters")
    assert seen["n"]["n"]["n"]["n"] == "… an object of 1"


def test_a_getter_without_documentation_is_refused() -> None:
    with pytest.raises(ValueError, match="has no docstring"):

        @getter("silent")
        def silent(context: Any, path: str) -> Seen:
            raise Unreadable

    with pytest.raises(ValueError, match="does not document its argument 'size'"):

        @getter("half")
        def half(context: Any, path: str, size: int) -> Seen:
            """Read half."""
            raise Unreadable

    with pytest.raises(ValueError, match="registered twice"):

        @getter("file")
        def second(context: Any, path: str) -> Seen:
            """Read again."""
            raise Unreadable

    assert not {"silent", "half"} & set(GETTERS)
