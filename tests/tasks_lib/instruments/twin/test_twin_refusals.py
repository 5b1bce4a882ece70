"""Levers, seeds and sizes that cannot be, and a machine without numba: told in words, before anything is computed."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tasks_lib.instruments.frame import Gains, ScanSettings
from tasks_lib.instruments.twin import FLEX, LEVERS, Microscope, TwinError, samples

SCAN = ScanSettings(width_m=1e-6, height_m=1e-6, points=32, lines=2, time_per_line_s=0.05)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spring_n_per_m", 0.0), ("spring_n_per_m", -1.0), ("spring_n_per_m", math.nan), ("resonance_hz", 0.0),
        ("quality", 0.0), ("tip_radius_m", 0.0), ("tip_radius_m", math.inf), ("tip_half_angle_deg", 0.0),
        ("tip_half_angle_deg", 90.0), ("lateral_v_per_n", -1.0),
    ],
)  # fmt: skip
def test_a_lever_that_cannot_be_is_refused_when_it_is_made(name: str, value: float) -> None:
    with pytest.raises(TwinError, match=f"{name} of the lever ContAl-G must"):
        replace(LEVERS["ContAl-G"], **{name: value})


@pytest.mark.parametrize("seed", [-1, 1.5, "7", None])
def test_a_seed_that_is_none_is_refused(seed: object) -> None:
    makers = (
        samples.hopg_steps, samples.graphene_flakes, samples.nanoparticles, samples.rough_surface,
        samples.calibration_grid, lambda seed: Microscope(samples.hopg_steps(), FLEX, "ContAl-G", seed=seed),
    )  # fmt: skip
    for make in makers:
        with pytest.raises(TwinError, match="a seed is a whole number, not negative"):
            make(seed=seed)


def test_a_seed_of_numpy_is_a_seed() -> None:
    one, other = (Microscope(samples.hopg_steps(), FLEX, "ContAl-G", seed=seed) for seed in (3, np.int64(3)))
    frames = [scope.scan(SCAN, Gains(p=10, i=2000), 0.3) for scope in (one, other)]
    assert frames[0].source == frames[1].source
    np.testing.assert_array_equal(frames[0].data("Z-Axis"), frames[1].data("Z-Axis"))


@pytest.mark.parametrize("name", ["width_m", "height_m"])
def test_a_scan_smaller_than_any_tip_feels_is_refused_at_once(name: str) -> None:
    scope = Microscope(samples.rough_surface(), FLEX, "ContAl-G", seed=1)
    for size in (1e-300, 1e-12, 0.99e-9):
        with pytest.raises(TwinError, match=f"{name} must be 1e-09 m at least"):
            scope.scan(SCAN.model_copy(update={name: size}), Gains(p=10, i=2000), 0.3)


def test_a_machine_without_the_extra_is_told_what_to_install() -> None:
    code = """
import sys
for name in ("deap", "matplotlib", "numba", "optuna", "sklearn"):
    sys.modules[name] = None
import tasks_lib.cli
from tasks_lib.instruments import analysis, nid, replay
from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.twin import FLEX, closed_loop_radius, samples
from tasks_lib.instruments.tuning.box import GainBox
from tasks_lib.instruments.tuning.search import Search
from tasks_lib.instruments.tuning.strategies import STRATEGIES
from tasks_lib.records.errors import ConfigurationError

def run(name):
    search = Search(STRATEGIES[name], GainBox(), seed=1, budget=12)
    while search.generation:
        search.tell([0.5] * len(search.generation))

todo = {name: (lambda name=name: run(name)) for name in STRATEGIES}
todo |= {"twin": samples.rough_surface, "radius": lambda: closed_loop_radius(FLEX, Gains(p=1, i=1))}
for name, order in sorted(todo.items()):
    try:
        order()
        print(name, "runs")
    except ConfigurationError as error:
        assert "pip install 'matassay[afm]'" in str(error), error
        print(name, "needs", str(error).split(" needs ")[1].split(":")[0])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "cma-es needs deap", "ga-plus needs deap", "ga-published needs deap", "gp-ei needs sklearn",
        "integral-ramp runs", "radius needs numba", "ramp-gp needs sklearn", "random runs", "sobol runs",
        "tpe needs optuna", "twin needs numba",
    ]  # fmt: skip
