"""A program that stopped for good is told from one that rests and from one that works."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import nullcontext, suppress

import pytest

from tasks_lib.records import MachineSettings
from tasks_lib.records.errors import MachineLostError, ProgramStuckError
from tasks_lib.sandbox import Computer, Machine, ScriptResult, environments, provider
from tasks_lib.taskdefs import find_root

# Program and what its window's title contains: GTK 2, GTK 3, Qt 5 and, from an environment, Qt 6.
PROGRAMS = {"gwyddion": "Gwyddion", "fityk": "Fityk", "veusz": "Untitled", "nionswift": "Nion Swift"}
SIGNAL = "import os, signal\nos.kill({pid}, signal.{name})\n"
# Declares the protocol and never answers, as a program does that computes in the thread of its events.
SILENT = """
import os
import threading
from Xlib import X
from Xlib.display import Display
display = Display()
window = display.screen().root.create_window(40, 40, 300, 200, 0, X.CopyFromParent)
window.set_wm_name("silent window")
window.set_wm_protocols([display.get_atom(name) for name in {protocols}])
window.change_property(display.get_atom("_NET_WM_PID"), display.get_atom("CARDINAL"), 32, [os.getpid()])
window.map()
display.sync()
{then}
"""


@pytest.fixture
def program(request: pytest.FixtureRequest) -> str | None:
    """The program that a test starts, if any."""
    return getattr(request, "param", None)


@pytest.fixture
def machine(program: str | None) -> Iterator[Machine]:
    python = None
    if program == "nionswift":
        environment = environments.find(program, find_root())
        if not environment.is_built:
            pytest.skip("Nion Swift is not there: matassay environments build nionswift")
        python = environment.python
    elif program is not None and shutil.which(program) is None:
        pytest.skip(f"{program} is not installed: apt-get install {program}")
    machine = provider("local").open(MachineSettings(), desktop=True, python=python)
    yield machine
    machine.close()


@pytest.fixture
def computer(machine: Machine) -> Computer:
    return machine.computer


def _signal(computer: Computer, pid: int, name: str) -> None:
    sent = computer.run_script(SIGNAL.format(pid=pid, name=name), name="send", seconds=30)
    assert sent.returncode == 0, sent.stderr


@pytest.mark.desktop
@pytest.mark.parametrize("program", sorted(PROGRAMS), indirect=True)
def test_a_stopped_program_is_found_and_one_that_goes_on_is_not(computer, program):
    computer.os.open_program(program)
    window = computer.wait_for_window(PROGRAMS[program], 90)
    computer.settle()
    assert window.pid is not None
    computer.check_programs(1.0)
    _signal(computer, window.pid, "SIGSTOP")
    with pytest.raises(ProgramStuckError, match="has not answered"):
        computer.check_programs(1.0)
    _signal(computer, window.pid, "SIGCONT")
    computer.check_programs(1.0)


@pytest.mark.desktop
@pytest.mark.parametrize(
    ("protocols", "then", "stuck"),
    [
        (["_NET_WM_PING"], "threading.Event().wait()", True),
        (["_NET_WM_PING"], "while True: pass", False),
        (["WM_DELETE_WINDOW"], "threading.Event().wait()", False),
    ],
    ids=["waits-for-itself", "computes", "cannot-be-asked"],
)
def test_a_silent_program_is_stuck_only_where_it_could_answer_and_does_nothing(machine, protocols, then, stuck):
    computer = machine.computer

    ended: list[ScriptResult] = []

    def show() -> None:
        with suppress(MachineLostError):  # its machine ends first
            ended.append(computer.run_script(SILENT.format(protocols=protocols, then=then), name="silent", seconds=300))

    computer.settle()  # no real program is up so soon that the window manager is still at its start
    showing = threading.Thread(target=show)
    showing.start()
    try:
        computer.wait_for_window("silent window", 60)
        assert not ended, ended[0].stderr
        with pytest.raises(ProgramStuckError, match="silent window") if stuck else nullcontext():
            computer.check_programs(1.0)
    finally:
        machine.close()
        showing.join()


@pytest.mark.desktop
def test_a_desktop_without_programs_is_well(computer):
    computer.check_programs(1.0)
