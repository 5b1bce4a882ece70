"""Documents that contradict themselves are refused, with rule and values in the message."""

import pytest

from tasks_lib.records import (
    AgentRow,
    BlobRef,
    CriterionRecord,
    EpisodeSpec,
    Evidence,
    Modality,
    Outcome,
    RunManifest,
    Task,
    Verdict,
    now,
)
from tasks_lib.records.task import Stage

DIGEST = "0" * 64


def criterion(name: str, points: int, passed: bool) -> CriterionRecord:
    return CriterionRecord(id=name, points=points, passed=passed, why="because")


def verdict(outcome: Outcome, points: int, earned: int, *criteria: CriterionRecord) -> Verdict:
    return Verdict(task_id="t", task_digest=DIGEST, outcome=outcome, points=points, earned=earned, criteria=criteria)


def test_a_verdict_adds_up():
    made = verdict(Outcome.FAIL, 3, 1, criterion("a", 1, True), criterion("b", 2, False))
    assert made.score == pytest.approx(1 / 3)
    assert verdict(Outcome.PASS, 1, 1, criterion("a", 1, True)).score == 1.0


@pytest.mark.parametrize(
    ("outcome", "points", "earned", "passed", "said"),
    [
        (Outcome.PASS, 4, 4, (True, True), "sum to 3 of 3, the verdict says 4 of 4"),
        (Outcome.FAIL, 3, 2, (True, False), "sum to 1 of 3"),
        (Outcome.PASS, 3, 1, (True, False), "PASS with 1 of 3 points"),
        (Outcome.FAIL, 3, 3, (True, True), "FAIL with 3 of 3 points"),
        (Outcome.VOID, 3, 3, (True, True), "outcome"),
    ],
)
def test_a_verdict_that_does_not_add_up_is_refused(outcome, points, earned, passed, said):
    criteria = [criterion("a", 1, passed[0]), criterion("b", 2, passed[1])]
    with pytest.raises(ValueError, match=said):
        verdict(outcome, points, earned, *criteria)


def test_a_verdict_without_criteria_is_refused():
    with pytest.raises(ValueError, match="points"):
        verdict(Outcome.PASS, 0, 0)


def stage(name: str, modality: Modality) -> Stage:
    return Stage(
        id=name, modality=modality, instruction="Do what is to be done.", deliverables=({"path": "a", "what": "b"},)
    )


def task(modality: Modality, *stages: Stage) -> Task:
    criteria = [
        {"id": "a", "points": 2, "reads": {"getter": "g"}, "compares": {"metric": "m"}, "why": "It is the result."},
        {"id": "b", "points": 3, "reads": {"getter": "g"}, "compares": {"metric": "m"}, "why": "It is the result."},
    ]
    return Task(
        id="t", title="T", suite="s", domain="d", modality=modality, difficulty="easy", stages=stages, criteria=criteria
    )


def test_stages_that_fit_the_modality():
    plain = task(Modality.CODE, stage("main", Modality.CODE))
    assert plain.points == 5
    assert not plain.needs_desktop
    mixed = task(Modality.MIXED, stage("a", Modality.CODE), stage("b", Modality.FIGURE))
    assert mixed.needs_desktop
    assert mixed.stage("b").modality is Modality.FIGURE
    with pytest.raises(KeyError, match="none"):
        mixed.stage("none")


@pytest.mark.parametrize(
    ("modality", "stages", "said"),
    [
        (Modality.MIXED, [Modality.CODE], "a mixed task has two stages or more, t has 1"),
        (Modality.CODE, [Modality.CODE, Modality.CODE], r"one stage of that modality, t has \['code', 'code'\]"),
        (Modality.GUI, [Modality.CODE], r"a gui task has one stage of that modality, t has \['code'\]"),
        (Modality.GUI, [], "stages"),
    ],
)
def test_stages_that_do_not_fit_are_refused(modality, stages, said):
    with pytest.raises(ValueError, match=said):
        task(modality, *(stage(f"s{number}", kind) for number, kind in enumerate(stages)))


def spec(name: str) -> EpisodeSpec:
    return EpisodeSpec(id=name, task_id="t", task_digest=DIGEST, agent="nop", seed=0, modality="code")


def test_a_run_names_every_episode_once():
    def manifest(*names: str) -> RunManifest:
        return RunManifest(
            run_id="r", benchmark="b", created=now(), seed=1, episodes=[spec(name) for name in names],
            task_set_digest=DIGEST, machine={},
        )  # fmt: skip

    assert len(manifest("a", "b").episodes) == 2
    with pytest.raises(ValueError, match="episode id 'a' stands twice, at positions 0 and 2"):
        manifest("a", "b", "a")
    with pytest.raises(ValueError, match="at least 1 item"):
        manifest()


def test_evidence_finds_a_file_by_its_path():
    ref = BlobRef(sha256=DIGEST, size=3)
    evidence = Evidence(ending="done", steps=1, files=({"path": "out/a.csv", "blob": ref},), collected=now())
    assert evidence.file("out/a.csv") == ref
    assert evidence.file("a.csv") is None


def test_a_rate_that_is_not_a_number_is_missing_and_not_zero():
    row = AgentRow(
        agent="a", group="all", episodes=0, passed=0, void=0, score=float("nan"), strict_rate=float("inf"),
        conditional_rate=None, steps=None, steps_star=None, false_termination_rate=None,
    )  # fmt: skip
    assert row.score is None
    assert row.strict_rate is None


@pytest.mark.parametrize("bound", [(float("nan"), 1.0), (0.0, float("inf"))])
def test_an_interval_has_two_numbers(bound):
    with pytest.raises(ValueError, match="finite"):
        AgentRow(
            agent="a", group="all", episodes=1, passed=1, void=0, score=1.0, strict_rate=1.0, strict_interval=bound,
            conditional_rate=None, steps=None, steps_star=None, false_termination_rate=None,
        )  # fmt: skip
