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
def real_load_files(tmp_path: Path, shared_folder: Path) -> Path:
    """Return a folder with the files of the load experiment alone."""
    files = sorted(shared_folder.glob("hopg_step_setpoint_*.nid"))
    if len(files) < 2:
        pytest.skip("the load files of the real microscope are not beside the repository (../shared/data/nid)")
    for one in files:
        (tmp_path / one.name).symlink_to(one)
    return tmp_path
