"""An experiment that was cut goes on with the next frame, or says why it cannot; no frame is scanned twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks_lib.instruments.experiments import ExperimentError, Report
from tasks_lib.instruments.experiments import session as module
from tasks_lib.instruments.experiments.folder import ExperimentFolder, ExperimentOrder, FrameRecord
from tasks_lib.instruments.experiments.scenes import ExperimentScene, experiment_scene
from tasks_lib.instruments.experiments.session import open_experiment
from tasks_lib.instruments.frame import Frame
from tasks_lib.instruments.nanosurf import Desk, DeskServer
from tasks_lib.instruments.nid import write_nid
from tasks_lib.instruments.protocol import Instrument
from tasks_lib.instruments.reach import TOKEN_VARIABLE
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import Store

TOKEN = "the-secret-of-this-test"
Begin = Callable[..., ExperimentFolder]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store"))


@pytest.fixture
def begin(store: Store) -> Begin:
    def make(name: str, experiment: str = "friction-load", **fields: Any) -> ExperimentFolder:
        folder = ExperimentFolder(store, name)
        folder.begin(ExperimentOrder(experiment=experiment, **({"points": 32} | fields)))
        return folder

    return make


def do(folder: ExperimentFolder, stop: str = "") -> tuple[list[str], Report | None]:
    """Go on with an experiment until it ends or the frame `stop` is next; return what was scanned."""
    scanned = []
    with open_experiment(folder) as session:
        while (order := session.next_order()) is not None:
            if order.name == stop:
                return scanned, None
            session.scan(order)
            scanned.append(order.name)
        return scanned, session.finish()


def same(one: Report | None, other: Report | None) -> bool:
    """Whether two reports say the same of two experiments; sources bear the names of their twins."""
    assert one is not None
    assert other is not None
    return one.quantities == other.quantities and one.findings == other.findings and one.remarks == other.remarks


def files(folder: ExperimentFolder) -> list[bytes]:
    channels = [folder.read_frame(one).channels for one in folder.frames()]
    return [np.concatenate([one.data.ravel() for one in frame.values()]).tobytes() for frame in channels]


@pytest.mark.parametrize(("experiment", "stop"), [("friction-load", "load-3"), ("step-edge", "edge-1")])
def test_on_the_twin_a_cut_experiment_is_the_undisturbed_one_to_the_last_bit(
    begin: Begin, experiment: str, stop: str
) -> None:
    whole, cut = begin("whole", experiment), begin("cut", experiment)
    names, report = do(whole)
    first, nothing = do(cut, stop)
    assert nothing is None
    assert cut.read_report() is None
    second, again = do(cut)
    assert first + second == names
    assert same(again, report)
    assert files(cut) == files(whole)
    assert again == cut.read_report()


def test_every_process_is_cut_after_one_frame(begin: Begin) -> None:
    folder = begin("slow")
    for number in range(1, 5):
        scanned, _ = do(folder, f"load-{number + 1}")
        assert scanned == [f"load-{number}"]
    scanned, report = do(folder)
    assert scanned == ["load-5"]
    assert report is not None
    assert [one.process for one in folder.frames()] == [1, 2, 3, 4, 5]
    assert not report.remarks, "the clock of the twin stood still"


def test_a_frame_that_was_refused_is_scanned_again_by_whoever_goes_on(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begin("lifted")
    scan_for = module.scan_for

    def lifted(instrument: Instrument, order: Any, *rest: Any) -> Frame:
        frame = scan_for(instrument, order, *rest)
        return frame if order.name != "load-2" else flat(frame)

    with monkeypatch.context() as patch:
        patch.setattr(module, "scan_for", lifted)
        with pytest.raises(ExperimentError, match="frame load-2"):
            do(folder)
    scanned, report = do(folder)
    assert scanned == ["load-2", "load-3", "load-4", "load-5"]
    assert report is not None
    assert report.remarks[-1] == "frame load-2 was refused and scanned again; load-2.2.nid counts"
    assert [one.path.rsplit("/", 1)[1] for one in folder.frames()][:3] == ["load-1.nid", "load-2.nid", "load-2.2.nid"]


def flat(frame: Frame) -> Frame:
    for channel in frame.channels.values():
        channel.data[:] = channel.data.flat[0]
    return frame


def test_a_frame_whose_scan_was_stopped_is_not_kept(begin: Begin) -> None:
    folder = begin("stopped")
    with open_experiment(folder) as session:
        order = session.next_order()
        assert order is not None
        session.scan(order, lambda: False)
    assert folder.frames() == []
    scanned, _ = do(folder)
    assert scanned[0] == "load-1"


def test_frames_of_another_order_are_not_taken_for_its_own(begin: Begin) -> None:
    folder = begin("other")
    do(folder, "load-2")
    (record,) = folder.frames()
    changed = record.order.model_copy(update={"values": {"setpoint": 0.7}})
    folder.store.write_document(
        f"{record.path.removesuffix('.nid')}.json", record.model_copy(update={"order": changed})
    )
    with pytest.raises(ConfigurationError, match=r"was ordered with .*0.7.* begin a new experiment"):
        do(folder)


# ---------------------------------------------------------------------- a microscope behind a worker


@pytest.fixture
def scene() -> ExperimentScene:
    scene = experiment_scene("friction-load", points=32, instrument="cx")
    scene.back_end.approach(1.0)
    return scene


@pytest.fixture
def far(scene: ExperimentScene, begin: Begin, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    """Orders for a microscope that is the twin of the scene, over HTTP."""
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    desk = Desk(Instrument(scene.back_end, client="worker"), call_seconds=60)
    with DeskServer(desk, TOKEN) as server:

        def make(name: str, experiment: str = "friction-load", **fields: Any) -> ExperimentFolder:
            return begin(name, experiment, back_end="nanosurf", worker=server.url, **fields)

        yield make
    desk.close()


def test_at_a_microscope_values_have_no_truth_and_it_is_left_as_it_was_found(
    far: Begin, scene: ExperimentScene
) -> None:
    before = scene.back_end.read()
    folder = far("real", setpoints_v=(0.2, 0.5, 0.8), free_deflection_v=-0.394)
    scanned, report = do(folder)
    assert scanned == ["load-1", "load-2", "load-3"]
    assert report is not None
    assert {one.name for one in report.quantities} == {
        "slope", "friction at setpoint 0", "adhesion intercept", "adhesion in deflection",
    }  # fmt: skip
    assert all(one.truth is None for one in report.quantities)
    after = scene.back_end.read()
    assert (after.values(), after.engaged) == (before.values(), True)
    start = folder.start()
    assert start is not None
    assert start.instrument == "cx"


def test_soon_after_a_cut_it_goes_on_and_says_so(far: Begin, scene: ExperimentScene) -> None:
    folder = far("soon", setpoints_v=(0.2, 0.5))
    do(folder, "load-2")
    # As after `kill -9`: nobody put anything back.
    scene.back_end.write({"setpoint": 0.9, "overscan_percent": 3.0})
    scanned, report = do(folder)
    assert scanned == ["load-2"]
    assert report is not None
    assert any(one.startswith("cut after frame load-1; load-2 was kept") for one in report.remarks)
    assert scene.back_end.read().scan.overscan_percent == 0


@pytest.mark.parametrize("how", ["late", "lifted"])
def test_where_the_next_frame_would_show_another_place_it_says_that_it_cannot(
    far: Begin, scene: ExperimentScene, how: str
) -> None:
    folder = far("cut", setpoints_v=(0.2, 0.5), may_approach=True)
    do(folder, "load-2")
    (record,) = folder.frames()
    if how == "late":
        age(folder, record)
    else:
        scene.back_end.withdraw()
    with pytest.raises(ConfigurationError, match=r"(s passed|tip was lifted) since frame load-1.*begin a new"):
        do(folder)
    assert len(folder.frames()) == 1
    assert scene.back_end.read().setpoint == 0.2


def test_a_search_of_gains_goes_on_after_any_pause(far: Begin, scene: ExperimentScene) -> None:
    folder = far("gains", "pid-calibration", may_approach=True)
    do(folder, "before-2")
    (record,) = folder.frames()
    age(folder, record)
    scene.back_end.withdraw()
    scanned, _ = do(folder, "trial-1")
    assert scanned == ["before-2", "before-3"]
    assert not scene.back_end.read().engaged, "it was found in the air"


def age(folder: ExperimentFolder, record: FrameRecord) -> None:
    old = record.model_copy(update={"at": record.at - module.MAX_PAUSE - timedelta(seconds=1)})
    folder.store.write_document(f"{record.path.removesuffix('.nid')}.json", old)


def test_another_instrument_is_refused(begin: Begin, far: Begin, scene: ExperimentScene) -> None:
    folder = far("moved", setpoints_v=(0.2, 0.5))
    start = folder.start()
    assert start is None
    do(folder, "load-1")
    start = folder.start()
    assert start is not None
    path = f"{folder.path}/start.json"
    folder.store.write_document(path, start.model_copy(update={"instrument": "other"}))
    with pytest.raises(ConfigurationError, match="was begun on other, not on cx"):
        do(folder)


# ---------------------------------------------------------------------- recorded files


def test_recorded_files_are_swept_and_a_cut_sweep_goes_on(begin: Begin, tmp_path: Path, scene: ExperimentScene) -> None:
    recorded = tmp_path / "recorded"
    recorded.mkdir()
    twin = Instrument(scene.back_end, client="test")
    for volt in (0.2, 0.4, 0.7):
        twin.set(setpoint=volt)
        (recorded / f"{volt}.nid").write_bytes(write_nid(twin.scan(f"v{volt}")))
    whole = begin("whole", back_end="replay", folder=str(recorded))
    scanned, report = do(whole)
    assert scanned == ["load-1", "load-2", "load-3"]
    assert report is not None
    assert [one.setpoint for one in report.frames] == [0.2, 0.4, 0.7]
    truth = float(scene.truth(report)["slope"])
    assert report.quantity("slope").value == pytest.approx(truth, rel=0.03)
    assert "the settings of before were not put back" in report.remarks[0]
    cut = begin("cut", back_end="replay", folder=str(recorded))
    do(cut, "load-3")
    scanned, again = do(cut)
    assert scanned == ["load-3"]
    assert again is not None
    assert again.quantities == report.quantities
    (recorded / "0.4.nid").unlink()
    (recorded / "0.7.nid").unlink()
    with pytest.raises(ConfigurationError, match=r"files of two setpoints at least; all of .* have 0.2 V"):
        do(begin("few", back_end="replay", folder=str(recorded)))
