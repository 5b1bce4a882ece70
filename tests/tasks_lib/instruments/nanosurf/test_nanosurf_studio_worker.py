"""Nanosurf Studio behind the worker as a process of its own: the way over HTTP is that of the classic programs."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tasks_lib.instruments.frame import DEFLECTION, Z_AXIS, Gains
from tasks_lib.instruments.nanosurf import NanosurfBackEnd, fake
from tasks_lib.instruments.nanosurf.worker import EXAMPLE_STUDIO, TOKEN_VARIABLE, main
from tasks_lib.instruments.protocol import Instrument, InstrumentError, InstrumentLostError, Limits, RefusedError
from tasks_lib.instruments.reach import TOKEN_VARIABLE as REACH_TOKEN
from tasks_lib.instruments.tuning.bench import open_bench
from tasks_lib.instruments.tuning.folder import TuningFolder
from tasks_lib.instruments.tuning.session import open_session
from tasks_lib.instruments.tuning.session_records import TuningOrder
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import Store, acquire

from .conftest import COMMAND, ROOT, WORKER_TOKEN, GatedTwin, Start
from .test_nanosurf_studio import LIMITS

PROGRAM = ["--program", "studio"]


@pytest.fixture
def limits(tmp_path: Path) -> Path:
    path = tmp_path / "limits.json"
    path.write_text(LIMITS.model_dump_json(), encoding="utf-8")
    return path


@pytest.fixture
def worker_options() -> list[str]:
    return PROGRAM


@pytest.mark.parametrize("words", ["", "quiet v1"])
def test_the_whole_way_to_a_frame(start: Start, twin: GatedTwin, gallery: Path, words: str) -> None:
    process, url = start("--name", "drive", NANOSURF_FAKE=words)
    afm = Instrument(NanosurfBackEnd(url, WORKER_TOKEN), client="test")
    assert (afm.name, afm.limits.reports_lines) == ("drive", False)
    afm.set(i=1500, width_m=4e-7, setpoint=0.25)
    assert (twin.read().gains.i, twin.read().setpoint) == (1500, pytest.approx(0.25))
    with pytest.raises(RefusedError, match="approach first"):
        afm.scan("a")
    afm.approach()
    seen: list[np.ndarray] = []
    frame = afm.scan("a", lambda line: bool(seen.append(line.forward)) or True)
    # Over the wire goes a `.nid` file with codes of its own.
    np.testing.assert_allclose(seen, frame.data(Z_AXIS), rtol=1e-6, atol=1e-15)
    assert (frame.complete, frame.engaged, frame.gains, frame.scan.width_m) == (True, True, Gains(p=0, i=1500), 4e-7)
    assert frame.data(DEFLECTION, "backward").shape == (8, 16)
    assert [path.name for path in gallery.iterdir()] == ["a_00001.nhf"]
    afm.withdraw()
    assert not twin.read().engaged
    process.terminate()
    assert process.wait(20) == 0


def test_hostile_orders_end_at_the_worker_too(start: Start, twin: GatedTwin) -> None:
    _, url = start()
    back_end = NanosurfBackEnd(url, WORKER_TOKEN)
    before = twin.read()
    for order, rule in (
        (lambda: back_end.write({"p": 1}), "p cannot be set on this instrument"),
        (lambda: back_end.write({"d": 1}), "d cannot be set on this instrument"),
        (lambda: back_end.write({"i": -1}), "i lies between"),
        (lambda: back_end.write({"width_m": 1.0}), "width_m lies between"),
        (lambda: back_end.write({"setpoint": 1e9}), "setpoint lies between"),
        (lambda: back_end.scan("a", lambda _: True), "approach first"),
        (lambda: back_end.scan("../a", lambda _: True), "a frame's name"),
    ):
        with pytest.raises(InstrumentError, match=rule):
            order()
    assert twin.read() == before


def test_a_scan_that_is_stopped_half_way_is_its_part(start: Start, twin: GatedTwin) -> None:
    _, url = start()
    afm = Instrument(NanosurfBackEnd(url, WORKER_TOKEN), client="test")
    afm.approach()
    with ThreadPoolExecutor(1) as pool:
        stops = []

        def line(index: int) -> None:
            if index == 3:
                stops.append(pool.submit(afm.stop))
                twin._stopped.wait(30)

        twin.before_line = line
        frame = afm.scan("a")
        stops[0].result(30)
    assert (frame.complete, frame.lines_done) == (False, 4)
    twin.before_line = lambda _: None
    assert afm.scan("b").complete


def test_a_worker_that_is_killed_in_a_scan_is_a_lost_instrument(start: Start, twin: GatedTwin) -> None:
    process, url = start()
    afm = Instrument(NanosurfBackEnd(url, WORKER_TOKEN), client="test")
    afm.approach()
    twin.before_line = lambda index: (process.kill(), process.wait(10)) if index == 3 else None
    with pytest.raises(InstrumentLostError, match="is gone"):
        afm.scan("a")
    with pytest.raises(InstrumentLostError):
        afm.snapshot()


def test_a_program_that_hangs_is_a_lost_instrument(start: Start, twin: GatedTwin, gate) -> None:
    process, url = start("--seconds", "1")
    back_end = NanosurfBackEnd(url, WORKER_TOKEN)
    twin.before_write = gate.hold
    with pytest.raises(InstrumentLostError, match="did not answer within 1 s"):
        back_end.write({"i": 5})
    process.terminate()
    assert process.wait(20) == 0


def test_what_a_worker_needs_is_said(limits: Path, gallery: Path, capsys, monkeypatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, WORKER_TOKEN)
    assert main(["--program", "studio", "--limits", str(limits), "--gallery", str(gallery)]) == 2
    assert "pip install nanosurf-core h5py" in capsys.readouterr().err
    assert main(["--program", "studio", "--example-limits"]) == 0
    assert Limits.model_validate_json(capsys.readouterr().out) == EXAMPLE_STUDIO
    assert not {"p", "d"} & set(EXAMPLE_STUDIO.spans)


def test_no_program_is_said_in_one_line(limits: Path, gallery: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(fake.FOLDER)]),
        TOKEN_VARIABLE: WORKER_TOKEN,
    }
    command = [*COMMAND, *PROGRAM, "--limits", str(limits), "--gallery", str(gallery), "--port", "0"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no Nanosurf Studio with an open session" in done.stderr


def test_the_i_gain_is_tuned_through_it(
    start: Start, twin: GatedTwin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, url = start("--name", "drive")
    monkeypatch.setenv(REACH_TOKEN, WORKER_TOKEN)
    store = Store.open(str(tmp_path / "store"))

    def tune(name: str, **box: tuple[int, int]) -> TuningFolder:
        folder = TuningFolder(store, name)
        fields = {
            "strategy": "random", "budget": 3, "fresh_frames": 2, "back_end": "nanosurf", "worker": url,
            "may_approach": True, "probe_lines": 8, "box": {"i": (500, 3000), **box},
        }  # fmt: skip
        folder.begin(TuningOrder.model_validate(fields))
        return folder

    folder = tune("all")
    bench = open_bench(folder.order(), folder.tuning_id)
    with pytest.raises(ConfigurationError, match=r"p cannot be set: search without it"), open_session(folder, bench):
        pass
    bench.close()
    folder = tune("i", p=(0, 0), d=(0, 0))
    bench = open_bench(folder.order(), folder.tuning_id)
    before = twin.read()
    tried = []
    with open_session(folder, bench) as session:
        while (group := session.next_group()) is not None:
            tried += [session.scan(plan) for plan in group.plans]
        result = session.finish()
    bench.close()
    assert len(tried) >= 3 + 2
    assert all(record is not None and record.score is not None for record in tried)
    assert {record.plan.gains.p for record in tried if record} == {0}
    after = twin.read()
    assert (after.gains.i, after.gains.p) == (result.gains.i, before.gains.p)
    assert after.scan.lines == before.scan.lines
    assert not after.engaged, "it is left as it was found"
    acquire(store, "instruments/drive", seconds=5).release()
