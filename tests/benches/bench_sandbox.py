"""Measure machines: ready, round trip, observe, settle, script, close.

Run ``python tests/benches/bench_sandbox.py``; it prints a table of medians, in milliseconds, for docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable

from tasks_lib.records import MachineSettings
from tasks_lib.sandbox import Machine, provider

Times = dict[str, list[float]]


def _timed(times: Times, name: str, work: Callable[[], object], repeats: int = 1) -> None:
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times[name].append(1000 * (time.perf_counter() - began))


def _measure(times: Times, settings: MachineSettings, *, desktop: bool, repeats: int) -> None:
    kind = "desktop" if desktop else "code machine"
    opened: list[Machine] = []
    _timed(times, f"{kind}: open until it answers", lambda: opened.append(provider().open(settings, desktop=desktop)))
    (machine,) = opened
    computer = machine.computer
    try:
        _timed(times, f"{kind}: probe (bare round trip)", computer.probe, repeats)
        _timed(times, f"{kind}: empty Python script", lambda: computer.run_script(""), 3)
        _timed(
            times,
            f"{kind}: put and get 1 MiB",
            lambda: (computer.put_file("x", bytes(2**20)), computer.get_file("x")),
            5,
        )
        if desktop:
            _timed(times, "desktop: no-op action (move)", lambda: computer.mouse.move_abs(200, 200), repeats)
            _timed(times, "desktop: observe without picture", lambda: computer.observe(screenshot=False), repeats)
            _timed(times, "desktop: observe with PNG, empty screen", computer.observe, repeats)
            if computer.os.is_installed("fityk"):
                _timed(
                    times,
                    "desktop: Fityk started until its window is there",
                    lambda: (computer.os.open_program("fityk"), computer.wait_for_window("fityk", 60)),
                )
                computer.os.maximize_window()
                computer.settle()
                _timed(times, "desktop: observe with PNG, Fityk", computer.observe, repeats)
                _timed(times, "desktop: observe without picture, Fityk", lambda: computer.observe(False), repeats)
            _timed(times, "desktop: settle on a still screen (quiet 0.25 s)", computer.settle, 3)
            _timed(times, "desktop: type 100 characters", lambda: computer.keyboard.write("x" * 100), 3)
    finally:
        _timed(times, f"{kind}: close", machine.close)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=8, help="machines of each kind, one after the other")
    parser.add_argument("--repeats", type=int, default=50, help="calls on each machine")
    arguments = parser.parse_args()
    times: Times = defaultdict(list)
    provider().problems(desktop=True)  # bubblewrap is tried once a process
    for _ in range(arguments.machines):
        for desktop in (False, True):
            _measure(times, MachineSettings(), desktop=desktop, repeats=arguments.repeats)
    load = os.getloadavg()[0]
    print(f"python {sys.version.split()[0]}, {os.cpu_count()} processors, load {load:.1f}, 1440x900")  # noqa: T201
    print(f"{'what':52} {'median':>9} {'min':>9} {'max':>9} {'n':>5}   (ms)")  # noqa: T201
    for name, values in times.items():
        row = f"{statistics.median(values):9.1f} {min(values):9.1f} {max(values):9.1f} {len(values):5d}"
        print(f"{name:52} {row}")  # noqa: T201


if __name__ == "__main__":
    main()
