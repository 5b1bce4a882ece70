"""Overhead of a step of the loop against the bare work on the machine.

Run it with ``.venv/bin/python tests/benches/bench_steps.py [STEPS]``; it prints a table in milliseconds.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tasks_lib.agents import Agent, Reply, ScriptedLlmAgent, TranscriptAgent, play
from tasks_lib.records import Budget, Deliverable, MachineSettings, Modality, Stage, Step
from tasks_lib.sandbox import Computer, provider
from tasks_lib.store import Store

NOTHING = "```python\ncomputer.clipboard.view_clipboard()\n```"
MOVE = "```python\ncomputer.mouse.move_abs({}, 40)\n```"
WAIT = "```decision\nWAIT\n```"


def main() -> None:
    """Measure and print."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    rows = list(measure(steps))
    print(f"{'what':62} {'median':>8} {'p95':>8}   ms, {steps} steps each")  # noqa: T201
    for what, seconds in rows:
        ordered = sorted(seconds)
        worst = ordered[int(0.95 * (len(ordered) - 1))]
        print(f"{what:62} {1000 * statistics.median(ordered):8.2f} {1000 * worst:8.2f}")  # noqa: T201


def measure(steps: int) -> Iterator[tuple[str, list[float]]]:
    """Give each row: what was measured, and the seconds of each step."""
    with machine(desktop=False) as computer:
        yield "code stage, a reply that does nothing: whole step", whole(computer, Modality.CODE, [WAIT] * steps)
        nothing = ["```python\npass\n```"] * steps
        seconds = whole(computer, Modality.CODE, nothing)
        bare = repeat(steps, lambda: computer.run_script("pass\n", name="script", seconds=60))
        yield "code stage, an empty script: whole step", seconds
        yield "code stage, an empty script: bare run_script", bare
        yield "code stage, an empty script: overhead", minus(seconds, bare)
    with machine(desktop=True) as computer:
        computer.settle()
        picture = repeat(steps, computer.observe)
        plain = repeat(steps, lambda: computer.observe(screenshot=False))
        look = repeat(steps, computer.clipboard.view_clipboard)
        yield "bare observe with screenshot (capture and PNG encode)", picture
        yield "bare observe without screenshot", plain
        yield "bare no-op action (view_clipboard)", look
        seconds = whole(computer, Modality.GUI, [NOTHING] * steps)
        yield "gui stage, no-op action: whole step, screenshot included", seconds
        yield "gui stage, no-op action: without capture and encode", minus(seconds, minus(picture, plain))
        yield "gui stage, no-op action: overhead over the bare calls", minus(minus(seconds, picture), look)
        seconds = whole(computer, Modality.GUI, [NOTHING] * steps, model=True)
        yield "gui stage, no-op action, asked over HTTP: whole step", seconds
        moves = [MOVE.format(40 + number) for number in range(steps)]
        yield "gui stage, pointer move: whole step, settling left out", whole(computer, Modality.GUI, moves)


@contextlib.contextmanager
def machine(*, desktop: bool) -> Iterator[Computer]:
    """Open a machine of this host."""
    found = provider("local").open(MachineSettings(), desktop=desktop, endpoints={}, python=Path(sys.executable))
    try:
        yield found.computer
    finally:
        found.close()


def whole(computer: Computer, modality: Modality, replies: list[str], *, model: bool = False) -> list[float]:
    """Play the replies; seconds of each step without the time that the screen was given to settle."""
    stage = Stage(
        id="main",
        modality=modality,
        instruction="Measure the loop, nothing else.",
        deliverables=(Deliverable(path="out.txt", what="nothing"),),
    )
    agent: Agent = ScriptedLlmAgent(replies) if model else TranscriptAgent("oracle", map(Reply, replies))
    ends: list[float] = []
    settled: list[float] = []

    with tempfile.TemporaryDirectory() as folder, contextlib.closing(agent):
        store = Store.open(folder)

        def on_step(step: Step) -> None:
            store.append_line("trajectory.jsonl", step.to_line())
            settled.append(step.settle_seconds)
            ends.append(time.perf_counter())

        ends.append(time.perf_counter())
        play(agent, computer, stage, Budget(steps=len(replies), seconds=3600), on_step, store.put_blob)
    return [end - start - rest for start, end, rest in zip(ends, ends[1:], settled, strict=False)]


def repeat(times: int, call: Callable[[], object]) -> list[float]:
    """Seconds of each of so many calls."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return found


def minus(seconds: list[float], bare: list[float]) -> list[float]:
    """Take the median of the bare work off each step."""
    middle = statistics.median(bare)
    return [each - middle for each in seconds]


if __name__ == "__main__":
    main()
