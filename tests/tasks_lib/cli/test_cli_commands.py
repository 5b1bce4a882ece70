"""The commands as a user types them: help with an example, exit codes, JSON for machines."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from tasks_lib.cli import app
from tasks_lib.episodes import Sample, draw
from tasks_lib.records import RunManifest
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import load_all

FIXTURES = Path(__file__).parents[2] / "fixtures"
GOOD = FIXTURES / "episodes" / "one_stage"


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield before + name, command


COMMANDS = dict(_commands(typer.main.get_command(app)))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MATASSAY_CONFIG", raising=False)


def _call(*words: str):
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = _call(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"Example: matassay {command}" in " ".join(result.output.replace("│", " ").split())


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_every_word_that_was_written(command: str) -> None:
    # Rendered as markup, `[models.NAME]` was taken for a style and left out, and paragraphs kept the source's lines.
    shown = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": "600"}).output.replace("│", " ")
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    written = [" ".join(part.replace("`", "").split()) for part in (COMMANDS[command].help or "").split("\n\n")]
    assert [part for part in written if part not in lines] == []
    assert [part for part in written if part.count("Example: ") > 1] == [], "two examples would stand on one line"
    options = [(getattr(option, "help", None) or "").replace("`", "") for option in COMMANDS[command].params]
    assert [text for text in options if text not in " ".join(lines)] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "no-such-benchmark"), "no benchmark"),
        (("run", "--task", "no-such-task"), "no-such-task"),
        (("run", "--domain", "no-such-domain"), "no-such-domain"),
        (("run", "--agent", "no-such-agent"), "no agent"),
        (("run", "--agent", "llm"), "needs a model"),
        (("run", "--agent", "replay"), "--replay RUN"),
        (("run", "--model", "gpt"), "models.gpt"),
        (("run", "--machine", "cray"), "cray"),
        (("run", "--executor", "dask"), "no executor 'dask'; there are inline, deployments"),
        (("retry", "no-such-run"), "no run"),
        (("report", "no-such-run"), "no run"),
        (("rescore", "no-such-run"), "no run"),
        (("report", "../../etc"), "no name of a folder"),
        (("prove", "--task", "no-such-task"), "no-such-task"),
        (("lint", "no-such-folder"), "nothing to check"),
        (("run", "--trials", "0"), "--trials"),
        (("tasks", "list", "--taskdefs", "no-such-folder"), "no task definitions"),
        (("run", "--frobnicate"), "frobnicate"),
    ],
)
def test_wrong_use_ends_with_2_and_says_what_to_do(words: tuple[str, ...], said: str) -> None:
    arguments = words if "--taskdefs" in words or words[0] in {"lint"} else (*words, "--taskdefs", str(GOOD))
    result = _call(*arguments)
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.output.split())
    assert "Traceback" not in result.output


@pytest.mark.parametrize("store", ["a-file", "a-file/below", "sealed/below"])
@pytest.mark.parametrize("command", [("run", "--agent", "nop"), ("report", "r1"), ("retry", "r1"), ("doctor",)])
def test_a_store_that_is_no_folder_is_told_without_a_trace(
    command: tuple[str, ...], store: str, tmp_path: Path
) -> None:
    (tmp_path / "a-file").write_text("x", encoding="utf-8")
    (tmp_path / "sealed").symlink_to("/proc/1")  # nobody can make a folder there
    result = _call(*command, "--store", store, "--taskdefs", str(GOOD))
    assert result.exit_code in ({2} if command[0] != "doctor" else {0, 2}), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output


@pytest.mark.parametrize("name", ["manifest.json", "summary.json"])
@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe{}", b"[]", b"null", b'{"schema_version": 1}', b"[" * 50_000])
def test_a_damaged_run_is_told_without_a_trace(name: str, data: bytes, tmp_path: Path) -> None:
    place = Store.open(str(tmp_path / "store"))
    place.write_bytes(f"runs/r1/{name}", data)
    for command in (("report", "r1"), ("retry", "r1"), ("rescore", "r1"), ("run", "--resume", "r1")):
        words = (*command, "--agent", "no-such-agent") if command[0] == "run" and name == "summary.json" else command
        result = _call(*words, "--store", str(tmp_path / "store"), "--taskdefs", str(GOOD))
        assert result.exit_code == 2, result.output
        assert "matassay:" in result.output
        assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("words", [("tasks", "list"), ("run", "--agent", "nop"), ("report", "r1"), ("doctor",)])
def test_ctrl_c_ends_with_130_wherever_it_comes(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tasks_lib.cli.options.find_root", interrupt)
    result = _call(*words)
    assert result.exit_code == 130, result.output
    assert "interrupted" in result.output


def test_settings_that_are_a_folder_are_told(tmp_path: Path) -> None:
    (tmp_path / "matassay.toml").mkdir()
    result = _call("doctor")
    assert result.exit_code == 2
    assert "is no file" in " ".join(result.output.split())


def test_tasks_are_listed_for_people_and_machines() -> None:
    table = _call("tasks", "list", "--taskdefs", str(GOOD))
    assert table.exit_code == 0
    assert "1 tasks" in table.output
    document = json.loads(_call("tasks", "list", "--json", "--taskdefs", str(GOOD)).output)
    assert [task["id"] for task in document["tasks"]] == [loaded.id for loaded in load_all(GOOD).tasks]
    shown = json.loads(_call("tasks", "show", "lattice-parameter", "--json", "--taskdefs", str(GOOD)).output)
    assert shown[0]["criteria"]


def test_a_task_that_cannot_be_read_is_told_by_its_findings(tmp_path: Path) -> None:
    folder = tmp_path / "suite" / "domain" / "broken"
    folder.mkdir(parents=True)
    result = _call("tasks", "list", "--taskdefs", str(tmp_path))
    assert result.exit_code == 2
    said = "".join(result.output.split())
    assert "broken/task.yaml:1:error[unreadable]" in said
    assert "Problem(" not in said


def test_lint_ends_with_0_on_good_tasks_and_2_on_findings(tmp_path: Path) -> None:
    assert _call("lint", str(GOOD)).exit_code == 0
    root = Path(shutil.copytree(GOOD, tmp_path / "tasks"))
    file = next(root.glob("*/*/*/task.yaml"))
    file.write_text(file.read_text(encoding="utf-8").replace("points: 3", "points: 9"), encoding="utf-8")
    result = _call("lint", str(root))
    assert result.exit_code == 2
    assert "task.yaml:" in result.output
    assert json.loads(_call("lint", str(root), "--json").output)[0]["rule"]


def test_a_sample_of_proofs_touches_every_domain_it_can() -> None:
    whole = load_all()
    domains = {loaded.task.domain for loaded in whole.tasks}
    sample, one = Sample(more=len(domains)), Sample(more=1)
    drawn = draw(whole, sample, seed=3)
    assert {loaded.task.domain for loaded in drawn} == domains
    assert drawn == draw(whole, sample, seed=3)
    assert draw(whole, None, seed=0) == whole.tasks
    assert any(draw(whole, one, seed=0) != draw(whole, one, seed=seed) for seed in range(1, 10))


def test_the_doctor_says_what_is_there_in_json() -> None:
    result = _call("doctor", "--json", "--taskdefs", str(GOOD), "--store", "store")
    checks = {check["name"]: check for check in json.loads(result.output)["checks"]}
    assert checks["python"]["good"]
    assert checks["tasks"]["found"].startswith("1 tasks, 0")
    assert result.exit_code == (2 if any(c["needed"] and not c["good"] for c in checks.values()) else 0)


def test_a_broken_task_is_the_doctors_concern(tmp_path: Path) -> None:
    (tmp_path / "tasks" / "s" / "d" / "broken").mkdir(parents=True)
    (tmp_path / "tasks" / "s" / "d" / "broken" / "task.yaml").write_text("task: [", encoding="utf-8")
    result = _call("doctor", "--json", "--taskdefs", str(tmp_path / "tasks"), "--store", "store")
    assert result.exit_code == 2


def _plan(monkeypatch: pytest.MonkeyPatch, *words: str) -> RunManifest:
    """Plan the run ``mine`` as a person types it, and play nothing."""
    monkeypatch.setattr(sys.modules["tasks_lib.cli.run"], "_play", lambda *_: None)
    planned = _call("run", "--resume", "mine", "--taskdefs", str(GOOD), "--store", "store", *words)
    assert planned.exit_code == 0, planned.output
    store = Store.open("store")
    return store.read_document(RunFolder(store, "mine").manifest, RunManifest)


def test_the_manifest_records_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--agent", "oracle", "--agent", "nop", "--trials", "2", "--seed", "11", "--unsafe-local")
    kept = _plan(monkeypatch, *words)
    assert (kept.seed, kept.machine.isolated, len(kept.episodes)) == (11, False, 4)
    assert kept.settings["retries"] == 1
    assert kept.versions["python"]


@pytest.mark.parametrize(
    ("given", "in_settings", "recorded"),
    [((), "true", True), ((), "false", False), (("--hints",), "false", True), (("--no-hints",), "true", False)],
)
def test_the_command_line_wins_over_the_settings_about_hints(
    monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], in_settings: str, recorded: bool
) -> None:
    Path("matassay.toml").write_text(f"[run]\nhints = {in_settings}\n", encoding="utf-8")
    assert _plan(monkeypatch, *given).settings["hints"] is recorded


@pytest.mark.parametrize(("planned", "given"), [("--hints", "--no-hints"), ("--no-hints", "--hints")])
def test_a_run_keeps_the_hints_that_it_was_planned_with(
    monkeypatch: pytest.MonkeyPatch, planned: str, given: str
) -> None:
    _plan(monkeypatch, planned)
    for selection in ((), ("--agent", "oracle")):
        result = _call("run", "--resume", "mine", given, "--store", "store", "--taskdefs", str(GOOD), *selection)
        assert result.exit_code == 2
        assert "was planned with" in " ".join(result.output.split())


def _run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    where = {"cwd": Path(__file__).parents[3], "stderr": subprocess.PIPE, "text": True, "check": False, "timeout": 120}
    return subprocess.run([sys.executable, "-m", "tasks_lib.cli", *words], **(where | options))  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        (("tasks", "list"), "1"),
        (("tasks", "list"), "40"),
        (("tasks", "show", "lattice-parameter"), "40"),
        (("doctor",), "40"),
    ],
)
def test_any_console_gets_its_text(words: tuple[str, ...], columns: str, tmp_path: Path) -> None:
    """ASCII alone, no colours, no home, and as narrow as it may be."""
    tasks = Path(shutil.copytree(GOOD, tmp_path / "tasks"))
    file = next(tasks.glob("*/*/lattice-parameter/task.yaml"))
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r"(?m)^title: .*$", "title: Ångström – θ 晶", text), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "LANG", "PYTHONUTF8")}
    environment |= {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "NO_COLOR": "1"}
    done = _run(*words, "--taskdefs", str(tasks), env=environment | {"COLUMNS": columns}, stdout=subprocess.PIPE)
    assert done.returncode in (0, 2), done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("words", [("tasks", "list"), ("tasks", "list", "--json")])
def test_nobody_reading_and_no_room_end_without_a_trace(words: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        gone = _run(*words, "--taskdefs", str(GOOD), stdout=writer)
    finally:
        os.close(writer)
    assert gone.returncode in (0, 1)
    assert "Traceback" not in gone.stderr
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = _run(*words, "--taskdefs", str(GOOD), stdout=full)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.returncode == 2
    assert "No space left" in done.stderr
