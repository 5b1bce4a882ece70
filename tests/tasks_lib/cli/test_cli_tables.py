"""The live progress: right counts whatever the order of events, on a terminal and in a log."""

from __future__ import annotations

import io
import threading

from rich.console import Console

from tasks_lib.cli.live_table import LiveTable
from tasks_lib.episodes import Event, listening, tell
from tasks_lib.records import Outcome, Phase, VoidReason


def _console(terminal: bool) -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    return Console(file=text, force_terminal=terminal, width=100, color_system=None), text


def test_a_log_gets_one_line_for_each_ended_episode() -> None:
    console, text = _console(terminal=False)
    with LiveTable(console, 3) as table, listening(table):
        tell("phase-started", "r", "a", phase=Phase.ACT)
        tell("episode-ended", "r", "a", outcome=Outcome.PASS, message="3 of 3 points")
        tell("episode-ended", "r", "b", outcome=Outcome.VOID, reason=VoidReason.ENDPOINT, message="refused")
    lines = text.getvalue().splitlines()
    assert lines == ["PASS   a  3 of 3 points", "VOID(endpoint) b  refused"]


def test_a_terminal_shows_phase_step_and_counts() -> None:
    console, text = _console(terminal=True)
    table = LiveTable(console, 2)
    for event in (
        {"kind": "phase-started", "episode_id": "a", "phase": Phase.ACT},
        {"kind": "step", "episode_id": "a", "step": 7},
        {"kind": "phase-started", "episode_id": "b", "phase": Phase.PROVISION, "stage": "simulate"},
        {"kind": "episode-ended", "episode_id": "c", "outcome": Outcome.FAIL},
    ):
        with listening(table):
            tell(run_id="r", **event)
    console.print(table._render())
    shown = text.getvalue()
    assert "1 failed" in shown
    assert "2 running" in shown
    assert "step 7" in shown
    assert "simulate" in shown
    assert "provision" in shown


def test_events_of_many_threads_do_not_lock_up_the_display() -> None:
    console, _ = _console(terminal=True)
    with LiveTable(console, 200) as table, listening(table):

        def play(name: str) -> None:
            tell("phase-started", "r", name, phase=Phase.ACT)
            tell("episode-ended", "r", name, outcome=Outcome.PASS)

        threads = [threading.Thread(target=play, args=(f"e{i}",)) for i in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert table._counts[Outcome.PASS] == 200


def test_markup_in_a_message_is_text() -> None:
    console, text = _console(terminal=False)
    table = LiveTable(console, 1)
    table(Event.model_validate({"kind": "episode-ended", "run_id": "r", "episode_id": "a", "outcome": "VOID",
          "reason": "internal", "message": "[bold]x[/bold] [/]", "when": "2026-01-01T00:00:00Z"}))  # fmt: skip
    assert "[bold]x[/bold] [/]" in text.getvalue()
