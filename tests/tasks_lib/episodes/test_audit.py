"""An audit knows from the proof what is true, finds lenient and broken evaluators, and hides nothing that it lacks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tasks_lib.episodes import evaluate, load_work, open_run, proof_manifest
from tasks_lib.episodes.audit import (
    Audit,
    Decision,
    Donor,
    State,
    adversaries,
    audit_run,
    compare,
    markdown,
    played_state,
    variants,
)
from tasks_lib.records import (
    CollectedFile,
    Ending,
    EpisodeSpec,
    Evidence,
    MachineSettings,
    Observation,
    Phase,
    VoidReason,
    VoidRecord,
    WindowState,
    now,
)
from tasks_lib.records.errors import EvaluatorError
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import LoadedTask, load_all

VOLUME, SPACINGS = b'{"volume": 29.791}', b"h,k,l,d_angstrom\n1,0,0,3.10000\n1,1,0,2.19203\n"
LEFT: Mapping[str, dict[str, bytes]] = {
    "oracle": {"volume.json": VOLUME, "spacings.csv": SPACINGS},
    "nop": {},
    "guess": {"volume.json": b'{"volume": 1.0}', "spacings.csv": b"0,1\n"},
    "edge-squared": {"volume.json": b'{"volume": 9.61}', "spacings.csv": SPACINGS},
    "wrong-line": {"volume.json": VOLUME, "spacings.csv": SPACINGS.replace(b"1,1,0,2.19203", b"1,1,1,1.78979")},
}

Edit = Callable[[str], str]


def _evidence(store: Store, files: Mapping[str, bytes], *titles: str) -> Evidence:
    collected = tuple(
        CollectedFile(path=path, blob=store.put_blob(data, "application/octet-stream"))
        for path, data in sorted(files.items())
    )
    windows = tuple(WindowState(id=1, title=title, x=0, y=0, width=9, height=9) for title in titles)
    return Evidence(ending=Ending.DONE, steps=1, files=collected, final=Observation(windows=windows), collected=now())


def _edit(root: Path, change: Edit) -> None:
    file = next(root.glob("*/*/*/task.yaml"))
    text = change(file.read_text(encoding="utf-8"))
    file.write_text(text, encoding="utf-8")


def _played(store: Store, root: Path, *, judged: bool = True) -> tuple[LoadedTask, ...]:
    """Write the run of a proof as its episodes would have left it."""
    tasks = load_all(root)
    assert not tasks.problems
    run = open_run(
        store, proof_manifest(tasks.tasks, tasks.digest, repeat=1, seed=0, machine=MachineSettings(), run_id="p1")
    )
    for spec in run.episodes:
        attempt = RunFolder(store, "p1").episode(spec.id).attempt(1)
        evidence = _evidence(store, LEFT[spec.variant or spec.agent])
        store.write_document(attempt.stage().evidence, evidence)
        if judged:
            evaluate(load_work(store, "p1", spec.id, root), attempt, {"main": evidence})
    return tasks.tasks


def _episode(store: Store, player: str) -> str:
    return next(name for name in store.children("runs/p1/episodes") if f"--{player}--" in name)


def test_good_evaluators_agree_with_everything_that_is_known(store: Store, one_stage: Path) -> None:
    told: list[str] = []
    audit = audit_run(store, "p1", _played(store, one_stage), told.append)
    assert told == ["lattice-parameter"]
    assert audit.disagreements == ()
    assert audit.left_out == ()
    kinds = [state.kind for state in audit.states if not state.adversarial]
    assert kinds[:5] == ["oracle", "nop", "guess", "near miss", "near miss"]
    assert kinds[5:] == ["other layout", "within tolerance", "within tolerance", "other layout"]
    assert {state.kind for state in audit.states if state.adversarial} == {
        "beyond tolerance", "empty file", "entry lost", "input as file", "instruction as file",
        "other deliverable", "other gold", "other name", "truncated file",
    }  # fmt: skip
    assert [(row.domain, row.level) for row in audit.rows] == [
        ("powder", "criterion"), ("all", "criterion"), ("powder", "task"), ("all", "task"),
    ]  # fmt: skip
    assert {row.agreement.f1 for row in audit.rows} == {1.0}
    task = audit.rows[-1].agreement
    assert (task.true_positives, task.true_negatives) == (5, len(audit.states) - 5)


def test_a_check_that_only_asks_for_a_file_accepts_what_is_wrong(store: Store, one_stage: Path) -> None:
    """The published check of twenty OPTIMADE tasks: any file that is not empty."""
    reads, compares = "getter: json, path: volume.json, pointer: /volume", "number, want: 29.791, tolerance: 0.001 Å³"
    _edit(
        one_stage,
        lambda text: text.replace(reads, "getter: file, path: volume.json").replace(compares, "exists"),
    )
    audit = audit_run(store, "p1", _played(store, one_stage))
    accepted = {state.kind for state in audit.accepted}
    assert {"truncated file", "input as file", "instruction as file", "other deliverable"} <= accepted
    assert not accepted & {"empty file", "other name"}
    # The near miss and the guess are caught too, and are no adversaries.
    wrong = {(state.kind, decision.criterion) for state, decision in audit.disagreements if not state.adversarial}
    assert wrong == {("near miss", ""), ("near miss", "cell-volume"), ("guess", "cell-volume")}
    of_tasks = audit.rows[-1].agreement
    assert of_tasks.f1 is not None
    assert of_tasks.f1 < 0.99
    assert of_tasks.false_positives == len(audit.accepted) + 1


def test_a_tolerance_that_is_too_wide_for_a_near_miss_is_a_disagreement(store: Store, one_stage: Path) -> None:
    _edit(one_stage, lambda text: text.replace("tolerance: 0.001 Å³", "tolerance: 25 Å³"))
    audit = audit_run(store, "p1", _played(store, one_stage))
    assert not audit.accepted  # what is moved is moved by the tolerance that the task states
    found = {(state.name, decision.criterion) for state, decision in audit.disagreements}
    assert found == {("edge-squared, trial 1", ""), ("edge-squared, trial 1", "cell-volume")}


def test_an_evaluator_that_refuses_the_oracle_loses_recall(store: Store, one_stage: Path) -> None:
    _edit(one_stage, lambda text: text.replace("want: 29.791", "want: 29.8"))
    audit = audit_run(store, "p1", _played(store, one_stage))
    # The oracle and its two other layouts; what is put within the tolerance of the wrong value passes.
    assert audit.rows[-1].agreement.false_negatives == 3
    oracle = next(decision for state, decision in audit.disagreements if state.kind == "oracle")
    assert (oracle.truth, oracle.said) == (True, False)
    assert "cell-volume" in oracle.why


def test_a_criterion_that_cannot_be_judged_is_told_and_not_counted(store: Store, one_stage: Path) -> None:
    next(one_stage.glob("*/*/*/gold/spacings.csv")).write_bytes(b"\x00\x01\x02")
    with pytest.raises(EvaluatorError):
        _played(store, one_stage)
    (store.local_path("runs") or Path()).rename(one_stage.parent / "away")
    tasks = _played(store, one_stage, judged=False)
    void = VoidRecord(
        reason=VoidReason.EVALUATOR, phase=Phase.EVALUATE, exception="EvaluatorError", message="broke", when=now()
    )
    for name in store.children("runs/p1/episodes"):
        store.write_document(RunFolder(store, "p1").episode(name).attempt(1).void, void)
    audit = audit_run(store, "p1", tasks)
    assert audit.left_out == ()
    broken = {decision.criterion for _, decision in audit.disagreements if decision.said is None}
    assert broken == {"", "line-spacings"}
    assert audit.broken == 2 * len(audit.states)
    assert audit.rows[-1].agreement.decisions == 0
    assert audit.rows[0].agreement.f1 == 1.0  # the other criterion is judged all the same


def test_what_was_not_played_is_void_or_of_another_time_is_left_out_with_the_reason(
    store: Store, one_stage: Path
) -> None:
    tasks = _played(store, one_stage)
    lost, void, damaged = (RunFolder(store, "p1").episode(_episode(store, name)) for name in ("nop", "guess", "oracle"))
    for folder in (lost, void):
        store.delete(folder.attempt(1).verdict)
    store.write_document(
        void.attempt(1).void,
        VoidRecord(reason=VoidReason.MACHINE_LOST, phase=Phase.ACT, exception="E", message="gone", when=now()),
    )
    store.delete(damaged.attempt(1).stage().evidence)
    audit = audit_run(store, "p1", tasks)
    reasons = {left.why.split(":")[0].split("(")[0] for left in audit.left_out}
    assert reasons == {
        "not played",
        "VOID",
        "its evidence is damaged",
        "there is no state of the oracle to derive from",
    }
    assert {state.kind for state in audit.states} == {"near miss"}
    _edit(one_stage, lambda text: text.replace("0.0005 Å", "0.0006 Å"))
    other = audit_run(store, "p1", load_all(one_stage).tasks)
    assert other.states == ()
    assert all("another one now" in left.why for left in other.left_out[:-1])


def test_a_damaged_file_leaves_out_the_states_that_need_it(store: Store, one_stage: Path) -> None:
    tasks = _played(store, one_stage)
    reference = store.put_blob(VOLUME, "application/octet-stream")
    store.write_bytes(store.blob_path(reference.sha256), b"other bytes")
    audit = audit_run(store, "p1", tasks)
    assert {state.kind for state in audit.states} == {"nop", "guess", "near miss"}
    assert any("derived states" in left.episode_id for left in audit.left_out)
    assert all("digest" in left.why for left in audit.left_out)


def test_what_is_known_of_a_state_comes_from_the_proof(one_stage: Path) -> None:
    task = load_all(one_stage).tasks[0].task

    def known(agent: str, variant: str | None = None) -> State | None:
        spec = EpisodeSpec(
            id="e", task_id=task.id, task_digest="0" * 64, agent=agent, variant=variant, seed=0, modality=task.modality
        )
        return played_state(task, spec, {})

    near, chance = known("oracle", "wrong-line"), known("random")
    assert near is not None
    assert near.criteria == {"cell-volume": True, "line-spacings": False}
    assert not near.solved
    assert chance is not None
    assert (chance.criteria, chance.solved) == ({}, False)
    assert known("oracle", "no-such-near-miss") is None
    assert known("scripted-llm") is None


def _oracle(store: Store, loaded: LoadedTask, files: Mapping[str, bytes]) -> State:
    spec = EpisodeSpec(
        id="e", task_id=loaded.id, task_digest=loaded.digest, agent="oracle", seed=0, modality=loaded.task.modality
    )
    oracle = played_state(loaded.task, spec, {"main": _evidence(store, files, "oracle's window")})
    assert oracle is not None
    return oracle


def _derive(store: Store, loaded: LoadedTask, files: Mapping[str, bytes], **more: object) -> list[State]:
    arguments = {"inputs": {}, "gold": {}, **more}
    return list(adversaries(loaded.task, _oracle(store, loaded, files), store.get_blob, **arguments))  # type: ignore[arg-type]


def _decisions(loaded: LoadedTask, state: State, store: Store) -> tuple[Decision, ...]:
    return compare(loaded, state, store.get_blob).decisions


def test_right_answers_in_another_form_are_right_and_too_strict_a_check_refuses_them(
    store: Store, one_stage: Path
) -> None:
    loaded = load_all(one_stage).tasks[0]
    states = {
        state.name: state for state in variants(loaded.task, _oracle(store, loaded, LEFT["oracle"]), store.get_blob)
    }
    contents = {name: next(iter(state.data.values())) for name, state in states.items()}
    assert contents["spacings.csv: line ends"] == SPACINGS.rstrip().replace(b"\n", b"\r\n")
    layout = contents["volume.json: spaces and order of keys"]
    assert layout != VOLUME
    assert json.loads(layout) == json.loads(VOLUME)
    sides = [
        json.loads(contents[f"volume.json: /volume {side} by 0.9 of the tolerance"]) for side in ("above", "below")
    ]
    assert [side["volume"] for side in sides] == [pytest.approx(29.7919), pytest.approx(29.7901)]
    assert all(state.solved and not state.adversarial and all(state.criteria.values()) for state in states.values())
    assert not any(decision.disagrees for state in states.values() for decision in _decisions(loaded, state, store))
    _edit(one_stage, lambda text: text.replace("tolerance: 0.001 Å³", "tolerance: 0.0005 Å³"))
    strict = load_all(one_stage).tasks[0]
    refused = {state.kind for state in states.values() for found in _decisions(strict, state, store) if found.disagrees}
    assert refused == {"within tolerance"}


def test_files_of_other_tasks_are_tried_nearest_first_and_equal_ones_are_not(store: Store, one_stage: Path) -> None:
    loaded = load_all(one_stage).tasks[0]
    donors = [
        Donor("far", "other", "volume.json", b'{"volume": 1}'),
        Donor("near", "powder", "edge.json", b'{"volume": 2}'),
        Donor("nearest", "powder", "volume.json", b'{"volume": 3}'),
        Donor("twin", "powder", "volume.json", b'{ "volume":29.791 }'),
        Donor("table", "powder", "volume.csv", b"volume\n4\n"),
    ]
    states = _derive(store, loaded, LEFT["oracle"], donors=donors)
    names = [state.name for state in states if state.kind == "file of another task" and "volume.json:" in state.name]
    assert names == ["volume.json: volume.json of nearest", "volume.json: edge.json of near"]
    assert all(not state.solved and state.adversarial for state in states)


def test_of_the_same_domain_every_file_is_tried_and_of_others_a_few_at_most(store: Store, one_stage: Path) -> None:
    loaded = load_all(one_stage).tasks[0]
    near = [Donor(f"near-{n}", "powder", "volume.json", b'{"volume": %d}' % n) for n in range(5)]
    far = [Donor(f"far-{n}", "other", "volume.json", b'{"volume": %d}' % n) for n in range(5, 10)]

    def tried(donors: list[Donor]) -> list[str]:
        states = _derive(store, loaded, LEFT["oracle"], donors=donors)
        return [state.name.rpartition(" ")[2] for state in states if state.kind == "file of another task"]

    assert tried([*far, *near]) == [f"near-{n}" for n in range(5)]
    assert tried([*far, *near[:1]]) == ["near-0", "far-5", "far-6"]


def test_whole_end_states_of_other_tasks_are_judged_as_they_are(store: Store, one_stage: Path) -> None:
    loaded = load_all(one_stage).tasks[0]
    spec = EpisodeSpec(
        id="o", task_id=loaded.id, task_digest=loaded.digest, agent="oracle", seed=0, modality=loaded.task.modality
    )

    def left_by(task_id: str, files: Mapping[str, bytes], stage: str = "main") -> State:
        state = played_state(loaded.task, spec, {stage: _evidence(store, files)})
        assert state is not None
        return replace(state, task_id=task_id)

    others = [
        left_by(loaded.id, LEFT["oracle"]),
        left_by("alike", {"volume.json": b'{"volume": 8.0}'}),
        left_by("staged", {"volume.json": VOLUME}, stage="build"),
    ]
    states = _derive(store, loaded, LEFT["oracle"], others=others)
    (found,) = [state for state in states if state.kind == "end state of another task"]
    assert found.name == "the oracle of alike"
    assert (found.task_id, found.solved, found.adversarial, found.criteria) == (loaded.id, False, True, {})
    audited = compare(loaded, found, store.get_blob)
    assert not audited.accepted
    assert [decision.said for decision in audited.decisions] == [False, False, False]
    solved = replace(found, evidence={"main": _evidence(store, LEFT["oracle"])})
    assert compare(loaded, solved, store.get_blob).accepted, "the right files would be seen as an accepted state"


def test_two_answers_of_one_file_are_exchanged_unless_they_are_the_same(store: Store, one_stage: Path) -> None:
    second = """  - id: edge
    points: 1
    reads: {getter: json, path: volume.json, pointer: /edge}
    compares: {metric: number, want: 3.1, tolerance: 0.001 Å}
    why: The edge is the cube root of the volume.
near_misses:"""
    _edit(one_stage, lambda text: text.replace("near_misses:", second).replace("points: 3", "points: 4"))
    loaded = load_all(one_stage).tasks[0]
    states = _derive(store, loaded, {"volume.json": b'{"volume": 29.791, "edge": 3.1}'})
    exchanged = next(state for state in states if state.kind == "answer of another criterion")
    assert exchanged.criteria == {"cell-volume": False, "edge": False}
    assert [json.loads(data) for data in exchanged.data.values()] == [{"volume": 3.1, "edge": 29.791}]
    moved = {state.name: state.criteria for state in states if state.kind == "beyond tolerance"}
    assert moved["volume.json: /volume moved"] == {"cell-volume": False, "edge": True}
    assert all(not compare(loaded, state, store.get_blob).accepted for state in states)
    same = _derive(store, loaded, {"volume.json": b'{"volume": 3.1, "edge": 3.1}'})
    assert not any(state.kind == "answer of another criterion" for state in same)


def test_screen_and_files_of_nop_and_oracle_are_exchanged(store: Store, one_stage: Path) -> None:
    second = """  - id: title
    points: 1
    reads: {getter: window-title}
    compares: {metric: contains, want: [oracle]}
    why: The window of the program names the file.
near_misses:"""
    _edit(one_stage, lambda text: text.replace("near_misses:", second).replace("points: 3", "points: 4"))
    loaded = load_all(one_stage).tasks[0]
    spec = EpisodeSpec(
        id="n", task_id=loaded.id, task_digest=loaded.digest, agent="nop", seed=0, modality=loaded.task.modality
    )
    idle = played_state(loaded.task, spec, {"main": _evidence(store, {}, "empty desk")})
    states = {state.kind: state for state in _derive(store, loaded, LEFT["oracle"], idle=idle)}
    shown, hidden = states["screen without the files"], states["files without the screen"]
    assert shown.criteria == {"cell-volume": False, "line-spacings": False}
    assert hidden.criteria == {"title": False}
    said = {decision.criterion: decision.said for decision in compare(loaded, shown, store.get_blob).decisions}
    assert said == {"": False, "cell-volume": False, "line-spacings": False, "title": True}
    assert not compare(loaded, hidden, store.get_blob).accepted


def test_markdown_has_a_row_for_every_domain_kind_and_disagreement(store: Store, one_stage: Path) -> None:
    _edit(one_stage, lambda text: text.replace("tolerance: 0.001 Å³", "tolerance: 25 Å³"))
    text = markdown(audit_run(store, "p1", _played(store, one_stage)))
    assert "| powder | criterion |" in text
    assert "| empty file | 2 | 0 |" in text
    assert text.index("| oracle |") < text.index("| empty file |")
    assert "| lattice-parameter | near miss: edge-squared, trial 1 | cell-volume | not met | met |" in text
    assert re.search(
        r"\n\n\d+ states, \d+ disagreements, \d+ adversarial states accepted, 0 decisions not made\.\n\Z", text
    )
    assert markdown(audit_run(store, "p1", load_all(one_stage).tasks)) == text
    assert "| all | task | 0 | 0 | 0 | 0 | 0 | – | – | – |" in markdown(Audit("p1", (), ()))
