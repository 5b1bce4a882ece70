"""The live progress of a run: counts, and the present phase of every running episode."""

from __future__ import annotations

import threading
from collections import Counter
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from tasks_lib.episodes import Event
from tasks_lib.records import Outcome
from tasks_lib.reporting import scrub

_STYLE = {Outcome.PASS: "green", Outcome.FAIL: "yellow", Outcome.VOID: "red"}


class LiveTable:
    """Shows events of a run as they come; on a console that is no terminal, one line for each ended episode."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._lock = threading.Lock()
        self._running: dict[str, Event] = {}
        self._steps: dict[str, int] = {}
        self._counts: Counter[Outcome] = Counter()
        self._progress = Progress(
            TextColumn("[bold]episodes"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
        )
        self._bar = self._progress.add_task("episodes", total=total)
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=4, transient=True)

    def __enter__(self) -> LiveTable:
        if self._console.is_terminal:
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._live.__exit__(kind, error, trace)

    def __call__(self, event: Event) -> None:
        """Take an event; called from any thread."""
        with self._lock:
            if event.kind == "step":
                self._steps[event.episode_id] = event.step or 0
            elif event.kind == "episode-ended":
                self._running.pop(event.episode_id, None)
                self._counts[event.outcome or Outcome.VOID] += 1
            else:
                self._running[event.episode_id] = event
        # Outside the lock: printing takes rich's own lock, which the refreshing thread holds when it takes ours.
        if event.kind == "episode-ended":
            self._print_end(event)

    def _print_end(self, event: Event) -> None:
        outcome = event.outcome or Outcome.VOID
        self._progress.advance(self._bar)
        shown = f"VOID({event.reason})" if outcome is Outcome.VOID else outcome.value
        line = Text.assemble(
            (f"{shown:<6}", _STYLE[outcome]), " ", event.episode_id, "  ", (_one_line(event.message), "dim")
        )
        line.truncate(max(40, self._console.width), overflow="ellipsis")
        self._console.print(line)

    def _render(self) -> Group:
        with self._lock:
            counts = Text.assemble(
                (f"{self._counts[Outcome.PASS]} passed", "green"), "   ",
                (f"{self._counts[Outcome.FAIL]} failed", "yellow"), "   ",
                (f"{self._counts[Outcome.VOID]} VOID", "red"), "   ",
                (f"{len(self._running)} running", "cyan"),
            )  # fmt: skip
            table = Table.grid(padding=(0, 2))
            for name in sorted(self._running):
                event = self._running[name]
                phase = event.phase.value if event.phase else "waiting"
                stage = "" if event.stage == "main" else event.stage
                steps = self._steps.get(name)
                table.add_row(
                    Text(name, style="cyan"), stage, phase, f"step {steps}" if steps and phase == "act" else ""
                )
        return Group(self._progress, counts, table)


def _one_line(text: str) -> str:
    """Make a message one line without escapes: parts of it may be an agent's or an endpoint's."""
    return " ".join(scrub(text).split())
