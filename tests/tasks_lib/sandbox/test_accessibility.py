"""The accessibility tree that a real program serves on a real desktop."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tasks_lib.records import MachineSettings
from tasks_lib.records.errors import ActionError
from tasks_lib.sandbox import provider
from tasks_lib.sandbox.guest.accessibility import Accessibility, SilentBusError
from tasks_lib.sandbox.guest.programs import program_environment

NEEDED = {"fityk": "fityk", "/usr/libexec/at-spi-bus-launcher": "at-spi2-core"}
MISSING = sorted(package for program, package in NEEDED.items() if shutil.which(program) is None)


@pytest.fixture(scope="module")
def served():
    """Fityk on a machine that serves the tree."""
    if MISSING:
        pytest.skip(f"not installed: apt-get install {' '.join(MISSING)}")
    machine = provider("local").open(MachineSettings(accessibility=True), desktop=True)
    computer = machine.computer
    computer.os.open_program("fityk")
    computer.wait_for_window("ityk", 60)
    computer.settle()
    yield computer
    machine.close()


def named(tree, *roles):
    return {element.name: element for element in tree.elements if element.role in roles}


@pytest.mark.desktop
def test_menus_and_buttons_are_told_with_name_and_place(served):
    tree = served.accessible()
    assert tree.problem == ""
    menus = named(tree, "menu")
    assert set(menus) == {"Session", "Data", "Functions", "Fit", "Tools", "GUI", "Help"}
    window = served.observe(screenshot=False).observation.windows[0]
    for menu in menus.values():
        assert menu.window == window.title
        assert window.x <= menu.x <= menu.x + menu.width <= window.x + window.width
        assert window.y <= menu.y <= menu.y + menu.height <= window.y + window.height
    # One beside the other, as they are shown.
    assert [menu.name for menu in sorted(menus.values(), key=lambda item: item.x)][:3] == [
        "Session",
        "Data",
        "Functions",
    ]


@pytest.mark.desktop
def test_what_an_open_menu_covers_is_left_out_and_where_it_says_a_click_acts(served):
    before = [element for element in served.accessible().elements if element.role == "push button"]
    session = named(served.accessible(), "menu")["Session"]
    served.mouse.move_abs(session.x + session.width // 2, session.y + session.height // 2)
    served.mouse.single_click()
    served.settle()
    tree = served.accessible()
    items = named(tree, "menu item")
    assert {"Execute Script", "Load Session", "Quit"} <= set(items)
    quit_item = items["Quit"]
    under = [
        button
        for button in before
        if quit_item.x <= button.x + button.width // 2 < quit_item.x + quit_item.width
        and session.y + session.height <= button.y < quit_item.y
    ]
    assert under, "the open menu lies over buttons of the tool bar"
    left = {(element.x, element.y) for element in tree.elements if element.role == "push button"}
    assert not left & {(button.x, button.y) for button in under}
    served.keyboard.press("esc")
    served.settle()
    assert not named(served.accessible(), "menu item")


@pytest.mark.desktop
def test_what_another_window_covers_is_left_out(served):
    if shutil.which("xclock") is None and shutil.which("xmessage") is None:
        pytest.skip("no small X program to lay over it: apt-get install x11-apps")
    program = "xclock" if shutil.which("xclock") else "xmessage"
    served.os.open_program(program, *(("-geometry", "1440x880+0+0") if program == "xclock" else ("-center", "x" * 99)))
    top = served.wait_for_window(program, 30)
    served.settle()
    covered = [
        element
        for element in served.accessible().elements
        if top.x < element.x + element.width // 2 < top.x + top.width
        and top.y < element.y + element.height // 2 < top.y + top.height
    ]
    assert covered == []
    served.close_window(top.id)
    served.settle()
    assert named(served.accessible(), "menu")


@pytest.mark.desktop
def test_a_machine_without_the_tree_says_so(desktop_machine):
    with pytest.raises(ActionError, match="without an accessibility tree"):
        desktop_machine.computer.accessible()


def test_programs_serve_a_tree_only_where_it_is_wanted():
    assert program_environment("/home/u")["NO_AT_BRIDGE"] == "1"
    wanted = program_environment("/home/u", accessibility=True)
    assert "NO_AT_BRIDGE" not in wanted
    assert wanted["GTK_MODULES"] == "gail:atk-bridge"


def test_without_a_bus_it_is_said_what_to_install(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("tasks_lib.sandbox.guest.accessibility._START_SECONDS", 0.05)
    with pytest.raises(SilentBusError, match="at-spi2-core"):
        Accessibility(f"unix:path={tmp_path}/bus").enable()
    elements, problem = Accessibility(f"unix:path={tmp_path}/bus").read(())
    assert (elements, problem[:42]) == ([], "the accessibility bus does not answer: [Er")
