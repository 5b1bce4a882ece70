"""Recordings are served as they are, in the order asked for; what was not recorded is refused with what was."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tasks_lib.instruments import analysis
from tasks_lib.instruments.frame import FRICTION, Z_AXIS, Gains, ScanSettings
from tasks_lib.instruments.nid import NidError, read_nid, write_nid
from tasks_lib.instruments.protocol import Instrument, InstrumentError, RefusedError
from tasks_lib.instruments.replay import ReplayBackEnd
from tasks_lib.instruments.twin import FLEX, Microscope, samples
from tasks_lib.records.errors import ConfigurationError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three recordings that differ in gain and setpoint; the second was scanned down."""
    root = tmp_path_factory.mktemp("recordings")
    microscope = Microscope(samples.hopg_steps(), FLEX, "ContAl-G", seed=2)
    for number, (i, setpoint, way) in enumerate([(1000, 0.2, "up"), (2000, 0.2, "down"), (2000, 0.4, "up")]):
        scan = ScanSettings(
            width_m=5e-7, height_m=5e-7, points=16, lines=6, time_per_line_s=0.05, direction=way,  # type: ignore[arg-type]
        )  # fmt: skip
        frame = microscope.scan(scan, Gains(p=50, i=i), setpoint)
        (root / f"{number}.nid").write_bytes(write_nid(frame))
    return root


def afm(folder: Path, order: str = "name") -> tuple[ReplayBackEnd, Instrument]:
    back_end = ReplayBackEnd(folder, order=order)  # type: ignore[arg-type]
    return back_end, Instrument(back_end, client="test")


def test_files_come_in_order_of_name_and_then_there_are_none(folder: Path) -> None:
    back_end, instrument = afm(folder)
    with pytest.raises(RefusedError, match="approach first"):
        instrument.scan("a")
    for number, i in enumerate([1000, 2000, 2000]):
        assert instrument.snapshot().gains.i == i
        instrument.approach()
        frame = instrument.scan(f"a{number}")
        np.testing.assert_array_equal(frame.data(Z_AXIS), read_nid(folder / f"{number}.nid").frame().data(Z_AXIS))
    assert back_end.remaining == ()
    with pytest.raises(InstrumentError, match="served all of its 3 recordings"):
        instrument.scan("b")
    assert instrument.withdraw().last_frame == "a2"


def test_in_order_of_name_only_the_next_file_can_be_asked_for(folder: Path) -> None:
    _, instrument = afm(folder)
    instrument.set(i=1000)
    with pytest.raises(RefusedError, match=r"next recording has no i = 2000; it is 0.nid \(i = 1000\)"):
        instrument.set(i=2000)
    assert instrument.snapshot().gains.i == 1000


def test_by_settings_the_first_file_that_has_them_is_served(folder: Path) -> None:
    back_end, instrument = afm(folder, "settings")
    instrument.approach()
    instrument.set(i=2000)
    instrument.set(setpoint=0.4)
    assert instrument.scan("a").setpoint == pytest.approx(0.4)
    # Nothing with a setpoint of 0.4 is left.
    with pytest.raises(RefusedError, match=r"no recording has setpoint = 0.4; there are: 0.nid \(setpoint = 0.2"):
        instrument.set(setpoint=0.4)
    instrument.set(i=2000)
    assert instrument.scan("b").scan.direction == "down"
    assert [one.path.name for one in back_end.remaining] == ["0.nid"]


def test_a_value_outside_every_recording_is_refused_by_the_limits(folder: Path) -> None:
    _, instrument = afm(folder, "settings")
    for values in ({"i": 3000}, {"width_m": 1.0}, {"setpoint": 1e9}, {"p": -1}):
        with pytest.raises(RefusedError, match="lies between"):
            instrument.set(**values)
    with pytest.raises(RefusedError, match="take one of"):
        instrument.set_mode("Phase Contrast")
    instrument.set_mode("Lateral Force")
    instrument.select_lever("ContAl-G")


@pytest.mark.parametrize("first", [0, 1])
def test_an_abort_leaves_the_lines_that_were_seen(folder: Path, first: int, tmp_path: Path) -> None:
    shutil.copy(folder / f"{first}.nid", tmp_path)
    _, instrument = afm(tmp_path)
    instrument.approach()
    seen: list[np.ndarray] = []
    frame = instrument.scan("a", lambda line: bool(seen.append(line.forward)) or line.index < 1)
    assert (frame.lines_done, frame.complete) == (2, False)
    z = frame.data(Z_AXIS)
    rows = [0, 1] if first == 0 else [5, 4]
    np.testing.assert_array_equal(z[rows], seen)
    assert np.isnan(np.delete(z, rows, axis=0)).all()


def test_stop_ends_at_the_next_line(folder: Path) -> None:
    _, instrument = afm(folder)
    instrument.approach()
    assert instrument.scan("a", lambda line: instrument.stop() is None).lines_done == 1


def test_a_folder_without_recordings_is_no_instrument(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no \.nid file"):
        ReplayBackEnd(tmp_path)
    (tmp_path / "broken.nid").write_bytes(b"[DataSet]")
    with pytest.raises(NidError, match=r"broken\.nid"):
        ReplayBackEnd(tmp_path)


def test_a_recording_that_vanished_is_an_error(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "r")
    _, instrument = afm(tmp_path / "r")
    (tmp_path / "r" / "0.nid").unlink()
    instrument.approach()
    with pytest.raises(InstrumentError, match=r"0\.nid cannot be read any more"):
        instrument.scan("a")


@pytest.fixture
def recorded(tmp_path: Path, shared_file: Callable[[str], Path]) -> Callable[..., Path]:
    """Make a folder of files of the real microscope."""

    def gather(*names: str) -> Path:
        for name in names:
            shutil.copy(shared_file(f"nid/{name}"), tmp_path)
        return tmp_path

    return gather


def test_friction_against_load_is_read_from_the_real_load_files(recorded: Callable[..., Path]) -> None:
    root = recorded("hopg_step_setpoint_0p2V.nid", "hopg_step_setpoint_0p6V.nid")
    _, instrument = afm(root, "settings")
    instrument.approach()
    # Values of the published files: half the mean difference of the raw channels, V.
    for setpoint, volts in ((0.6, 4.9296794998099e-4), (0.2, 3.0594588963595e-4)):
        instrument.set(setpoint=setpoint)
        frame = instrument.scan("load")
        assert analysis.frame_validity(frame).valid
        half = (frame.data(FRICTION) - frame.data(FRICTION, "backward")).mean() / 2
        assert half == pytest.approx(volts, rel=1e-9)


def test_a_frame_that_was_recorded_in_the_air_does_not_engage(recorded: Callable[..., Path]) -> None:
    _, instrument = afm(recorded("not_engaged.nid"))
    with pytest.raises(InstrumentError, match="not engaged"):
        instrument.approach()
    with pytest.raises(RefusedError, match="approach first"):
        instrument.scan("a")


def test_an_incomplete_recording_stays_incomplete(recorded: Callable[..., Path]) -> None:
    root = recorded("incomplete_frame.nid")
    _, instrument = afm(root)
    instrument.approach()
    seen: list[int] = []
    frame = instrument.scan("a", lambda line: bool(seen.append(line.index)) or True)
    assert not frame.complete
    assert len(seen) == frame.lines_done == read_nid(root / "incomplete_frame.nid").lines_done
