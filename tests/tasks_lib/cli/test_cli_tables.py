"""The live progress: right counts whatever the order of events, on a terminal and in a log."""

from __future__ import annotations

import io
import re
import shutil
import threading
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tasks_lib.cli import app
from tasks_lib.cli import console as console_module
from tasks_lib.cli.console import say
from tasks_lib.cli.live_table import LiveTable
from tasks_lib.episodes import Event, listening, tell
from tasks_lib.records import Outcome, Phase, VoidReason

GOOD = Path(__file__).parents[2] / "fixtures" / "episodes" / "one_stage"


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


# What a terminal obeys: colours, clearing, titles, the 8-bit introducer, bells, overwriting, hidden and turned text.
ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b31m\r\x08 \u202egnp.exe \u200b\x7f"


def _has_control(text: str) -> bool:
    return any(not (sign.isprintable() or sign in "\n ") for sign in text)


def test_no_message_of_an_agents_can_steer_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    console, text = _console(terminal=False)
    table = LiveTable(console, 1)
    told = {"kind": "episode-ended", "run_id": "r", "episode_id": "a", "outcome": "VOID", "reason": "machine lost"}
    table(Event.model_validate(told | {"message": f"window {ESCAPES} is\ngone", "when": "2026-01-01T00:00:00Z"}))
    assert "gone" in text.getvalue()
    assert len(text.getvalue().splitlines()) == 1
    assert not _has_control(text.getvalue())
    remarks, said = _console(terminal=False)
    monkeypatch.setattr(console_module, "err", remarks)
    say(f"1 episodes are VOID: {ESCAPES} end")
    assert "end" in said.getvalue()
    assert not _has_control(said.getvalue())


def test_a_task_of_a_stranger_cannot_steer_the_terminal(tmp_path: Path) -> None:
    root = Path(shutil.copytree(GOOD, tmp_path / "tasks"))
    file = next(root.glob("*/*/*/task.yaml"))
    file.write_text(
        re.sub(
            r"(?m)^title: .*$", lambda _: r'title: "Red \e[31m\a and \u202E turned"', file.read_text(encoding="utf-8")
        ),
        encoding="utf-8",
    )
    for words in (["tasks", "list"], ["tasks", "show", file.parent.name], ["lint", str(root)]):
        result = CliRunner().invoke(app, [*words, *(["--taskdefs", str(root)] if words[0] == "tasks" else [])])
        assert result.output
        assert not _has_control(result.output), words
