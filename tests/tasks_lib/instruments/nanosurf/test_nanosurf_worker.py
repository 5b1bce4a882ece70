"""The worker as a process of its own, over real HTTP on both sides: `nanosurf` is the fake, the microscope the twin."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from tasks_lib.instruments.frame import FRICTION, Z_AXIS
from tasks_lib.instruments.nanosurf import NanosurfBackEnd
from tasks_lib.instruments.nanosurf.worker import EXAMPLE, TOKEN_VARIABLE, main
from tasks_lib.instruments.protocol import Instrument, InstrumentError, InstrumentLostError, RefusedError
from tasks_lib.instruments.twin import FLEX, twin_limits

from .conftest import COMMAND, ROOT, WORKER_TOKEN, GatedTwin


@pytest.fixture
def limits(tmp_path: Path) -> Path:
    path = tmp_path / "limits.json"
    path.write_text(twin_limits(FLEX, (1e-6, 1e-6)).model_dump_json(), encoding="utf-8")
    return path


@pytest.fixture
def worker_options() -> list[str]:
    return ["--settle", "0"]


def test_the_whole_way_to_a_frame(start, twin: GatedTwin, gallery: Path) -> None:
    process, url = start("--name", "cx", NANOSURF_FAKE="comma")
    afm = Instrument(NanosurfBackEnd(url, WORKER_TOKEN), client="test")
    assert afm.name == "cx"
    afm.set(i=1500, width_m=4e-7, setpoint=0.25)
    assert (twin.read().gains.i, twin.read().setpoint) == (1500, 0.25)
    with pytest.raises(RefusedError, match="approach first"):
        afm.scan("a")
    afm.approach()
    seen: list[np.ndarray] = []
    frame = afm.scan("a", lambda line: bool(seen.append(line.forward)) or True)
    np.testing.assert_allclose(seen, frame.data(Z_AXIS), rtol=1e-7, atol=1e-16)
    assert (frame.complete, frame.engaged, frame.gains.i, frame.scan.width_m) == (True, True, 1500, 4e-7)
    assert frame.data(FRICTION, "backward").shape == (8, 16)
    assert [path.name for path in gallery.iterdir()] == ["a-00001.nid"]
    afm.withdraw()
    assert not twin.read().engaged
    process.terminate()
    assert process.wait(20) == 0


def test_hostile_orders_end_at_the_worker_too(start, twin: GatedTwin) -> None:
    _, url = start()
    back_end = NanosurfBackEnd(url, WORKER_TOKEN)
    before = twin.read()
    for order, rule in (
        (lambda: back_end.write({"p": -1}), "p lies between"),
        (lambda: back_end.write({"width_m": 1.0}), "width_m lies between"),
        (lambda: back_end.write({"setpoint": 1e9}), "setpoint lies between"),
        (lambda: back_end.scan("a", lambda _: True), "approach first"),
        (lambda: back_end.scan("../a", lambda _: True), "a frame's name"),
    ):
        with pytest.raises(InstrumentError, match=rule):
            order()
    assert twin.read() == before


def test_a_worker_that_is_killed_in_a_scan_is_a_lost_instrument(start, twin: GatedTwin, gate) -> None:
    process, url = start()
    afm = Instrument(NanosurfBackEnd(url, WORKER_TOKEN), client="test")
    afm.approach()
    twin.before_line = lambda index: gate.hold() if index == 3 else None

    def kill(line) -> bool:
        if line.index == 1:
            process.kill()
            process.wait(10)
        return True

    with pytest.raises(InstrumentLostError, match="is gone"):
        afm.scan("a", kill)
    with pytest.raises(InstrumentLostError):
        afm.snapshot()


def test_a_program_that_hangs_is_a_lost_instrument(start, twin: GatedTwin, gate) -> None:
    process, url = start("--seconds", "1")
    back_end = NanosurfBackEnd(url, WORKER_TOKEN)
    twin.before_write = gate.hold
    with pytest.raises(InstrumentLostError, match="did not answer within 1 s"):
        back_end.write({"i": 5})
    with pytest.raises(InstrumentLostError, match="still hangs"):
        back_end.read()
    # The thread that hangs does not keep the worker.
    process.terminate()
    assert process.wait(20) == 0


def run(*options: str, variables: dict[str, str] | None = None) -> tuple[int, str, str]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **(variables or {})}
    done = subprocess.run(
        [*COMMAND, *options], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_what_a_worker_needs_is_said_in_one_line(limits: Path, gallery: Path, capsys, monkeypatch) -> None:
    def said(*options: str) -> str:
        monkeypatch.setenv(TOKEN_VARIABLE, WORKER_TOKEN)
        assert main(options) == 2
        text = capsys.readouterr().err
        assert text.count("\n") == 1
        return text

    assert "--example-limits" in said()
    assert "cannot be read" in said("--limits", str(limits.with_name("none")))
    broken = limits.with_name("broken.json")
    broken.write_text('{"spans": {}}', encoding="utf-8")
    assert "modes: Field required" in said("--limits", str(broken))
    assert "--gallery" in said("--limits", str(limits))
    assert "pip install nanosurf==1.12.1" in said("--limits", str(limits), "--gallery", str(gallery))
    monkeypatch.setenv(TOKEN_VARIABLE, "short")
    assert main(["--limits", str(limits)]) == 2
    assert "16 characters" in capsys.readouterr().err
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    assert main([]) == 2


def test_the_example_is_a_limits_file() -> None:
    code, out, _ = run("--example-limits")
    assert code == 0
    assert type(EXAMPLE).model_validate_json(out) == EXAMPLE


def test_the_worker_needs_nothing_that_windows_lacks() -> None:
    """It starts where neither the store, nor httpx, nor a module of Unix alone can be imported."""
    program = textwrap.dedent("""
        import sys
        class Windows:
            absent = {"fcntl", "pwd", "grp", "resource", "termios", "httpx", "fsspec", "prefect", "numba", "scipy",
                      "h5py", "skimage", "tasks_lib.store", "tasks_lib.sandbox", "tasks_lib.instruments.twin"}
            def find_spec(self, name, path=None, target=None):
                if name in self.absent:
                    raise ModuleNotFoundError(f"No module named {name!r}")
        sys.meta_path.insert(0, Windows())
        from tasks_lib.instruments.nanosurf.worker import main
        sys.exit(main(["--example-limits"]))
    """)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
