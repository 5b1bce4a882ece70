"""What the UI is given: keys that Prefect takes, text that stays text, sizes that a browser bears."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.artifacts import cell, clipped, key, run_rows, run_text
from tasks_lib.records import AgentRow, EpisodeResult, Modality, Outcome, RunSummary, VoidReason, now
from tasks_lib.store import Store


def summary(results: list[EpisodeResult], rows: tuple[AgentRow, ...] = ()) -> RunSummary:
    return RunSummary(
        run_id="r1",
        benchmark="smoke",
        written=now(),
        episodes=tuple(results),
        rows=rows,
        done=sum(result.outcome in {Outcome.PASS, Outcome.FAIL} for result in results),
        void=sum(result.outcome is Outcome.VOID for result in results),
        pending=sum(result.outcome is None for result in results),
    )


def result(number: int, outcome: Outcome | None, message: str = "") -> EpisodeResult:
    return EpisodeResult(
        id=f"task-{number:04d}--oracle--t1",
        task_id=f"task-{number:04d}",
        agent="oracle",
        trial=1,
        modality=Modality.CODE,
        domain="xps",
        outcome=outcome,
        void_reason=VoidReason.ENDPOINT if outcome is Outcome.VOID else None,
        points=4,
        earned=4 if outcome is Outcome.PASS else 0,
        message=message,
    )


@given(st.lists(st.text(), min_size=1))
def test_keys_have_letters_digits_and_dashes_only(parts: list[str]) -> None:
    assert re.fullmatch(r"[a-z0-9-]*", key("run", *parts))


def test_keys_tell_runs_apart() -> None:
    assert key("run", "20261130-1.smoke", "table") == "run-20261130-1-smoke-table"


@given(st.text())
def test_a_cell_cannot_become_markup(text: str) -> None:
    shown = cell(text)
    assert not re.search(r"[\\`*_\[\]<>|!\n]", shown)


def test_a_cell_shows_what_was_written() -> None:
    assert cell("<img src=x>") == "&#60;img src=x&#62;"
    assert cell("a\n| b") == "a &#124; b"


@given(st.text(max_size=3000), st.integers(100, 500))
def test_clipped_text_fits_and_says_so(text: str, most: int) -> None:
    shown = clipped(text, most)
    assert len(shown.encode("utf-8")) <= most
    assert shown == text or "is in the store" in shown


def test_void_and_unfinished_episodes_come_first() -> None:
    rows = run_rows(
        summary([result(1, Outcome.PASS), result(2, None), result(3, Outcome.FAIL), result(4, Outcome.VOID, "down")])
    )
    assert [row["outcome"] for row in rows] == ["VOID", "not done", "FAIL", "PASS"]
    assert rows[0]["reason"] == "endpoint"


def test_a_long_run_stays_below_what_the_ui_can_take(store: Store) -> None:
    big = summary([result(n, Outcome.VOID, "µ" * 5000) for n in range(2000)])
    assert len(run_rows(big)) == 900
    assert len(json.dumps(run_rows(big)).encode()) < 2_000_000
    assert len(run_text(store, big).encode("utf-8")) <= 200_000


@pytest.mark.parametrize("text", ["[x](javascript:alert(1))", "![x](http://example.org/p.png)", "<script>"])
def test_messages_of_agents_make_no_links_and_load_no_pictures(store: Store, text: str) -> None:
    shown = run_text(store, summary([result(1, Outcome.VOID, text)]))
    assert text not in shown
    assert shown.count("](") == 3


def test_the_three_rates_stand_side_by_side(store: Store) -> None:
    row = AgentRow(
        agent="oracle", group="all", episodes=4, passed=2, void=1, score=0.5, strict_rate=0.5,
        strict_interval=(0.15, 0.85), conditional_rate=2 / 3, steps=3.0, steps_star=None, false_termination_rate=None,
    )  # fmt: skip
    shown = run_text(store, summary([result(1, Outcome.PASS)], (row,)))
    assert "| oracle | 4 | 2 | 1 | 50.0 % | 50.0 % (15–85) | 66.7 % | 3.0, - | - |" in shown
