"""What drives the tree of Nanosurf Studio: an I gain alone, units that are asked for, and frames from stored files."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tasks_lib.instruments.frame import DEFLECTION, Z_AXIS
from tasks_lib.instruments.nanosurf import Desk
from tasks_lib.instruments.nanosurf.fake import connect_studio
from tasks_lib.instruments.nanosurf.fake.nanosurf import studio as vendor
from tasks_lib.instruments.nanosurf.studio import StudioBackEnd, StudioTiming
from tasks_lib.instruments.nhf import read_nhf
from tasks_lib.instruments.nid import read_nid
from tasks_lib.instruments.protocol import (
    Instrument,
    InstrumentError,
    InstrumentLostError,
    Limits,
    RefusedError,
    Span,
)
from tasks_lib.instruments.twin import FLEX, twin_limits
from tasks_lib.records.errors import ConfigurationError

from .conftest import GatedTwin

QUICK = StudioTiming(poll=0.001, frame=30.0, file=0.0)
_ALL = twin_limits(FLEX, (1e-6, 1e-6))
LIMITS = _ALL.model_copy(
    update={
        "spans": {name: span for name, span in _ALL.spans.items() if name not in ("p", "d")},
        "modes": ("Static Force", "Dynamic Force"),
    }
)
PUBLIC = LIMITS.model_copy(
    update={
        "spans": {
            name: span
            for name, span in LIMITS.spans.items()
            if name not in ("center_x_m", "center_y_m", "slope_x_deg", "slope_y_deg", "overscan_percent", "direction")
        }
    }
)

Make = Callable[..., StudioBackEnd]


@pytest.fixture
def make(desk: Desk, gallery: Path) -> Make:
    def make(words: str = "", limits: Limits = LIMITS, **options) -> StudioBackEnd:
        plain = {"timing": QUICK, "script_error": vendor.StudioScriptError, "read_file": read_nhf, "name": "studio"}
        return StudioBackEnd(lambda: connect_studio(desk, words).spm, limits, gallery, **{**plain, **options})

    return make


@pytest.fixture
def afm(make: Make) -> Instrument:
    return Instrument(make(), client="test")


@pytest.mark.parametrize("words", ["", "v1", "quiet"])
def test_settings_scan_and_frame_go_through_the_tree(make: Make, twin: GatedTwin, gallery: Path, words: str) -> None:
    back_end = make(words)
    afm = Instrument(back_end, client="test")
    assert not afm.limits.reports_lines
    afm.set(width_m=4e-7, points=20, lines=6, i=1500, setpoint=0.25, rotation_deg=10, slope_x_deg=0.2)
    afm.set(time_per_line_s=0.06, center_x_m=1e-8, overscan_percent=5)
    state = twin.read()
    assert (state.scan.points, state.scan.time_per_line_s, state.gains.i) == (20, pytest.approx(0.06), 1500)
    assert (state.setpoint, state.mode) == (pytest.approx(0.25), "Static Force")
    with pytest.raises(RefusedError, match="approach first"):
        afm.scan("a")
    assert afm.approach().engaged
    seen: list[np.ndarray] = []
    frame = afm.scan("a", lambda line: bool(seen.append(line.forward)) or True)
    assert (frame.complete, frame.engaged, frame.gains.i, frame.gains.p) == (True, True, 1500, 0)
    assert (frame.mode, frame.lever, frame.setpoint) == ("Static Force", "ContAl-G", pytest.approx(0.25))
    np.testing.assert_array_equal(seen, frame.data(Z_AXIS))
    assert (DEFLECTION, "backward") in frame.channels
    assert read_nid(back_end.encode(frame)).frame().complete
    afm.set(direction="down")
    down: list[np.ndarray] = []
    frame = afm.scan("b", lambda line: bool(down.append(line.forward)) or True)
    np.testing.assert_array_equal(down[::-1], frame.data(Z_AXIS))
    assert sorted(path.name for path in gallery.iterdir()) == ["a_00001.nhf", "b_00002.nhf"]
    assert not afm.withdraw().engaged
    assert not afm.retract().engaged


def test_its_values_are_those_of_the_twin(afm: Instrument, twin: GatedTwin) -> None:
    here, there = afm.snapshot(), twin.read()
    assert here.values() == {**there.values(), "p": 0, "d": 0} | {
        name: pytest.approx(there.values()[name]) for name in ("time_per_line_s", "setpoint")
    }
    assert (here.mode, here.lever, here.approach) == (there.mode, there.lever, there.approach)


def test_p_and_d_are_refused_by_name(afm: Instrument, make: Make) -> None:
    for name in ("p", "d"):
        with pytest.raises(RefusedError, match=f"{name} cannot be set on this instrument"):
            afm.set(**{name: 3})
        with pytest.raises(InstrumentError, match=f"cannot set {name}: Nanosurf Studio has an I gain alone"):
            make().write({name: 3})
    with pytest.raises(ConfigurationError, match="take d and p out of the spans"):
        make(limits=_ALL)


def test_lever_and_mode_and_the_unit_of_the_setpoint(afm: Instrument, twin: GatedTwin) -> None:
    afm.select_lever("Tap190Al-G")
    afm.set_mode("Dynamic Force")
    assert (twin.read().lever, twin.read().mode) == ("Tap190Al-G", "Dynamic Force")
    afm.set(setpoint=60)
    assert twin.read().setpoint == 60
    afm.approach()
    frame = afm.scan("a")
    assert (frame.mode, frame.setpoint, frame.complete) == ("Dynamic Force", 60, True)


def test_a_program_that_shows_the_public_names_alone(make: Make, twin: GatedTwin) -> None:
    with pytest.raises(ConfigurationError, match=r"does not show center_x_m, .*overscan_percent, direction: take"):
        make("public")
    back_end = make("public", PUBLIC)
    afm = Instrument(back_end, client="test")
    assert afm.snapshot().mode == "Static Force"  # loaded, as the program does not say
    with pytest.raises(RefusedError, match="slope_x_deg cannot be set"):
        afm.set(slope_x_deg=0.1)
    with pytest.raises(InstrumentError, match="cannot set direction"):
        afm.set(direction="down")
    afm.set(i=1200)
    afm.approach()
    assert afm.scan("a").complete


def test_the_tip_is_withdrawn_at_the_start_and_only_own_motions_count(desk: Desk, make: Make, twin: GatedTwin) -> None:
    desk.approach(5)
    back_end = make()
    assert not twin.read().engaged
    desk.approach(5)
    with pytest.raises(RefusedError, match="approach first"):
        Instrument(back_end, client="test").scan("a")


@pytest.mark.parametrize("words", ["", "quiet"])
def test_a_tip_that_finds_nothing_is_withdrawn(make: Make, twin: GatedTwin, words: str) -> None:
    afm = Instrument(make(words), client="test")
    afm.set(setpoint=-1.0)
    with pytest.raises(InstrumentError, match=r"did not carry out approach\.approach: Script Error: .*not engaged"):
        afm.approach(5)
    assert not twin.read().engaged


@pytest.mark.parametrize("words", ["", "quiet"])
def test_a_value_that_the_program_refuses_is_an_error(make: Make, words: str) -> None:
    back_end = make(words, LIMITS.model_copy(update={"spans": LIMITS.spans | {"width_m": Span(low=0, high=1)}}))
    with pytest.raises(InstrumentError, match=r"did not set imaging\.scan_range_fast_axis = 0\.5: .*width_m lies"):
        back_end.write({"width_m": 0.5})
    with pytest.raises(InstrumentError, match=r"was told z_control\.i_gain = 7\.4 and reports 7"):
        back_end.write({"i": 7.4})


def test_a_stop_from_another_thread_ends_the_scan_and_its_part_is_the_frame(afm: Instrument, twin: GatedTwin) -> None:
    afm.approach()
    with ThreadPoolExecutor(1) as pool:
        stops = []
        twin.before_line = lambda index: (
            (stops.append(pool.submit(afm.stop)), twin._stopped.wait(30)) if index == 3 else 0
        )
        frame = afm.scan("a")
        stops[0].result(30)
    assert (frame.complete, frame.lines_done) == (False, 4)
    assert np.isnan(frame.data(Z_AXIS)[4:]).all()


def test_a_scan_beyond_its_time_is_stopped(make: Make, twin: GatedTwin) -> None:
    afm = Instrument(make(timing=StudioTiming(poll=0.001, frame=-1.0, file=0.0)), client="test")
    afm.approach()
    twin.before_line = lambda index: index == 2 and twin._stopped.wait(30)
    assert not afm.scan("a").complete


def test_a_frame_that_outlasts_the_lease_is_refused(afm: Instrument) -> None:
    afm.approach()
    afm.set(lines=64, time_per_line_s=3.0)
    with pytest.raises(
        RefusedError, match=r"reports no line while it scans, so a frame takes 240 s at most, not 384 s"
    ):
        afm.scan("a")


def _torn(content: bytes) -> bytes:
    return content[: len(content) // 2]


@pytest.mark.parametrize(
    ("work", "rule"),
    [
        (lambda folder, content: None, "stored no file in"),
        (lambda folder, content: (folder / "a.nhf").write_bytes(_torn(content)), "a file that cannot be read: a.nhf"),
        (
            lambda folder, content: [(folder / name).write_bytes(content) for name in ("a.nhf", "b.nhf")],
            "2 files came into",
        ),
    ],
)
def test_no_file_a_torn_one_and_two_are_errors(
    afm: Instrument, gallery: Path, monkeypatch: pytest.MonkeyPatch, work, rule: str
) -> None:
    afm.approach()
    afm.scan("whole")
    content = (gallery / "whole_00001.nhf").read_bytes()
    monkeypatch.setattr(vendor, "_save", lambda _: work(gallery, content))
    with pytest.raises(InstrumentError, match=rule):
        afm.scan("a")


def test_a_file_that_is_still_being_written_is_waited_for(
    make: Make, gallery: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []

    def read(content: bytes, *, name: str):
        reads.append(len(content))
        if len(reads) == 1:  # the program goes on writing while we look
            whole = path_of(name).with_suffix(".part").read_bytes()
            path_of(name).write_bytes(whole)
        return read_nhf(content, name=name)

    def path_of(name: str) -> Path:
        return gallery / name

    afm = Instrument(make(read_file=read, timing=StudioTiming(poll=0.001, file=30.0)), client="test")
    afm.approach()
    save = vendor._save

    def half(context) -> None:
        save(context)
        path = next(gallery.glob("*.nhf"))
        path.with_suffix(".part").write_bytes(path.read_bytes())
        path.write_bytes(_torn(path.read_bytes()))

    monkeypatch.setattr(vendor, "_save", half)
    assert afm.scan("a").complete
    assert len(reads) == 2
    assert reads[0] < reads[1]


def test_a_frame_without_lines_is_given_its_own_time(afm: Instrument) -> None:
    desk = Desk(afm, call_seconds=20)
    desk.approach(5)
    serial = desk.begin_scan("a").serial
    while (progress := desk.progress(0, 1.0)).running:
        pass
    assert (progress.serial, progress.fault, progress.lines_done) == (serial, None, 8)
    assert desk._scan.patience > 20 + 2 * desk.state().scan.frame_time_s
    desk.close()


def test_the_file_of_another_scan_is_none(afm: Instrument, gallery: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    afm.approach()
    afm.scan("before")
    content = (gallery / "before_00001.nhf").read_bytes()
    monkeypatch.setattr(vendor, "_save", lambda _: (gallery / "c.nhf").write_bytes(content))
    afm.set(i=1234)
    with pytest.raises(InstrumentError, match=r"c\.nhf has i = 2000, and the scan was told 1234: another's file"):
        afm.scan("a")


def test_a_program_that_is_gone_is_a_lost_instrument(desk: Desk, afm: Instrument) -> None:
    desk.close()
    with pytest.raises(InstrumentLostError, match="the program of studio is gone"):
        afm.set(i=5)


def test_what_a_program_must_have(make: Make, gallery: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="no Nanosurf Studio with an open session"):
        StudioBackEnd(lambda: None, LIMITS, gallery, script_error=vendor.StudioScriptError)
    with pytest.raises(ConfigurationError, match=r"modes that are not driven here: \['Lateral Force'\]"):
        make(limits=LIMITS.model_copy(update={"modes": ("Lateral Force",)}))
    monkeypatch.setattr(vendor.Imaging, "rotation_unit", "rad")
    with pytest.raises(ConfigurationError, match=r"has imaging\.rotation in 'rad': set the program to °"):
        make()


def test_the_fake_without_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NANOSURF_URL", raising=False)
    studio = vendor.Studio()
    assert (studio.connect(), studio.is_connected, studio.last_error) == (
        False,
        False,
        "[Errno 111] Connection refused",
    )


TREE = "cmd_tree_spm.py"
IMPORTED = "import nanosurf.lib.spm.studio.wrapper as wrap"


def vendor_tree() -> tuple[str, type]:
    """The tree of the vendor's package, run without what it imports, which wants more than Linux has."""
    spec = importlib.util.find_spec("nanosurf")
    found = sorted(Path(spec.origin).parent.rglob(TREE)) if spec and spec.origin else []
    if not found:
        pytest.skip("neither nanosurf 1.14 nor nanosurf-core, which bring the tree along, is installed")
    text = found[0].read_text(encoding="utf-8")
    assert IMPORTED in text
    names: dict = {"wrap": SimpleNamespace(CmdTreeNode=object, CmdTreeProp=object)}
    exec(text.replace(IMPORTED, ""), names)  # noqa: S102 - the vendor's names are what is compared
    return text, names["Root"]


def test_the_names_of_the_fake_are_the_vendors(desk: Desk) -> None:
    """Where a package of the vendor's is installed, every name that the fake shows is in its tree, of the same kind."""
    text, root = vendor_tree()
    compared = 0

    def compare(ours, theirs) -> None:
        nonlocal compared
        for name in (one for one in dir(type(ours)) if not one.startswith("_")):
            real, fake = getattr(type(theirs), name, None), getattr(type(ours), name)
            assert real is not None, f"{type(theirs).__name__} has no {name}"
            assert isinstance(real, property) == isinstance(fake, property), name
            if isinstance(fake, type):
                assert {one.name: one.value for one in fake} == {one.name: one.value for one in real}
            elif isinstance(fake, property) and fake.fset is not None:
                assert real.fset is not None, name
            compared += 1
        for name, node in vars(ours).items():
            if not name.startswith("_"):
                compare(node, getattr(theirs, name))

    # That of nanosurf 1.14 has the public names; that of nanosurf-core all of them.
    compare(connect_studio(desk, "" if "slow_axis_scan_direction" in text else "public").spm, root(None))
    assert compared > 20


class Wire:
    """What the vendor's wrapper calls a context: its commands, carried to the nodes of the fake."""

    def __init__(self, fake) -> None:
        self._fake, self.last_error = fake, ""

    def call(self, command: str, *values):
        *path, last = command.split(".")[1:]
        kind = last.rpartition("_")[2]
        node = self._fake
        for name in path[:-1] if kind in ("get", "set") else path:
            node = getattr(node, name)
        if kind not in ("get", "set"):
            return getattr(node, last)(*values)
        attribute, part = path[-1], last.rpartition("_")[0]
        if part == "value_raw":
            if kind == "get":
                return getattr(node, attribute).value
            return setattr(node, attribute, getattr(node, f"{attribute}_enum")(values[0]))
        name = attribute if part == "value" else f"{attribute}_{part}"
        return getattr(node, name) if kind == "get" else setattr(node, name, *values)


def test_the_back_end_drives_the_vendors_own_wrapper(desk: Desk, make: Make, twin: GatedTwin, gallery: Path) -> None:
    """Where a package of the vendor's is installed: its classes, with the fake at the other end of their commands."""
    text, root = vendor_tree()
    whole = "slow_axis_scan_direction" in text

    def connect():
        return root(Wire(connect_studio(desk, "" if whole else "public").spm))

    limits = LIMITS if whole else PUBLIC
    options = {"script_error": vendor.StudioScriptError, "timing": QUICK, "read_file": read_nhf}
    afm = Instrument(StudioBackEnd(connect, limits, gallery, **options), client="test")
    afm.set(i=1500, points=20, setpoint=0.25, rotation_deg=10)
    afm.select_lever("Tap190Al-G")
    afm.set_mode("Dynamic Force")
    afm.set(setpoint=60)
    afm.approach()
    frame = afm.scan("a")
    assert (frame.complete, frame.gains.i, frame.scan.points, frame.lever) == (True, 1500, 20, "Tap190Al-G")
    if whole:
        afm.set(direction="down", overscan_percent=5, slope_x_deg=0.2, center_x_m=1e-8)
        assert afm.scan("b").scan.direction == "down"
    with pytest.raises(RefusedError, match="p cannot be set"):
        afm.set(p=3)
    assert not afm.withdraw().engaged
