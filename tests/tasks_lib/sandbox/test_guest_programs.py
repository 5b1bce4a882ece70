"""Programs start in a known state: the same windows at the same places, and the same pixels each time."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tasks_lib.records import MachineSettings
from tasks_lib.sandbox import environments, provider
from tasks_lib.sandbox.guest.nion import nion_files
from tasks_lib.sandbox.guest.programs import FILES, program_environment, write_settings
from tasks_lib.taskdefs import find_root

# Program, title of its main window, and every window that it may show: title and place of the client area.
STARTS = {
    "fityk": ("Fityk", {"Fityk 1.3.2": None}),
    "gwyddion": ("Gwyddion", {"Gwyddion": (1, 20), "Data Browser": (1082, 495)}),
    "imagej": ("ImageJ", {"ImageJ": (17, 28)}),
    "nionswift": ("Nion Swift", {"Nion Swift 16.14.0 - micrographs: Workspace": None}),
}
# Asks fontconfig as programs do.
FONTS = (
    "import subprocess\n"
    "for name in ('sans', 'serif', 'monospace', 'system-ui', 'Helvetica Neue'):\n"
    "    asked = ['fc-match', name, 'family', 'antialias', 'hintstyle', 'rgba']\n"
    "    print(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())\n"
)
POINTER = "import Xlib.display\nat = Xlib.display.Display().screen().root.query_pointer()\nprint(at.root_x, at.root_y)"


def _start(program: str, title: str, python: Path | None):
    machine = provider("local").open(MachineSettings(), desktop=True, python=python)
    try:
        machine.computer.os.open_program(program)
        machine.computer.wait_for_window(title, 90)
        machine.computer.settle()
        return machine.computer.observe(screenshot=True)
    finally:
        machine.close()


@pytest.mark.desktop
@pytest.mark.parametrize("program", sorted(STARTS))
def test_a_program_starts_alike_on_every_machine(program):
    python = None
    if program == "nionswift":
        environment = environments.find(program, find_root())
        if not environment.is_built:
            pytest.skip("Nion Swift is not there: matassay environments build nionswift")
        python = environment.python
    elif shutil.which(program) is None:
        pytest.skip(f"{program} is not installed: apt-get install {program}")
    title, wanted = STARTS[program]
    first, second = _start(program, title, python), _start(program, title, python)
    for sight in (first, second):
        places = {window.title: (window.x, window.y) for window in sight.observation.windows}
        assert sorted(places) == sorted(wanted)  # no dialog of a first run, no tip of the day
        assert all(place is None or places[name] == place for name, place in wanted.items())
    assert first.png == second.png


@pytest.mark.desktop
def test_fonts_are_not_the_host_s(desktop_machine):
    if shutil.which("fc-match") is None:
        pytest.skip("fc-match is not installed: apt-get install fontconfig")
    asked = desktop_machine.computer.run_script(FONTS, name="fonts", seconds=30)
    assert asked.returncode == 0, asked.stderr
    families = [line.split(":")[0] for line in asked.stdout.splitlines()]
    assert families == ["DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono", "DejaVu Sans", "DejaVu Sans"]
    for line in asked.stdout.splitlines():
        assert ":antialias=True:hintstyle=1:rgba=5" in line


@pytest.mark.desktop
def test_the_pointer_waits_at_the_edge():
    machine = provider("local").open(MachineSettings(), desktop=True)
    try:
        assert machine.computer.run_script(POINTER, name="pointer", seconds=30).stdout.split() == ["1439", "450"]
    finally:
        machine.close()


def test_settings_are_written_whole_and_readable(tmp_path: Path):
    write_settings(tmp_path, tmp_path / "work")
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    wanted = {**FILES, **nion_files(str(tmp_path), f"{tmp_path}/work")}
    assert found == set(wanted)
    for name, text in wanted.items():
        assert (tmp_path / name).read_bytes() == text.encode()
    ET.fromstring(FILES[".config/fontconfig/fonts.conf"].split("\n", 2)[2])  # noqa: S314 - our own text


def test_nion_swift_opens_the_project_that_its_profile_names():
    written = nion_files("/home/u", "/home/u/work")
    folder = "/home/u/.local/share/Nion/Nion Swift"
    profile = json.loads(written[".local/share/Nion/Nion Swift/Profile.nsproj"])
    (reference,) = profile["project_references"]
    project = json.loads(written[".local/share/Nion/Nion Swift/micrographs.nsproj"])
    assert reference["uuid"] == profile["last_project_reference"]
    assert (reference["project_path"], reference["project_uuid"]) == (f"{folder}/micrographs.nsproj", project["uuid"])
    values = json.loads(written[".config/Nion/Nion Swift/nionswift_appdata.json"])["preference-values"]
    assert set(values.values()) == {"/home/u/work"}


def test_java_is_told_its_home_and_heap():
    environment = program_environment("/home/u")
    assert "-Duser.home=/home/u " in environment["_JAVA_OPTIONS"]
    assert "-Xmx1536m" in environment["_JAVA_OPTIONS"]
    assert environment["GTK2_RC_FILES"] == "/home/u/.gtkrc-2.0"
