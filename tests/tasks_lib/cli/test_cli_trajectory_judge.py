"""`matassay trajectories judge` with judges at a real endpoint."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tasks_lib.cli import app
from tasks_lib.episodes import Player, episodes_for, make_manifest, open_run
from tasks_lib.episodes.budgets import SETTING, purses_of
from tasks_lib.evaluation.alignment import parse_trajectories
from tasks_lib.evaluation.judges import JudgeReport, make_digest
from tasks_lib.models import Canned, Fault, FaultKind, ScriptedEndpoint, ScriptedSession
from tasks_lib.records import MachineSettings
from tasks_lib.statistics import JudgeAgreement
from tasks_lib.store import Store
from tasks_lib.taskdefs import load_all

FIXTURES = Path(__file__).parents[2] / "fixtures"

KEY = "MATASSAY_TEST_JUDGE_KEY"
NAMES = ("a", "b", "c")
POINTS = {"1": (3, 2, 1), "2": (1, 1, 2), "3": (0, 1, 0), "4": (2, 2, 3)}
GONE = Fault(FaultKind.STATUS, status=401, body="{}")


def _task(key: str) -> dict[str, Any]:
    call = {"name": "almanac/high_water", "arguments": {"port": "Whitby"}, "result": "04:10"}
    return {"id": key, "question": f"When is high water, {key}?", "steps": [{"calls": [call]}], "final_reply": "At 4."}


TASKS = [_task(key) for key in POINTS]
MADE = parse_trajectories(json.dumps(TASKS).encode(), "made").trajectories


def _reply(key: str, points: float, why: str = "=1+1") -> str:
    ticket = make_digest(MADE[key], question=MADE[key].question).ticket
    numbers = {"planning": points, "process": 0, "result": 0}
    return json.dumps({"name": "judgement", "arguments": {"ticket": ticket, **numbers, "why": why}})


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as found:
        yield found


@pytest.fixture
def judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, endpoint: ScriptedEndpoint) -> Callable[..., Any]:
    """Write the settings: `judges()` gives each judge its points of every task, in order."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MATASSAY_CONFIG", str(tmp_path / "matassay.toml"))
    for console in ("out", "err"):
        monkeypatch.setattr(f"tasks_lib.cli.console.{console}._width", 200)
    for side in ("references", "gpt"):
        (tmp_path / f"{side}.json").write_text(json.dumps(TASKS), encoding="utf-8")

    def write(extra: str = "", *, gone: str = "") -> dict[str, ScriptedSession]:
        sessions, tables = {}, []
        for index, name in enumerate(NAMES):
            replies = [GONE if name == gone and key == "2" else _reply(key, POINTS[key][index]) for key in POINTS]
            sessions[name] = endpoint.open(replies)
            monkeypatch.setenv(f"{KEY}_{name.upper()}", sessions[name].token)
            tables.append(
                f'[models.{name}]\nbase_url = "{sessions[name].base_url}"\nmodel = "vendor/{name}-1"\n'
                f'api_key_env = "{KEY}_{name.upper()}"\nattempts = 1\nmax_tokens = 200\n{extra}\n'
            )
        (tmp_path / "matassay.toml").write_text("\n".join(tables), encoding="utf-8")
        return sessions

    return write


def _judge(*more: str, names: tuple[str, ...] = NAMES) -> Result:
    chosen = [word for name in names for word in ("--judge", name)]
    head = ["trajectories", "judge", "references.json", "gpt.json", *chosen, "--out", "judged", "--at-once", "1"]
    return CliRunner().invoke(app, [*head, "--metric", "task_completion", *more])


def test_a_panel_judges_and_everything_is_written_down(judges, tmp_path: Path) -> None:
    judges()
    found = _judge("--contestant", "b", "--json")
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    report = JudgeReport.from_json((tmp_path / "judged" / "report.json").read_bytes())
    assert told["report"] == report.model_dump(mode="json")
    assert [one.value for one in report.judgements] == pytest.approx([0.2, 0.1, 0.0, 0.2])
    assert report.contestant == "vendor/b-1"
    assert "judge 'b' (vendor/b-1) is the contestant itself" in found.stderr
    agreement = JudgeAgreement.from_json((tmp_path / "judged" / "agreement.json").read_bytes())
    assert agreement.metrics[0].tasks == 4
    with (tmp_path / "judged" / "judgements.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["a: why"] == "'=1+1"
    logs = sorted((tmp_path / "judged" / "judges").rglob("*.jsonl"))
    assert len(logs) == 12
    assert all(json.loads(log.read_text(encoding="utf-8"))["status"] == 200 for log in logs)


def test_the_tables_name_the_value_the_judges_and_their_agreement(judges, tmp_path: Path) -> None:
    judges()
    (tmp_path / "people.json").write_text('{"task_completion": {"1": 9, "2": 4, "3": 1, "4": 8}}', encoding="utf-8")
    output = _judge("--people", "people.json").output
    assert "0.125" in output
    assert "Krippendorff's alpha" in output
    assert "people" in output
    assert "Williams' t(1)" in output


def test_what_was_stopped_goes_on_without_asking_again(judges) -> None:
    first = judges(gone="c")
    void = _judge()
    assert void.exit_code == 1
    assert "VOID: 2, task_completion: c: model 'c'" in void.stderr
    assert "VOID" in void.stdout
    (again,) = {len(first[name].requests) for name in ("a", "b")}
    assert again == 4
    # The endpoint has a reply now where the fault was; nobody else is asked again.
    first["c"].queue.appendleft(Canned(_reply("2", POINTS["2"][2])))
    whole = _judge("--json")
    assert whole.exit_code == 0, whole.output
    assert {len(first[name].requests) for name in ("a", "b")} == {4}
    assert len(first["c"].requests) == 5


def test_a_budget_ends_what_it_cannot_pay_and_is_raised_by_the_next(judges) -> None:
    sessions = judges()
    spent = _judge("--budget-tokens", "3000")
    assert spent.exit_code == 1
    assert "judging" in spent.stderr
    asked = sum(len(session.requests) for session in sessions.values())
    assert 0 < asked < 12
    whole = _judge("--budget-tokens", "100000")
    assert whole.exit_code == 0, whole.output
    assert sum(len(session.requests) for session in sessions.values()) == 12


def test_a_run_pays_for_its_judges(judges, tmp_path: Path) -> None:
    sessions = judges()
    place = Store.open(str(tmp_path / "store"))
    chosen = load_all(FIXTURES / "episodes" / "one_stage").tasks
    manifest = make_manifest(
        "judged",
        episodes_for(chosen, [Player("nop")], trials=1, seed=0),
        run_id="played",
        seed=0,
        machine=MachineSettings(),
        task_set_digest="0" * 64,
        settings={SETTING: {"tokens": 3000}},
    )
    open_run(place, manifest)
    found = _judge("--run", "played", "--store", str(tmp_path / "store"))
    assert found.exit_code == 1, found.output
    assert "run 'played'" in found.stderr
    (purse,) = purses_of(place, manifest)
    assert 0 < purse.account().spent.tokens <= 3000
    assert 0 < sum(len(session.requests) for session in sessions.values()) < 12


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--judge", "zed"), "judge 'zed' is not in matassay.toml"),
        (("--judge", "a"), "name each judge once"),
        (("--people", "absent.json"), "absent.json"),
        (("--budget-usd", "1"), "has no `price_per_million`"),
        (("--run", "none"), "none"),
    ],
)
def test_wrong_use_is_told_before_anybody_is_asked(judges, more: tuple[str, ...], told: str) -> None:
    sessions = judges()
    found = _judge(*more)
    assert (found.exit_code, told in found.stderr) == (2, True), found.stderr
    assert not any(session.requests for session in sessions.values())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[", "are JSON"),
        ('{"taste": {}}', "object by metric"),
        ('{"task_completion": {"1": "good"}}', "a rating is a number"),
        ('{"task_completion": 3}', "object by metric"),
    ],
)
def test_ratings_that_are_none_are_refused(judges, tmp_path: Path, text: str, told: str) -> None:
    sessions = judges()
    (tmp_path / "people.json").write_text(text, encoding="utf-8")
    found = _judge("--people", "people.json")
    assert (found.exit_code, told in found.stderr) == (2, True), found.stderr
    assert not any(session.requests for session in sessions.values())


def test_a_key_that_is_not_set_is_wrong_use(judges, monkeypatch: pytest.MonkeyPatch) -> None:
    judges()
    monkeypatch.delenv(f"{KEY}_B")
    found = _judge()
    assert (found.exit_code, f"{KEY}_B" in found.stderr) == (2, True)


def test_two_judges_are_told_that_nothing_is_left_out(judges) -> None:
    judges()
    assert "of fewer than three judges no opinion is left out" in _judge(names=("a", "b")).stderr
