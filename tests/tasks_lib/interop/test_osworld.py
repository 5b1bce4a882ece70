"""Folders as OSWorld's: out and back, the same bytes twice, and hostile ones."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks_lib.interop import export_osworld, import_into, read_osworld, trajectories
from tasks_lib.interop._steps import rest_of
from tasks_lib.models import Redactor
from tasks_lib.records import Step
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import TaskSet

from .conftest import DONE, REPLY, MakeRun, png, step


def _steps(store: Store, run: str, stage: str = "main") -> list[Step]:
    folder = RunFolder(store, run)
    (episode,) = folder.episodes()
    return store.read_lines(folder.episode(episode).attempt(1).stage(stage).trajectory, Step)


def _tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def _export(store: Store, tasks: TaskSet, out: Path) -> Path:
    (folder,) = export_osworld(store, trajectories(store, "r1", tasks, Redactor()), out)
    return folder


def test_out_and_back_every_step_is_the_same(store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path) -> None:
    make_run({"oracle": {"main": [step(1, REPLY, shown=(32, 24)), step(2, DONE)]}})
    folder = _export(store, tasks, tmp_path / "out")
    assert folder.relative_to(tmp_path / "out").as_posix() == (
        "python/screenshot/oracle/trial-1/powder/lattice-parameter"
    )
    made = import_into(store, read_osworld(tmp_path / "out"), tasks, source="out", form="osworld", run_id="back")
    assert made.players == ("imported-oracle",)
    assert _steps(store, "back") == _steps(store, "r1")


def test_a_folder_has_the_files_and_fields_of_its_kind(
    store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path
) -> None:
    make_run({"oracle": {"main": [step(1, REPLY), step(2, DONE)]}}, passed=(False, True))
    folder = _export(store, tasks, tmp_path / "out")
    rows = [json.loads(line) for line in (folder / "traj.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["step_num"] for row in rows] == [1, 2]
    assert [row["action"] for row in rows] == ["print('Å × µ')", "DONE"]
    assert [(row["reward"], row["done"]) for row in rows] == [(0.0, False), (2 / 3, True)]
    # The picture of a step is the state after it; what was seen before the first is the reset's.
    assert (folder / rows[0]["screenshot_file"]).read_bytes() == png(shade=2)
    assert (folder / rows[1]["screenshot_file"]).read_bytes() == png(shade=99)
    (reset,) = folder.glob("screenshot-step_reset_*.png")
    assert reset.read_bytes() == png(shade=1)
    assert float((folder / "result.txt").read_text(encoding="utf-8")) == 2 / 3
    detail = json.loads((folder / "eval_detail.json").read_text(encoding="utf-8"))
    assert (detail["total_score"], detail["max_score"], detail["success_rate"]) == (2, 3, 0.0)


def test_no_gold_leaves_and_the_same_run_gives_the_same_bytes(
    store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path
) -> None:
    make_run({"oracle": {"main": [step(1, REPLY)]}})
    _export(store, tasks, tmp_path / "a")
    _export(store, tasks, tmp_path / "b")
    first = _tree(tmp_path / "a")
    assert first == _tree(tmp_path / "b")
    assert not any(b"GOLD" in data for data in first.values())


def test_nothing_that_is_there_is_replaced(store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path) -> None:
    make_run({"oracle": {"main": [step(1, REPLY)]}})
    _export(store, tasks, tmp_path / "out")
    with pytest.raises(ConfigurationError, match=r"is there already: give another --out"):
        _export(store, tasks, tmp_path / "out")


def test_stages_stay_apart(store: Store, staged: TaskSet, make_run: MakeRun, tmp_path: Path) -> None:
    first, second = (stage.id for stage in staged.tasks[0].task.stages)
    make_run({"oracle": {first: [step(1, REPLY)], second: [step(1, REPLY), step(2, DONE)]}}, known=staged)
    export_osworld(store, trajectories(store, "r1", staged, Redactor()), tmp_path / "out")
    import_into(store, read_osworld(tmp_path / "out"), staged, source="out", form="osworld", run_id="back")
    for stage in (first, second):
        assert _steps(store, "back", stage) == _steps(store, "r1", stage)


@given(reply=st.text(max_size=300), shown=st.none() | st.tuples(st.integers(1, 9999), st.integers(1, 9999)))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_reply_comes_back_as_it_was(
    store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path, reply: str, shown: tuple[int, int] | None
) -> None:
    run = f"r{len(list(tmp_path.iterdir()))}-{os.urandom(4).hex()}"
    make_run({"oracle": {"main": [step(1, reply, shown=shown)]}}, run_id=run, pictures=False)
    out = tmp_path / run
    export_osworld(store, trajectories(store, run, tasks, Redactor()), out)
    import_into(store, read_osworld(out), tasks, source="out", form="osworld", run_id=f"{run}-back")
    assert _steps(store, f"{run}-back") == _steps(store, run)


def test_a_foreign_folder_of_bare_actions_is_read(store: Store, tasks: TaskSet, tmp_path: Path) -> None:
    folder = tmp_path / "pyautogui" / "screenshot" / "gpt-x" / "trial-3" / "powder" / "lattice-parameter"
    folder.mkdir(parents=True)
    (folder / "step_reset_20261130@030000.png").write_bytes(png())
    rows: list[dict[str, Any]] = [
        {"step_num": 1, "action_timestamp": "20261130@030001", "action": "import pyautogui\npyautogui.click(10, 20)",
         "reward": 0, "done": False, "info": {}, "screenshot_file": None},
        {"step_num": 2, "action_timestamp": "x", "action": "DONE", "reward": 1, "done": True, "info": {}},
    ]  # fmt: skip
    (folder / "traj.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "result.txt").write_text("1.0\n", encoding="utf-8")
    (found,) = read_osworld(tmp_path)
    assert (found.task_id, found.player, found.trial) == ("lattice-parameter", "gpt-x", 3)
    assert found.claim == {"result": 1.0, "of": None}
    import_into(store, [found], tasks, source="out", form="osworld", run_id="back")
    first, second = _steps(store, "back")
    assert first.reply == "```python\ncomputer.mouse.move_abs(10, 20)\ncomputer.mouse.single_click()\n```"
    assert first.shown == (64, 48)
    assert second.decision == "DONE"


def _row(**changes: Any) -> dict[str, Any]:
    rest = rest_of(step(1, REPLY))
    row = {"step_num": 1, "action": "DONE", "response": REPLY, "screenshot_file": None,
           "matassay": {"stage": "main", "seen": None, "step": rest}}  # fmt: skip
    return {**row, **changes}


HOSTILE: list[tuple[str, Callable[[Path], bytes], str]] = [
    ("leaves", lambda _: json.dumps(_row(matassay={"stage": "main", "seen": "../secret.png"})).encode(), "file's name"),
    ("absolute", lambda _: json.dumps(_row(matassay={"stage": "main", "seen": "/etc/passwd"})).encode(), "file's name"),
    ("link", lambda _: json.dumps(_row(matassay={"stage": "main", "seen": "link.png"})).encode(), "not a link"),
    ("pipe", lambda _: json.dumps(_row(matassay={"stage": "main", "seen": "pipe.png"})).encode(), "no regular file"),
    ("no picture", lambda _: json.dumps(_row(matassay={"stage": "main", "seen": "text.png"})).encode(), "no PNG"),
    ("a list", lambda _: b"[1]", "object is wanted"),
    ("no JSON", lambda _: b"{", "no strict JSON"),
    ("nested", lambda _: b"[" * 100_000, "no strict JSON"),
    ("NaN", lambda _: b'{"action": NaN}', "no strict JSON"),
    ("no UTF-8", lambda _: b'{"action": "\xff"}', "no strict JSON"),
    ("number", lambda _: json.dumps(_row(response=7)).encode(), "response is a text"),
    ("nothing", lambda _: b"{}", "action is a text"),
    ("huge line", lambda _: json.dumps(_row(response="x" * (9 * 2**20))).encode(), "a line has at most"),
    ("unknown field", lambda _: json.dumps(_row(matassay={"stage": "main", "step": {"evil": 1}})).encode(), "mend"),
    ("step is a text", lambda _: json.dumps(_row(matassay={"stage": "main", "step": "x"})).encode(), "is an object"),
    ("stage", lambda _: json.dumps(_row(matassay={"stage": "../x", "step": None})).encode(), "has no stage"),
    ("long reply", lambda _: json.dumps(_row(response="x" * 300_000)).encode(), "a reply has at most"),
]


@pytest.mark.parametrize(("line", "match"), [case[1:] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
def test_a_hostile_folder_is_refused_with_its_place_and_nothing_is_written(
    store: Store, tasks: TaskSet, tmp_path: Path, line: Callable[[Path], bytes], match: str
) -> None:
    folder = tmp_path / "in" / "lattice-parameter"
    folder.mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(png())
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "text.png").write_text("no picture", encoding="utf-8")
    os.mkfifo(folder / "pipe.png")
    (folder / "traj.jsonl").write_bytes(line(folder) + b"\n")
    with pytest.raises(ConfigurationError, match=match) as caught:
        import_into(store, read_osworld(tmp_path / "in"), tasks, source="in", form="osworld", run_id="back")
    assert str(folder) in str(caught.value)
    assert len(str(caught.value)) < 2_000
    assert store.list("runs") == []


def test_a_trajectory_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.jsonl").write_text(json.dumps(_row()) + "\n", encoding="utf-8")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "traj.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    with pytest.raises(ConfigurationError, match="not a link"):
        list(read_osworld(folder))
