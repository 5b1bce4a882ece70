"""Experiments before their twins, and the real frames of the load experiment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tasks_lib.instruments.experiments import Report, run
from tasks_lib.instruments.experiments.scenes import ExperimentScene, experiment_scene
from tasks_lib.instruments.protocol import Instrument


@pytest.fixture
def engaged() -> Callable[[ExperimentScene], Instrument]:
    def engage(scene: ExperimentScene) -> Instrument:
        instrument = Instrument(scene.back_end, client="test")
        instrument.approach()
        return instrument

    return engage


@pytest.fixture(scope="session")
def reports() -> Callable[[str, int], list[Report]]:
    """Return the reports of an experiment for the first seeds, made once."""
    made: dict[tuple[str, int], Report] = {}

    def get(name: str, seeds: int) -> list[Report]:
        for seed in range(seeds):
            if (name, seed) not in made:
                scene = experiment_scene(name, seed=seed, points=64)
                instrument = Instrument(scene.back_end, client="test")
                instrument.approach()
                report = run(scene.experiment, instrument)
                made[name, seed] = report.against(scene.truth(report))
        return [made[name, seed] for seed in range(seeds)]

    return get


@pytest.fixture
def real_load_files(tmp_path: Path, shared_file: Callable[[str], Path]) -> Path:
    """Return a folder with the files of the load experiment alone."""
    for name in ("hopg_step_setpoint_0p2V.nid", "hopg_step_setpoint_0p6V.nid"):
        (tmp_path / name).symlink_to(shared_file(f"nid/{name}"))
    return tmp_path
