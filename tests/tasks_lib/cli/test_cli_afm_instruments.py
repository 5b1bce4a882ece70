"""`matassay afm tune` and `experiment` away from the twin: recorded files, and a microscope behind a worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tasks_lib.cli import afm, afm_experiments, app
from tasks_lib.instruments.experiments import Report
from tasks_lib.instruments.experiments.folder import ExperimentFolder
from tasks_lib.instruments.experiments.session import open_experiment
from tasks_lib.instruments.frame import Gains, ScanSettings
from tasks_lib.instruments.nanosurf import Desk, DeskServer
from tasks_lib.instruments.nid import write_nid
from tasks_lib.instruments.protocol import Instrument
from tasks_lib.instruments.reach import TOKEN_VARIABLE
from tasks_lib.instruments.tuning.bench import open_bench
from tasks_lib.instruments.tuning.folder import TuningFolder
from tasks_lib.instruments.tuning.session import open_session
from tasks_lib.instruments.tuning.session_records import TuningResult
from tasks_lib.instruments.twin import DRIVE, Microscope, TwinBackEnd, samples
from tasks_lib.store import Store

TOKEN = "the-secret-of-this-test"
URL = "http://127.0.0.1:8765"


class Engine:
    """Does the same sessions as the flows, without a server; the flows are tested with the flows."""

    def warm_up(self) -> None:
        pass

    def tune(self, url: str, name: str, *_: object) -> TuningResult:
        folder = TuningFolder(Store.open(url), name)
        bench = open_bench(folder.order(), name)
        try:
            with open_session(folder, bench) as session:
                while (group := session.next_group()) is not None:
                    for plan in group.plans:
                        session.scan(plan)
                return session.finish()
        finally:
            bench.close()

    def experiment(self, url: str, name: str) -> Report:
        folder = ExperimentFolder(Store.open(url), name)
        with open_experiment(folder) as session:
            while (order := session.next_order()) is not None:
                session.scan(order)
            return session.finish()


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (afm, afm_experiments):
        monkeypatch.setattr(module, "load_engine", Engine)


@pytest.fixture
def twin() -> TwinBackEnd:
    scan = ScanSettings(width_m=1e-6, height_m=1e-6, points=32, lines=32, time_per_line_s=0.1)
    microscope = Microscope(
        samples.hopg_steps(layers=(2,), seed=3).mounted(tilt_x_deg=0.3), DRIVE, "Multi75Al-G", seed=1
    )
    return TwinBackEnd(microscope, scan, Gains(p=100, i=3000), 0.2, name="cx")


@pytest.fixture
def url(twin: TwinBackEnd, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    desk = Desk(Instrument(twin, client="worker"), call_seconds=60)
    with DeskServer(desk, TOKEN) as server:
        yield server.url
    desk.close()


def ran(*words: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(app, ["afm", *words])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found.exit_code, " ".join(found.stdout.split()), " ".join(found.stderr.split())


def test_a_microscope_is_tuned_through_its_worker(tmp_path: Path, twin: TwinBackEnd, url: str) -> None:
    words = ("--strategy", "random", "--budget", "2", "--fresh-frames", "2", "--probe-lines", "8", "--i", "500,9000")
    where = ("--instrument", "nanosurf", "--worker", url, "--store", str(tmp_path))
    code, _, err = ran("tune", *where, *words, "--p", "0,0", "--d", "0,0")
    assert code == 2
    assert "the tip of cx is withdrawn: engage it beside the instrument, or begin with --approach" in err
    code, out, err = ran("tune", *where, *words, "--p", "0,0", "--d", "0,0", "--approach")
    assert code == 0, err
    assert "random on nanosurf, 2 scans" in err
    found = [
        TuningFolder(Store.open(str(tmp_path)), one.name).read_result() for one in (tmp_path / "tunings").iterdir()
    ]
    (result,) = [one for one in found if one is not None]
    assert result.message in out
    assert twin.read().gains == result.gains
    assert not twin.read().engaged


def test_recorded_files_are_swept_by_command(tmp_path: Path, twin: TwinBackEnd) -> None:
    recorded = tmp_path / "recorded"
    recorded.mkdir()
    instrument = Instrument(twin, client="test")
    instrument.approach()
    for volt in (0.2, 0.4, 0.6):
        instrument.set(setpoint=volt)
        (recorded / f"{volt}.nid").write_bytes(write_nid(instrument.scan(f"v{volt}")))
    store = ("--store", str(tmp_path / "store"))
    replay = ("--instrument", "replay", "--folder", str(recorded))
    code, out, err = ran("experiment", "friction-load", *replay, "--free-deflection", "-0.394", *store)
    assert code == 0, err
    assert "adhesion in deflection" in out
    (folder,) = (tmp_path / "store" / "experiments").iterdir()
    report = ExperimentFolder(Store.open(store[1]), folder.name).read_report()
    assert report is not None
    assert [one.setpoint for one in report.frames] == [0.2, 0.4, 0.6]

    code, _, err = ran("experiment", "friction-load", *replay, "--setpoint", "0.2", "--setpoint", "0.5", *store)
    assert code == 2
    assert "no recording has setpoint = 0.5" in err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ["tune", "--instrument", "replay"],
            "recorded files cannot be tuned: each was made with the gains that it has",
        ),
        (["tune", "--instrument", "moon"], "no instrument 'moon'; take one of twin, replay, nanosurf"),
        (["tune", "--instrument", "nanosurf"], "needs the address of the worker"),
        (["tune", "--worker", URL], "--worker is for the instrument nanosurf"),
        (
            ["tune", "--instrument", "nanosurf", "--worker", URL, "--scene", "grid"],
            "--scene and --start are the twin's",
        ),
        (["tune", "--probe-lines", "16"], "every scene of the twin has its own probe frame"),
        (["tune", "--i", "9"], "the box of gains"),
        (["tune", "--i", "9,x"], "two whole numbers, as --i 500,9000"),
        (["tune", "--i", "9,3"], "go from low to high"),
        (["tune", "--instrument", "nanosurf", "--worker", "http://10.0.0.1:1"], "on this machine's loopback"),
        (["experiment"], "name an experiment to begin, or one to go on with"),
        (["experiment", "indenter", "--resume", "x"], "name an experiment to begin, or one to go on with"),
        (["experiment", "--resume", "x"], "has no experiment 'x'"),
        (["experiment", "step-edge", "--instrument", "replay", "--folder", "."], "only friction-load can"),
        (["experiment", "step-edge", "--setpoint", "0.2"], "are for friction-load on recorded files"),
        (["experiment", "friction-load", "--instrument", "replay"], "needs a folder of .nid files"),
    ],
)
def test_wrong_use_ends_with_2_and_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], why: str
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    code, _, err = ran(*words, "--store", str(tmp_path / "store"))
    assert code == 2, err
    assert why in err


def test_without_the_secret_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    code, _, err = ran("tune", "--instrument", "nanosurf", "--worker", URL, "--store", str(tmp_path))
    assert code == 2
    assert f"set {TOKEN_VARIABLE} to the secret that the worker" in err
