"""CPU time of the digital twin: a frame of 256 × 256 at 0.1 s per line, and a tuning probe of 128 × 16.

Not a test: run it by name, ``pytest tests/benches/bench_afm_twin.py -m bench -s``, or as a script. One core, compiled
code already loaded; the median of five by sample and preset, in seconds and in milliseconds. The first scan of a
process loads the compiled code, and the first on a machine compiles it: both are told as well.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time

import pytest

from tasks_lib.instruments.frame import Gains, ScanSettings
from tasks_lib.instruments.twin import DRIVE, FLEX, Microscope, samples

GAINS = Gains(p=50, i=4000)
ROUNDS = 5
SAMPLES = {
    "grid": (samples.calibration_grid, 50e-6, 0.5),
    "rough surface": (samples.rough_surface, 10e-6, 0.2),
    "particles": (samples.nanoparticles, 5e-6, 0.3),
    "HOPG steps": (samples.hopg_steps, 1e-6, 0.2),
    "flakes": (samples.graphene_flakes, 10e-6, 0.2),
    "Vickers indent": (lambda: samples.indent("Vickers"), 60e-6, 0.2),
}
FIRST = """
import time
from tasks_lib.instruments.frame import Gains, ScanSettings
from tasks_lib.instruments.twin import DRIVE, Microscope, samples
scan = ScanSettings(width_m=5e-6, height_m=5e-6, points=128, lines=1, time_per_line_s=0.1)
begun = time.process_time()
Microscope(samples.nanoparticles(), DRIVE, "Multi75Al-G", seed=0).scan(scan, Gains(p=50, i=4000), 0.2)
print(time.process_time() - begun)
"""


def spent(scope: Microscope, scan: ScanSettings, setpoint: float) -> float:
    """Return the CPU seconds of a scan, the median of some."""
    times = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        scope.scan(scan, GAINS, setpoint)
        times.append(time.process_time() - begun)
    return statistics.median(times)


def first(cache: str | None = None) -> float:
    """Return the CPU seconds of the first line that a process scans, its sample included."""
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    told = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True, env=environment)
    return float(told.stdout)


def report() -> str:
    """Return a line for each sample and preset."""
    lines = ["| sample | preset | frame s | probe ms |", "|---|---|---|---|"]
    for name, (make, width, setpoint) in SAMPLES.items():
        for preset in (DRIVE, FLEX):
            scope = Microscope(make(), preset, "Multi75Al-G", seed=0)
            frame = ScanSettings(width_m=width, height_m=width, points=256, lines=256, time_per_line_s=0.1)
            probe = frame.model_copy(update={"points": 128, "lines": 16})
            scope.scan(probe, GAINS, setpoint)
            times = spent(scope, frame, setpoint), spent(scope, probe, setpoint) * 1e3
            lines.append(f"| {name} | {preset.name} | {times[0]:.2f} | {times[1]:.0f} |")
    with tempfile.TemporaryDirectory() as empty:
        lines += ["", f"first line of a process: {first():.1f} s; first on a machine, compiled: {first(empty):.1f} s"]
    return "\n".join(lines) + "\n"


@pytest.mark.bench
def test_bench_afm_twin() -> None:
    sys.stdout.write(report())


if __name__ == "__main__":
    sys.stdout.write(report())
