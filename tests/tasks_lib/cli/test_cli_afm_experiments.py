"""`matassay afm experiment`, run as a person does; the flow itself is tested with the flows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tasks_lib.cli import afm_experiments, app
from tasks_lib.instruments.experiments import ExperimentError, FrameUse, Quantity, Report
from tasks_lib.instruments.experiments.folder import ExperimentFolder
from tasks_lib.instruments.frame import Gains, ScanSettings
from tasks_lib.store import Store

SCAN = ScanSettings(width_m=1e-6, height_m=1e-6, points=64, lines=64, time_per_line_s=0.1)
REPORT = Report(
    experiment="step-edge",
    quantities=(
        Quantity(name="layer height", value=3.3512e-10, unit="m", uncertainty=5e-12, truth=3.35e-10, basis="bands"),
    ),
    frames=(FrameUse(name="overview", purpose="look", source="twin", scan=SCAN, gains=Gains(p=1, i=1), setpoint=0.2),),
    remarks=("a remark",),
)


class Engine:
    """Ends an experiment as it is told."""

    def __init__(self, end: BaseException | Report) -> None:
        self._end = end

    def warm_up(self) -> None:
        pass

    def experiment(self, *_: object) -> Report:
        if isinstance(self._end, Report):
            return self._end
        raise self._end


def ran(*words: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(app, ["afm", "experiment", *words])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found.exit_code, found.stdout, " ".join(found.stderr.split())


def test_values_stand_with_uncertainty_and_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(afm_experiments, "load_engine", lambda: Engine(REPORT))
    words = ("step-edge", "--seed", "4", "--points", "64", "--store", str(tmp_path))
    code, out, _ = ran(*words)
    assert code == 0
    assert "1 of 1 values and findings agree" in out
    assert "335.1 pm" in out
    assert "± 9.8" in out
    assert "a remark" in out
    (folder,) = (tmp_path / "experiments").iterdir()
    order = ExperimentFolder(Store.open(str(tmp_path)), folder.name).order()
    assert (order.experiment, order.seed, order.points) == ("step-edge", 4, 64)

    code, out, _ = ran(*words, "--json")
    (line,) = out.splitlines()
    found = json.loads(line)
    assert code == 0
    assert Report.model_validate({name: found[name] for name in Report.model_fields}) == REPORT


@pytest.mark.parametrize(
    ("end", "code", "says"),
    [
        (ExperimentError("frame overview is not valid"), 1, "matassay: frame overview is not valid"),
        (KeyboardInterrupt(), 130, "the settings of before are restored"),
    ],
)
def test_the_exit_code_says_how_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: BaseException, code: int, says: str
) -> None:
    monkeypatch.setattr(afm_experiments, "load_engine", lambda: Engine(end))
    found, _, err = ran("indenter", "--store", str(tmp_path))
    assert found == code
    assert says in err


def test_an_unknown_experiment_is_wrong_use(tmp_path: Path) -> None:
    code, _, err = ran("nothing", "--store", str(tmp_path))
    assert code == 2
    assert "take one of pid-calibration, step-edge, friction-load, graphene-layers, indenter" in err
    assert not (tmp_path / "experiments").exists()
