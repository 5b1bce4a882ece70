"""Scripts written for the vendor's interface drive the twin, and meet the guard where they go too far."""

from __future__ import annotations

import contextlib
import math
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.frame import Z_AXIS, Gains
from tasks_lib.instruments.nanosurf import Desk, fake
from tasks_lib.instruments.nanosurf.fake.nanosurf import SPM, Spm, com_error
from tasks_lib.instruments.nid import read_nid, write_nid
from tasks_lib.instruments.protocol import CriticalAction, EventKind, Instrument, SafetyPolicy
from tasks_lib.instruments.replay import ReplayBackEnd

from .conftest import SCAN, GatedTwin


@pytest.fixture
def spm(desk: Desk, gallery: Path):
    spm = fake.connect(desk)
    spm.application.SetGalleryHistoryDirectoryPath(str(gallery))
    return spm


def wait(scan) -> None:
    while scan.IsScanning:
        pass


def test_a_script_of_the_published_kind_sets_approaches_scans_and_saves(spm, twin: GatedTwin, gallery: Path) -> None:
    app = spm.application
    scan, control = app.Scan, app.ZController
    scan.ImageWidth = 4e-7
    scan.ImageHeight = 3e-7
    scan.Scantime = 0.06
    scan.Points = 24
    scan.Lines = 6
    scan.Rotation = 20
    scan.SlopeX = 0.1
    scan.CenterPosX = 1e-8
    scan.Overscan = 5
    control.PGain, control.IGain, control.DGain, control.SetPoint = 209.4, 1500, 2, 0.25
    state = twin.read()
    assert (state.scan.width_m, state.scan.points, state.scan.rotation_deg, state.setpoint) == (4e-7, 24, 20, 0.25)
    assert (state.gains.p, state.gains.i, state.gains.d) == (209, 1500, 2)
    assert (control.PGain, scan.SlopeX, scan.Overscan) == (209, 0.1, 5)
    app.Approach.StartApproach()
    while app.Approach.Status in (1, 2):
        pass
    assert app.Approach.Status == Spm.ApproachStatus.ApproachDone
    app.SetGalleryHistoryFilenameMask("scan_209_1500_2_")
    scan.StartFrameUp()
    wait(scan)
    assert scan.Currentline == 5
    app.Approach.StartWithdraw()
    assert app.Approach.Status == Spm.ApproachStatus.Standby
    frame = read_nid(gallery / "scan_209_1500_2_00001.nid").frame()
    assert (frame.complete, frame.engaged, frame.gains.p, frame.lever) == (True, True, 209, "ContAl-G")
    assert frame.data(Z_AXIS).shape == (6, 24)
    for group, way in enumerate(("forward", "backward")):
        for row in (0, 5):
            text = scan.GetLine(group, Spm.ScanChannel.Topography, row, Spm.DataFilter.RAW, Spm.DataConversion.Physical)
            line = [float(one) for one in text.split(";")]
            np.testing.assert_allclose(line, frame.data(Z_AXIS, way)[row], rtol=1e-7, atol=1e-16)


def test_frames_down_and_stopped_ones_are_saved_as_such(spm, twin: GatedTwin, gallery: Path, gate) -> None:
    app = spm.application
    app.Approach.StartApproach()
    app.SetGalleryHistoryFilenameMask("down-[INDEX]-a")
    app.SetGalleryHistoryFilenameIndex(7)
    app.Scan.StartFrameDown()
    wait(app.Scan)
    assert app.Scan.Currentline == 0
    down = read_nid(gallery / "down-00007-a.nid").frame()
    assert (down.complete, down.scan.direction) == (True, "down")
    twin.before_line = lambda index: gate.hold() if index == 3 else None
    app.Scan.StartFrameUp()
    assert gate.reached.wait(30)
    assert app.Scan.IsScanning
    assert app.Scan.Currentline == 3
    with pytest.raises(com_error):
        app.ZController.IGain = 5
    threading.Timer(0.05, gate.open.set).start()
    app.Scan.Stop()
    assert not app.Scan.IsScanning
    assert not read_nid(gallery / "down-00008-a.nid").frame().complete


HOSTILE = {
    "a negative gain": lambda app: setattr(app.ZController, "PGain", -1),
    "a gain beyond the box": lambda app: setattr(app.ZController, "IGain", 10**12),
    "a metre": lambda app: setattr(app.Scan, "ImageWidth", 1.0),
    "a metre by size": lambda app: app.Scan.ImageSize(1.0, 1.0),
    "no time": lambda app: setattr(app.Scan, "Scantime", 0),
    "a billion volts": lambda app: setattr(app.ZController, "SetPoint", 1e9),
    "no number": lambda app: setattr(app.ZController, "SetPoint", math.nan),
    "infinity": lambda app: setattr(app.Scan, "CenterPosX", math.inf),
    "text": lambda app: setattr(app.Scan, "ImageWidth", "wide"),
    "nothing": lambda app: setattr(app.Scan, "Points", None),
    "a tilt of 90 degrees": lambda app: setattr(app.Scan, "SlopeY", 90),
    "a mode that is none": lambda app: setattr(app.OperatingMode, "OperatingMode", 99),
    "a mode that the twin lacks": lambda app: setattr(app.OperatingMode, "OperatingMode", 1),
    "a lever that is none": lambda app: setattr(app.ScanHead, "CantileverByGUID", "{}"),
    "a lever that the twin lacks": lambda app: setattr(app.ScanHead, "CantileverByGUID", Spm.CantileverGUID.NCLR),
    "a scan without end": lambda app: app.Scan.Start(),
    "a scan in the air": lambda app: app.Scan.StartFrameUp(),
    "a scan in the air, down": lambda app: app.Scan.StartFrameDown(),
}


@pytest.mark.parametrize("order", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_order_raises_and_changes_nothing(spm, twin: GatedTwin, order) -> None:
    before = twin.read()
    with pytest.raises(com_error) as caught:
        order(spm.application)
    assert caught.value.hresult < 0
    # A scan down needs the direction first, which is a setting like others.
    after = twin.read()
    assert after.model_copy(update={"scan": before.scan}) == before
    assert after.scan.model_copy(update={"direction": "up"}) == before.scan


def test_what_was_refused_stands_in_the_log(spm, desk: Desk) -> None:
    with pytest.raises(com_error, match="width_m lies between"):
        spm.application.Scan.ImageWidth = 1.0
    assert desk.instrument.events()[-1].kind is EventKind.REFUSED
    with pytest.raises(com_error, match="continuous scan has no end"):
        spm.application.Scan.Start()


def test_unknown_attributes_raise_or_are_swallowed_as_a_wrapper_would(desk: Desk, twin: GatedTwin) -> None:
    before = twin.read()
    with pytest.raises(AttributeError):
        fake.connect(desk).application.ZController.Pgain = 5
    silent = fake.connect(desk, silent=True).application
    silent.ZController.Pgain = 5
    assert silent.ZController.Pgain == 5
    for place, name in ((silent.Scan, "IsScanning"), (silent.Approach, "Status")):
        with pytest.raises(AttributeError, match="can not be set"):
            setattr(place, name, 1)
    assert twin.read() == before


def test_lever_and_mode_go_by_identifier_and_number(spm, twin: GatedTwin) -> None:
    app = spm.application
    app.ScanHead.CantileverByGUID = spm.CantileverGUID.Tap190Al_G
    app.OperatingMode.OperatingMode = spm.OperatingMode.DynamicAFM
    assert (twin.read().lever, twin.read().mode) == ("Tap190Al-G", "Dynamic Force")
    assert app.ScanHead.CantileverByGUID == spm.CantileverGUID.Tap190Al_G
    assert app.OperatingMode.OperatingMode == 3
    app.ZController.SetPoint = 60
    app.Approach.StartApproach()
    with pytest.raises(com_error, match="the tip is engaged"):
        app.OperatingMode.OperatingMode = spm.OperatingMode.StaticAFM


def test_an_approach_that_finds_nothing_shows_in_the_status(spm, twin: GatedTwin) -> None:
    app = spm.application
    app.ZController.SetPoint = -5.0
    app.Approach.StartApproach()
    assert app.Approach.Status == Spm.ApproachStatus.MaxOut
    with pytest.raises(com_error, match="approach first"):
        app.Scan.StartFrameUp()


def test_lines_with_a_decimal_comma(desk: Desk, gallery: Path) -> None:
    app = fake.connect(desk, comma=True).application
    app.SetGalleryHistoryDirectoryPath(str(gallery))
    app.Approach.StartApproach()
    app.Scan.StartFrameUp()
    wait(app.Scan)
    text = app.Scan.GetLine(0, 1, 0, 0, 1)
    assert "." not in text
    assert text.count(";") == 15
    with pytest.raises(com_error, match="There is no line 8"):
        app.Scan.GetLine(0, 1, 8, 0, 1)
    with pytest.raises(com_error, match="raw heights"):
        app.Scan.GetLine(0, 0, 0, 0, 1)


def test_objects_belong_to_the_thread_that_made_them(spm, desk: Desk) -> None:
    raised: list[int] = []

    def use() -> None:
        for attempt in (lambda: spm.application.Scan.IsScanning, lambda: fake.connect(desk)):
            with pytest.raises(com_error) as caught:
                attempt()
            raised.append(caught.value.hresult)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert raised == [-2147417842, -2147221008]


def test_without_a_program_there_is_no_application(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NANOSURF_URL", raising=False)
    assert SPM().application is None


def test_the_files_for_a_machine_stand_alone() -> None:
    files = fake.files()
    assert {"nanosurf/__init__.py", "pywintypes.py", "pythoncom.py"} <= set(files)
    assert not any(b"tasks_lib" in content or b"import numpy" in content for content in files.values())


def test_a_person_is_asked_before_what_can_harm(twin: GatedTwin) -> None:
    asked: list[str] = []
    policy = SafetyPolicy(needs_approval=frozenset(CriticalAction))
    guard = Instrument(twin, client="agent", policy=policy, approve=lambda _, words: bool(asked.append(words)))
    desk = Desk(guard)
    app = fake.connect(desk).application
    orders = {
        "bring the tip": lambda: app.Approach.StartApproach(),
        "select the lever": lambda: setattr(app.ScanHead, "CantileverByGUID", Spm.CantileverGUID.Multi75Al_G),
        "change the operating mode": lambda: setattr(app.OperatingMode, "OperatingMode", 2),
    }
    for words, order in orders.items():
        with pytest.raises(com_error, match="not approved"):
            order()
        assert words in asked[-1]
    assert not twin.read().engaged
    desk.close()


def test_recordings_are_driven_like_a_microscope(twin: GatedTwin, tmp_path: Path) -> None:
    root = tmp_path / "recorded"
    root.mkdir()
    frames = [twin.microscope.scan(SCAN, Gains(p=50, i=i), 0.3) for i in (1000, 2000)]
    for number, frame in enumerate(frames):
        (root / f"{number}.nid").write_bytes(write_nid(frame))
    desk = Desk(Instrument(ReplayBackEnd(root, order="settings"), client="agent"))
    app = fake.connect(desk).application
    app.SetGalleryHistoryDirectoryPath(str(tmp_path))
    app.ZController.IGain = 2000
    with pytest.raises(com_error, match="no recording has i = 1500"):
        app.ZController.IGain = 1500
    app.Approach.StartApproach()
    app.Scan.StartFrameUp()
    wait(app.Scan)
    served = read_nid(tmp_path / "Image00001.nid").frame()
    step = 32 * np.abs(frames[1].data(Z_AXIS)).max() / 2**32
    np.testing.assert_allclose(served.data(Z_AXIS), frames[1].data(Z_AXIS), rtol=0, atol=step)
    desk.close()


SETTINGS = [("Scan", name) for name in (
    "ImageWidth", "ImageHeight", "Scantime", "Points", "Lines", "CenterPosX", "CenterPosY", "SlopeX", "SlopeY",
    "Rotation", "Overscan",
)] + [("ZController", name) for name in ("SetPoint", "PGain", "IGain", "DGain")]  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(SETTINGS), st.floats() | st.integers() | st.none() | st.text(max_size=4))))
@settings(deadline=None, max_examples=60)
def test_no_row_of_orders_leaves_the_limits(orders: list) -> None:
    twin = GatedTwin()
    desk = Desk(Instrument(twin, client="agent"))
    app = fake.connect(desk).application
    try:
        for (place, name), value in orders:
            with contextlib.suppress(com_error):
                setattr(getattr(app, place), name, value)
        values, limits = twin.read().values(), twin.limits
        for name, span in limits.spans.items():
            assert name == "direction" or span.low <= values[name] <= span.high
        limits.check_state(twin.read())
    finally:
        desk.close()
