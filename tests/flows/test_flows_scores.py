"""The scoring of trajectories as a flow, against a real Prefect server: whole, cut and gone on with, refused."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from flows import score_trajectories as module
from tasks_lib.evaluation.alignment import parse_trajectories, score_files
from tasks_lib.evaluation.alignment.scorings import ScoringFolder
from tasks_lib.store import Store


class Digests:
    """Gives every text a vector of its own, and counts what it was asked for."""

    name = "digests"
    digest = "2" * 64

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.most = 10_000

    def encode(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        if len(self.asked) > self.most:
            raise OSError(5, "the weights cannot be read")
        return np.array([list(hashlib.sha256(text.encode()).digest()[:8]) for text in texts], dtype=float)


@pytest.fixture
def encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Digests:
    monkeypatch.setenv("MATASSAY_STATE", str(tmp_path / "state"))
    made = Digests()
    monkeypatch.setattr(module, "find_encoder", lambda name: made)
    return made


def _tasks(marks: str) -> list[dict[str, Any]]:
    return [
        {
            "id": f"000{family}0000",
            "type": "sum",
            "steps": [{"calls": [{"name": "math/sum", "arguments": {"text": f"{mark} {family}"}}]} for mark in marks],
        }
        for family in range(3)
    ]


@pytest.fixture
def order(tmp_path: Path) -> dict[str, Any]:
    for name, marks in {"references": "abc", "good": "abc", "other|model": "abx", "poor": "x"}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(_tasks(marks)), encoding="utf-8")
    paths = [str(tmp_path / f"{name}.json") for name in ("good", "other|model", "poor")]
    return {"references": str(tmp_path / "references.json"), "predictions": paths}


def _score(store: Store, name: str, order: dict[str, Any] | None) -> Any:
    return asyncio.run(module.score_trajectories(store.url, name, order, return_state=True))


def _post(server: str, path: str, **body: Any) -> Any:
    answer = httpx.post(f"{server}{path}", json=body, timeout=60, trust_env=False)
    answer.raise_for_status()
    return answer.json()


def test_each_file_is_a_task_and_the_page_shows_all(
    store: Store, inline_server: str, encoder: Digests, order: dict[str, Any], until: Callable[..., Any]
) -> None:
    state = _score(store, "whole", {**order, "mode": "compat"})
    assert state.name == "Completed", state.message
    assert state.message == "3 files against references, up to 3 tasks, mode compat"
    folder = ScoringFolder(store, "whole")
    plan = folder.plan()
    references = parse_trajectories(json.dumps(_tasks("abc")).encode(), "references")
    for file, marks in zip(plan.predictions, ("abc", "abx", "x"), strict=True):
        predictions = parse_trajectories(json.dumps(_tasks(marks)).encode(), file.name)
        (wanted,) = score_files(references, [predictions], Digests())
        assert folder.read_report(file, "compat") == wanted

    (run,) = _post(
        inline_server,
        "/flow_runs/filter",
        flows={"name": {"any_": ["score-trajectories"]}},
        flow_runs={"name": {"any_": ["whole"]}},
    )

    def tasks() -> list[str]:
        found = _post(inline_server, "/task_runs/filter", task_runs={"flow_run_id": {"any_": [run["id"]]}})
        return sorted(one["name"] for one in found if one["state_name"] == "Completed")

    until(lambda: tasks() == ["good", "other|model", "poor"], 90, "a task for each file")
    found = _post(inline_server, "/artifacts/latest/filter", artifacts={"key": {"like_": "scoring-whole"}})
    shown = {page["key"]: page for page in found}
    assert set(shown) == {f"scoring-whole{end}" for end in ("", "-table", "-scores", "-families")}
    rows = json.loads(shown["scoring-whole-table"]["data"])
    assert [row["file"] for row in rows] == ["good", "other|model", "poor"]
    assert rows[0]["average"] == rows[0]["recall"] == 1
    page = shown["scoring-whole"]["data"]
    assert "other&#124;model" in page
    for kind in ("scores", "families"):
        assert f"(/files/{folder.picture(kind)})" in page
        assert store.read_bytes(folder.picture(kind)).startswith(b"\x89PNG")


def test_strict_mode_has_its_baselines_below(
    store: Store, inline_server: str, encoder: Digests, order: dict[str, Any]
) -> None:
    state = _score(store, "strict", order)
    assert state.name == "Completed", state.message
    (table,) = _post(inline_server, "/artifacts/latest/filter", artifacts={"key": {"any_": ["scoring-strict-table"]}})
    rows = {row["file"]: row for row in json.loads(table["data"])}
    assert list(rows)[:3] == ["good", "other|model", "poor"]
    assert rows["good"]["score"] == rows["(copy of the references)"]["score"] == 1
    assert rows["(nothing)"]["score"] == 0
    assert rows["poor"]["score"] < rows["other|model"]["score"] < 1


def test_what_was_scored_before_a_cut_is_not_scored_again(
    store: Store, inline_server: str, encoder: Digests, order: dict[str, Any]
) -> None:
    order = {**order, "mode": "compat"}
    encoder.most = 9  # the texts of the first file; the second one has more
    assert _score(store, "cut", order).name == "Failed"
    folder = ScoringFolder(store, "cut")
    files = folder.plan().predictions
    assert [folder.read_report(file, "compat") is not None for file in files] == [True, False, False]
    # The files themselves are not needed any more.
    for path in (order["references"], *order["predictions"]):
        Path(path).unlink()
    encoder.most, encoder.asked = 10_000, []
    state = _score(store, "cut", None)
    assert state.name == "Completed", state.message
    # What the first file needed is in the cache.
    assert sorted(encoder.asked) == [f'{{"text":"x {family}"}}' for family in range(3)]
    whole = store.read_bytes(folder.report(files[0]))
    assert _score(store, "cut", None).message == state.message
    assert store.read_bytes(folder.report(files[0])) == whole


def test_what_cannot_be_scored_fails_with_its_reason(
    store: Store, inline_server: str, encoder: Digests, order: dict[str, Any]
) -> None:
    broken = Path(order["predictions"][1])
    broken.write_text("[", encoding="utf-8")
    state = _score(store, "broken", order)
    assert state.name == "Failed"
    assert "other|model: a file of trajectories is JSON" in state.message
    broken.write_text("[]", encoding="utf-8")
    changed = _score(store, "broken", order)
    assert "was begun with another order or other files" in changed.message
    assert "no scoring 'never'; it has: broken" in _score(store, "never", None).message
    twice = _score(store, "twice", {**order, "predictions": [order["references"]] * 2})
    assert "references comes twice: rename one" in twice.message
    assert "No such file" in _score(store, "gone", {**order, "references": "gone.json"}).message
    assert "is no name of a folder" in _score(store, "../up", order).message
