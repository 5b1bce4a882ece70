"""A script in a machine of ours says ``import nanosurf`` and drives the twin, and cannot do more than that."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tasks_lib.instruments.frame import Z_AXIS
from tasks_lib.instruments.nanosurf import DeskServer, fake
from tasks_lib.instruments.nid import read_nid
from tasks_lib.records import MachineSettings
from tasks_lib.sandbox import Machine, _bubblewrap, provider

from .conftest import TOKEN, GatedTwin

SCRIPT = """
import time
import pythoncom, pywintypes, nanosurf

pythoncom.CoInitialize()
spm = nanosurf.SPM()
app = spm.application
refused = []
for place, name, value in (
    (app.ZController, "PGain", -1), (app.Scan, "ImageWidth", 1.0), (app.ZController, "SetPoint", 1e9),
):
    try:
        setattr(place, name, value)
    except pywintypes.com_error as error:
        refused.append(error.excepinfo[2])
for call in (app.Scan.Start, app.Scan.StartFrameUp):
    try:
        call()
    except pywintypes.com_error as error:
        refused.append(error.excepinfo[2])
print(len(refused), *refused, sep="\\n")
app.ZController.IGain = 1500
app.Scan.ImageSize(4e-7, 4e-7)
app.Approach.StartApproach()
while app.Approach.Status in (1, 2):
    time.sleep(0.01)
app.SetGalleryHistoryFilenameMask("agent-")
app.Scan.StartFrameUp()
while app.Scan.IsScanning:
    time.sleep(0.01)
app.Approach.StartWithdraw()
app.SetGalleryHistoryFilenameMask("left-")
app.Approach.StartApproach()
app.Scan.StartFrameUp()  # and leaves: the frame is saved all the same
"""


@pytest.fixture
def machine(server: DeskServer) -> Iterator[Machine]:
    if (problem := _bubblewrap.problem()) is not None:
        pytest.skip(problem)
    settings = MachineSettings(memory_mb=512, processes=64, disk_mb=64)
    variables = {"NANOSURF_URL": server.url, "NANOSURF_TOKEN": TOKEN}
    machine = provider().open(settings, desktop=False, endpoints={"afm": server.port}, variables=variables)
    for path, content in fake.files().items():
        machine.computer.put_file(path, content)
    yield machine
    machine.close()


def test_a_script_of_an_agent_drives_the_twin_and_nothing_else(machine: Machine, twin: GatedTwin) -> None:
    done = machine.computer.run_script(SCRIPT)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["Connected to running app: CX", "5"]
    for line, words in zip(
        lines[2:],
        ("p lies between", "width_m lies between", "setpoint lies between", "no end", "approach first"),
        strict=True,
    ):
        assert words in line
    frame = read_nid(machine.computer.get_file("agent-00001.nid")).frame()
    assert (frame.complete, frame.gains.i, frame.scan.width_m) == (True, 1500, 4e-7)
    assert read_nid(machine.computer.get_file("left-00002.nid")).complete
    assert frame.data(Z_AXIS).std() > 0
    assert twin.read().engaged
    # No word of this house is in the machine.
    gone = machine.computer.run_script("import tasks_lib")
    assert "No module named 'tasks_lib'" in gone.stderr
