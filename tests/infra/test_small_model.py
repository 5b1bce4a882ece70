"""The figures of a run with a model, and the server of the small model where it is set up."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from infra.small_model.__main__ import PLACE, served
from infra.small_model.figures import figures, table
from tasks_lib.records import Decision, EpisodeResult, Modality, Observation, Outcome, RunSummary, Step, Usage
from tasks_lib.store import RunFolder, Store

THEN = datetime(2026, 11, 30, tzinfo=UTC)


def _step(index: int, seconds: float, usage: Usage, *, wasted: bool) -> Step:
    return Step(
        index=index, started=THEN, observation=Observation(), reply="hm", decision=Decision.CONTINUE, wasted=wasted,
        usage=usage, model_seconds=seconds,
    )  # fmt: skip


def _store(tmp_path: Path, *usages: Usage) -> Store:
    store = Store.open(str(tmp_path))
    row = EpisodeResult(
        id="one-llm-small-1", task_id="one", agent="llm-small", trial=1, modality=Modality.CODE, domain="pymatgen",
        outcome=Outcome.FAIL, points=2, earned=1, attempt=1,
    )  # fmt: skip
    pending = row.model_copy(update={"id": "two-llm-small-1", "task_id": "two", "outcome": None, "attempt": 0})
    summary = RunSummary(
        run_id="r1", benchmark="some", written=THEN, episodes=(row, pending), rows=(), done=1, void=0, pending=1
    )
    folder = RunFolder(store, "r1")
    store.write_document(folder.summary, summary)
    stage = folder.episode(row.id).attempt(1).stage()
    for index, usage in enumerate(usages, start=1):
        store.append_line(stage.trajectory, _step(index, 4.0, usage, wasted=index == 1).to_line())
    return store


def test_figures_are_sums_over_the_steps_of_the_attempt_that_counts(tmp_path: Path) -> None:
    usage = Usage(input_tokens=100, output_tokens=30, cached_tokens=80)
    first, second = figures(_store(tmp_path, usage, usage), "r1")
    assert (first.steps, first.wasted, first.tokens_in, first.tokens_out, first.cached) == (2, 1, 200, 60, 160)
    assert (first.earned, first.points, first.outcome, first.seconds) == (1, 2, "FAIL", 8.0)
    assert (second.steps, second.outcome, second.tokens_in) == (0, "pending", None)
    assert "| one | FAIL | 1 of 2 | 2 (1) | 200 (160) | 60 | 8 | 7.5 |" in table([first, second]).splitlines()


def test_a_count_that_one_reply_lacks_is_unknown_and_not_less(tmp_path: Path) -> None:
    whole, without = Usage(input_tokens=100, output_tokens=30), Usage(input_tokens=100)
    first, _ = figures(_store(tmp_path, whole, without), "r1")
    assert (first.tokens_in, first.tokens_out, first.cached) == (200, None, None)
    assert table([first]).splitlines()[-1].endswith("| unknown | 8 | unknown |")


@pytest.mark.skipif(
    not (PLACE / "requirements.txt").is_file(), reason="the small model is not set up (make small-model)"
)
def test_the_small_model_answers_who_has_its_key_and_ends_with_its_starter() -> None:
    ask = {"messages": [{"role": "user", "content": "Say yes."}], "max_tokens": 8}
    with served(None, 1, "a-key-of-the-test") as endpoint:
        url = f"{endpoint['base_url']}/chat/completions"
        assert url.startswith("http://127.0.0.1:")
        assert httpx.post(url, json=ask, headers={"Authorization": "Bearer wrong"}).status_code == 401
        reply = httpx.post(url, json=ask, headers={"Authorization": "Bearer a-key-of-the-test"}, timeout=60).json()
        assert reply["choices"][0]["message"]["content"].strip()
        assert 0 < reply["usage"]["completion_tokens"] <= 8
    with pytest.raises(httpx.ConnectError):
        httpx.post(url, json=ask)
