"""`matassay afm tune --instrument nanosurf` from the command line to the tip, each part a process of its own.

The command starts Prefect; the flow asks the worker over HTTP; the worker drives the vendor's `nanosurf`, which is the
fake; behind the fake, over HTTP again, the twin of this process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tasks_lib.instruments.frame import FRICTION, Gains, ScanSettings
from tasks_lib.instruments.nanosurf import Desk, DeskServer, fake
from tasks_lib.instruments.nid import read_nid
from tasks_lib.instruments.protocol import Instrument
from tasks_lib.instruments.reach import TOKEN_VARIABLE
from tasks_lib.instruments.tuning.folder import TuningFolder
from tasks_lib.instruments.twin import FLEX, Microscope, TwinBackEnd, samples, twin_limits
from tasks_lib.store import Store

ROOT = Path(__file__).resolve().parents[2]
TOKEN, TWIN_TOKEN = "the-secret-of-the-worker", "the-secret-of-the-twin"
BEFORE = Gains(p=50, i=700)
LABELS = [
    "before/frame-1", "before/frame-2", "gen-01/scan-001", "gen-02/scan-002", "verify-1/frame-1", "verify-1/frame-2",
]  # fmt: skip


@pytest.fixture
def twin() -> TwinBackEnd:
    scan = ScanSettings(width_m=5e-7, height_m=5e-7, points=32, lines=32, time_per_line_s=0.1)
    microscope = Microscope(samples.hopg_steps(layers=(2,), seed=3), FLEX, "ContAl-G", seed=4)
    return TwinBackEnd(microscope, scan, BEFORE, 0.3, name="twin")


@pytest.fixture
def worker(twin: TwinBackEnd, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The worker's process and its address; it saves into `gallery` of the test's folder."""
    limits = tmp_path / "limits.json"
    limits.write_text(twin_limits(FLEX, (1e-6, 1e-6)).model_dump_json(), encoding="utf-8", newline="\n")
    desk = Desk(Instrument(twin, client="desk"), call_seconds=60)
    with DeskServer(desk, TWIN_TOKEN) as server:
        environ = {
            "PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([str(ROOT), str(fake.FOLDER)]),
            "NANOSURF_URL": server.url, "NANOSURF_TOKEN": TWIN_TOKEN, TOKEN_VARIABLE: TOKEN,
        }  # fmt: skip
        command = [
            sys.executable, "-m", "tasks_lib.instruments.nanosurf.worker", "--limits", str(limits),
            "--gallery", str(tmp_path / "gallery"), "--name", "cx", "--port", "0", "--settle", "0",
        ]  # fmt: skip
        with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                lines = iter(process.stdout.readline, "")
                yield process, next(json.loads(line)["url"] for line in lines if line.startswith("{"))
            finally:
                process.kill()
    desk.close()


def _marked(variable: str, value: str) -> list[psutil.Process]:
    """Find the processes that were started with this in their environment, wherever they hang now."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(variable) == value and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_gains_are_tuned_through_prefect_and_the_workers_process(
    twin: TwinBackEnd,
    worker: tuple[subprocess.Popen[str], str],
    store: Store,
    tmp_path: Path,
    until: Callable[..., Any],
) -> None:
    process, url = worker
    state = str(tmp_path / "state")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "MATASSAY_"))}
    environ |= {"MATASSAY_STATE": state, TOKEN_VARIABLE: TOKEN}
    words = [
        "--instrument", "nanosurf", "--worker", url, "--approach", "--probe-lines", "16", "--strategy", "sobol",
        "--budget", "2", "--fresh-frames", "2", "--p", "0,100", "--i", "1000,3000", "--d", "0,0",
        "--store", store.url, "--json",
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "tasks_lib.cli", "afm", "tune", *words],
        env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["plan"]["label"] for one in events if one["event"] == "scan-ended"] == LABELS

    (name,) = [path.name for path in (tmp_path / "store" / "tunings").iterdir()]
    folder = TuningFolder(store, name)
    result, start, scans = folder.read_result(), folder.start(), folder.scans()
    assert result is not None
    assert start is not None
    assert (start.instrument, start.state.gains) == ("cx", BEFORE)
    assert [one.plan.label for one in scans] == LABELS
    for one in scans:
        assert one.nid is not None
        frame = read_nid(store.read_bytes(one.nid)).frame()
        assert (frame.gains, frame.complete, frame.engaged) == (one.plan.gains, True, True)
        assert frame.data(FRICTION, "backward").shape == (16, 32)
    assert len(list((tmp_path / "gallery").glob("*.nid"))) == len(scans), "each was saved by the program once"

    after = twin.read()
    assert (result.outcome, after.gains) == ("applied", result.gains)
    assert result.gains in [one.plan.gains for one in scans if one.plan.number is not None]
    assert (after.scan.lines, after.engaged, after.scanning) == (32, False, False)

    until(lambda: not _marked("MATASSAY_STATE", state), 30, "the command leaves no process")
    process.terminate()
    assert process.wait(20) == 0
    assert not _marked("NANOSURF_TOKEN", TWIN_TOKEN)
