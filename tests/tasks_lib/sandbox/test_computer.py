"""`Computer` on a real desktop with real programs: what is typed and clicked arrives, and what is shown is told."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tasks_lib.records import WindowState
from tasks_lib.records.errors import ActionError, InitialiseError
from tasks_lib.sandbox import Machine
from tasks_lib.sandbox.computer import Computer
from tasks_lib.sandbox.guest._keynames import SIGNS

pytestmark = pytest.mark.desktop

QT_EDITOR = """
import sys
from PyQt5.QtWidgets import QApplication, QPlainTextEdit
application = QApplication(sys.argv)
editor = QPlainTextEdit()
editor.setWindowTitle('editor of Qt')
editor.resize(800, 500)
editor.textChanged.connect(lambda: open('typed.txt', 'w', encoding='utf-8').write(editor.toPlainText()))
editor.show()
application.exec_()
"""
# Writes down every mouse event with its place on the screen.
MOUSE_PAD = """
import json, sys
from PyQt5.QtCore import Qt
from PyQt5.QtWidgets import QApplication, QWidget
application = QApplication(sys.argv)
seen = []
def note(name, event, extra=0):
    place = event.globalPos() if hasattr(event, 'globalPos') else event.globalPosition().toPoint()
    seen.append([name, place.x(), place.y(), extra])
    json.dump(seen, open('mouse.json', 'w'))
class Pad(QWidget):
    def mousePressEvent(self, event): note('press', event, int(event.button()))
    def mouseReleaseEvent(self, event): note('release', event, int(event.button()))
    def mouseDoubleClickEvent(self, event): note('double', event, int(event.button()))
    def mouseMoveEvent(self, event): note('move', event)
    def wheelEvent(self, event): note('wheel', event, event.angleDelta().y())
pad = Pad()
pad.setWindowTitle('mouse pad')
pad.resize(600, 400)
pad.show()
application.exec_()
"""
TEXTS = [
    pytest.param("5 Å, 3 µm, 20 °C ± 0.1; {}[]|~^`'\"\\@#$%&*()_+-=<>?/ H₂O α/β", id="signs"),
    pytest.param("first line\nsecond\tline\n", id="lines"),
    pytest.param("材料科学 の Привет ŻÓŁW 😀🧪", id="scripts"),
    pytest.param(SIGNS, id="field"),
    pytest.param("".join(map(chr, range(0x4E00, 0x4E00 + 230))) + "abcXYZ " * 20, id="more-than-keys"),
]


def _system_python_has(module: str) -> bool:
    return (
        subprocess.run(["/usr/bin/python3", "-c", f"import {module}"], capture_output=True, check=False).returncode == 0
    )


def _open(computer: Computer, source: str, title: str) -> WindowState:
    computer.put_file("program.py", source.encode())
    computer.os.open_program("python3", "program.py")
    window = computer.wait_for_window(title, 60)
    computer.settle()
    return window


def _close(computer: Computer, window: WindowState) -> None:
    computer.close_window(window.id)
    while any(other.id == window.id for other in computer.observe(screenshot=False).observation.windows):
        pass


@pytest.fixture(scope="module")
def editor(desktop_machine: Machine) -> Iterator[Computer]:
    if not _system_python_has("PyQt5"):
        pytest.skip("the system's python3 has no PyQt5")
    window = _open(desktop_machine.computer, QT_EDITOR, "editor of Qt")
    yield desktop_machine.computer
    _close(desktop_machine.computer, window)


@pytest.fixture(scope="module")
def fityk(desktop_machine: Machine) -> Iterator[tuple[Computer, WindowState]]:
    """Fityk, a program of wxWidgets over GTK, with some data, its whole window shown."""
    computer = desktop_machine.computer
    if not computer.os.is_installed("fityk"):
        pytest.skip("Fityk is not installed: apt-get install fityk")
    computer.put_file("peak.dat", b"1 1\n2 4\n3 9\n4 4\n5 1\n")
    computer.os.open_program("fityk", "peak.dat")
    window = computer.wait_for_window("fityk", 60)
    computer.os.maximize_window(window.id)
    computer.settle()
    (shown,) = (w for w in computer.observe(screenshot=False).observation.windows if w.id == window.id)
    yield computer, shown
    _close(computer, window)


@pytest.fixture(scope="module")
def pad(desktop_machine: Machine) -> Iterator[tuple[Computer, WindowState]]:
    if not _system_python_has("PyQt5"):
        pytest.skip("the system's python3 has no PyQt5")
    desktop_machine.computer.put_file("mouse.json", b"[]")
    window = _open(desktop_machine.computer, MOUSE_PAD, "mouse pad")
    yield desktop_machine.computer, window
    _close(desktop_machine.computer, window)


def _typed(computer: Computer, expected: str) -> str:
    """Return what the editor holds once it holds `expected`, or when it rests without it."""
    for _ in range(20):
        computer.settle()
        text = computer.get_file("typed.txt").decode("utf-8")
        if text == expected:
            break
    return text


@pytest.mark.parametrize("text", TEXTS)
def test_typed_text_arrives(editor: Computer, text: str) -> None:
    editor.keyboard.press("ctrl+a")
    editor.keyboard.write(text)
    assert _typed(editor, text) == text


def test_caps_lock_does_not_change_what_is_typed(editor: Computer) -> None:
    editor.keyboard.press("ctrl+a")
    editor.keyboard.press("capslock")
    try:
        editor.keyboard.write("Fe2O3 å Å")
        assert _typed(editor, "Fe2O3 å Å") == "Fe2O3 å Å"
    finally:
        editor.keyboard.press("capslock")


def test_keys_and_chords_arrive(editor: Computer) -> None:
    editor.keyboard.press("ctrl+a")
    editor.keyboard.write("abc")
    for chord in ("home", "shift+right", "delete", "end", "X", "enter", "space", "backspace", "+", "Å"):
        editor.keyboard.press(chord)
    assert _typed(editor, "bcX\n+Å") == "bcX\n+Å"


def test_clipboard_both_ways(editor: Computer) -> None:
    text = "from outside: Å 中 😀\nsecond line"
    editor.clipboard.copy_text(text)
    assert editor.clipboard.view_clipboard() == text
    editor.keyboard.press("ctrl+a")
    editor.clipboard.paste()
    assert _typed(editor, text) == text
    editor.keyboard.write("!")
    editor.keyboard.press("ctrl+a")
    editor.clipboard.copy_text()
    assert editor.clipboard.view_clipboard() == text + "!"
    assert editor.observe(screenshot=False).observation.clipboard == text + "!"


def test_a_big_clipboard_goes_in_parts_both_ways(editor: Computer) -> None:
    text = "".join(f"{number:06d} Å\n" for number in range(30_000))
    editor.clipboard.copy_text(text)
    editor.keyboard.press("ctrl+a")
    editor.clipboard.paste()
    assert _typed(editor, text) == text
    editor.clipboard.copy_text("something else")
    editor.keyboard.press("ctrl+a")
    editor.clipboard.copy_text()
    assert editor.clipboard.view_clipboard() == text
    editor.keyboard.press("ctrl+a")
    editor.keyboard.press("delete")


def test_copying_nothing_is_told(editor: Computer) -> None:
    editor.keyboard.press("ctrl+a")
    editor.keyboard.press("delete")
    with pytest.raises(ActionError, match="nothing was copied"):
        editor.clipboard.copy_text()


@pytest.mark.parametrize("text", ["bell \a", "\x1b[0m", "x" * 20_001, "\ud800"])
def test_text_that_cannot_be_typed_is_told(desktop_machine: Machine, text: str) -> None:
    with pytest.raises(ActionError):
        desktop_machine.computer.keyboard.write(text)


def _events(computer: Computer, count: int) -> list[list[Any]]:
    for _ in range(20):
        computer.settle()
        seen: list[list[Any]] = json.loads(computer.get_file("mouse.json"))
        if len(seen) >= count:
            break
    return seen


def test_clicks_land_on_the_very_pixel(pad: tuple[Computer, WindowState]) -> None:
    computer, window = pad
    before = len(_events(computer, 0))
    x, y = window.x + 123, window.y + 77
    computer.mouse.move_abs(x, y)
    computer.mouse.single_click()
    computer.mouse.right_click()
    seen = _events(computer, before + 4)
    assert seen[-4:] == [["press", x, y, 1], ["release", x, y, 1], ["press", x, y, 2], ["release", x, y, 2]]


def test_double_click_drag_and_scroll(pad: tuple[Computer, WindowState]) -> None:
    computer, window = pad
    computer.set_marks({4: (window.x + 50, window.y + 50, 20, 10)})
    x, y = window.x + 60, window.y + 55
    before = len(_events(computer, 0))
    computer.mouse.move_id(4)
    computer.mouse.double_click()
    assert ["double", x, y, 1] in _events(computer, before + 4)
    before = len(_events(computer, 0))
    computer.mouse.scroll("up")
    computer.mouse.scroll("down")
    wheel = [event[3] for event in _events(computer, before + 6) if event[0] == "wheel"]
    assert wheel[-6:] == [120] * 3 + [-120] * 3
    before = len(_events(computer, 0))
    computer.mouse.drag(x + 200, y + 100)
    seen = _events(computer, before + 8)[before:]
    assert seen[0] == ["press", x, y, 1]
    assert seen[-1] == ["release", x + 200, y + 100, 1]
    assert sum(event[0] == "move" for event in seen) >= 5


def test_dragging_the_title_bar_moves_the_window_by_as_much(pad: tuple[Computer, WindowState]) -> None:
    computer, window = pad
    computer.mouse.move_abs(window.x + 200, window.y - 8)
    computer.mouse.drag(window.x + 260, window.y + 32)
    computer.settle()
    (moved,) = (w for w in computer.observe(screenshot=False).observation.windows if w.id == window.id)
    assert (moved.x - window.x, moved.y - window.y) == (60, 40)
    computer.mouse.drag(window.x + 200, window.y - 8)
    computer.settle()


@pytest.mark.parametrize(
    ("x", "y"), [(-1, 5), (1440, 5), (5, 900), (10**9, 0), (float("nan"), 1), ("12", 5), (True, 5)]
)
def test_pixels_off_the_screen_are_told(desktop_machine: Machine, x: Any, y: Any) -> None:
    for call in (desktop_machine.computer.mouse.move_abs, desktop_machine.computer.mouse.drag):
        with pytest.raises(ActionError, match="screen"):
            call(x, y)


def test_other_mistakes_are_told(desktop_machine: Machine) -> None:
    computer = desktop_machine.computer
    computer.set_marks({1: (0, 0, 10, 10), 2: (1435, 895, 10, 10)})
    for match, call in {
        "no mark has the number 9; marks of this screenshot: 1, 2": lambda: computer.mouse.move_id(9),
        "not wholly on the screen": lambda: computer.clipboard.copy_image(2),
        "direction": lambda: computer.mouse.scroll("left"),
        "no key is called 'nokey'": lambda: computer.keyboard.press("nokey"),
        "no program is called 'nothing-here'": lambda: computer.os.open_program("nothing-here"),
        "no program is called '/bin/sh'": lambda: computer.os.open_program("/bin/sh"),
        "no program is called '../sh'": lambda: computer.os.open_program("../sh"),
        "open windows": lambda: computer.window_manager.switch_to_application("Photoshop"),
        "no open window has the id 5": lambda: computer.os.maximize_window(5),
        "text": lambda: computer.keyboard.write(None),  # type: ignore[arg-type]
    }.items():
        with pytest.raises(ActionError, match=match):
            call()


def test_a_picture_on_the_clipboard(desktop_machine: Machine) -> None:
    if shutil.which("xclip") is None:
        pytest.skip("xclip is not installed")
    computer = desktop_machine.computer
    computer.set_marks({1: (10, 20, 30, 40)})
    computer.clipboard.copy_image(1, "corner")
    code = (
        "import subprocess\n"
        "command = ['xclip', '-selection', 'clipboard', '-t', 'image/png', '-o']\n"
        "data = subprocess.run(command, capture_output=True).stdout\n"
        "open('clip.png', 'wb').write(data)\n"
    )
    assert computer.run_script(code).returncode == 0
    picture = Image.open(io.BytesIO(computer.get_file("clip.png")))
    png = computer.observe().png
    assert png is not None
    screen = Image.open(io.BytesIO(png)).crop((10, 20, 40, 60))
    assert list(picture.get_flattened_data()) == list(screen.get_flattened_data())
    assert computer.clipboard.view_clipboard() == ""


def _command(computer: Computer, window: WindowState, line: str) -> None:
    """Type into Fityk's command line, at the foot of its window."""
    computer.mouse.move_abs(500, window.y + window.height - 47)
    computer.mouse.single_click()
    computer.keyboard.write(f"{line}\n")


def _wait_for_file(computer: Computer, path: str) -> bytes:
    while not any(entry.path == path and entry.size for entry in computer.list_files()):
        computer.settle()
    return computer.get_file(path)


def test_fityk_shows_itself(fityk: tuple[Computer, WindowState]) -> None:
    computer, window = fityk
    computer.window_manager.switch_to_application("fityk")
    computer.settle()
    before = computer.digest()
    sight = computer.observe()
    assert sight.png is not None
    assert Image.open(io.BytesIO(sight.png)).size == (1440, 900)
    assert (window.x, window.width, window.y + window.height) == (0, 1440, 900)
    assert [w.id for w in sight.observation.windows if w.focused] == [window.id]
    assert [title for title in computer.window_manager.find_open_applications() if "ityk" in title]
    _command(computer, window, "F += Gaussian(height=9, center=3, hwhm=1)")
    computer.settle()
    assert computer.digest() != before
    _command(computer, window, "info state > 'Å ß 1.fit'")
    assert b"Gaussian" in _wait_for_file(computer, "Å ß 1.fit")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("signs.txt", "5 Å, 3 µm, 20 °C ± 0.1 {}[]|~^`@#$%&*()_+-=<>?/ H₂O α/β"),
        ("scripts.txt", "材料科学 の Привет ŻÓŁW 😀🧪"),
        ("field.txt", SIGNS),
        ("many.txt", "".join(map(chr, range(0x4E00, 0x4E00 + 150)))),
    ],
)
def test_typed_text_arrives_in_fityk(fityk: tuple[Computer, WindowState], name: str, text: str) -> None:
    computer, window = fityk
    computer.window_manager.switch_to_application("fityk")
    _command(computer, window, f"@0: title = '{text}'")
    _command(computer, window, f"info title > '{name}'")
    assert _wait_for_file(computer, name).decode("utf-8").strip() == text


def test_a_dialog_is_a_window_of_its_own(fityk: tuple[Computer, WindowState]) -> None:
    computer, window = fityk
    computer.window_manager.switch_to_application("fityk")
    computer.keyboard.press("ctrl+o")
    dialog = computer.wait_for_window("load data", 60)
    assert dialog.id != window.id
    computer.keyboard.press("esc")
    while any(w.id == dialog.id for w in computer.observe(screenshot=False).observation.windows):
        computer.settle()


def test_windows_are_switched_by_name_even_misspelt(pad: tuple[Computer, WindowState]) -> None:
    computer, window = pad
    computer.os.open_program("xmessage", "-title", "a note", "hello")
    note = computer.wait_for_window("a note", 30)
    for name, wanted in (("Mouse Pad", window), ("a notte", note), ("mousepad", window)):
        computer.window_manager.switch_to_application(name)
        (focused,) = (w for w in computer.observe(screenshot=False).observation.windows if w.focused)
        assert focused.id == wanted.id
    _close(computer, note)


def test_a_window_that_never_opens_is_told_with_the_programs_last_words(desktop_machine: Machine) -> None:
    computer = desktop_machine.computer
    computer.os.open_program("python3", "-c", "import sys; sys.exit('no licence found')")
    with pytest.raises(InitialiseError, match="ended with code 1: no licence found"):
        computer.wait_for_window("never there", 120)
    computer.os.open_program("sleep", "600")
    with pytest.raises(
        InitialiseError, match=r"no window whose title contains 'never there' within 0\.2 s; open windows"
    ):
        computer.wait_for_window("never there", 0.2)


def test_a_program_that_hangs_does_not_hang_the_machine(desktop_machine: Machine) -> None:
    if not _system_python_has("PyQt5"):
        pytest.skip("the system's python3 has no PyQt5")
    computer = desktop_machine.computer
    window = _open(computer, QT_EDITOR.replace("editor of Qt", "hanging program"), "hanging program")
    computer.keyboard.write("owned")
    computer.keyboard.press("ctrl+a")
    computer.clipboard.copy_text()
    assert window.pid is not None
    computer.run_script(f"import os, signal; os.kill({window.pid}, signal.SIGSTOP)")
    assert computer.clipboard.view_clipboard() == ""
    assert any(w.id == window.id for w in computer.observe().observation.windows)
    computer.settle(limit=1.0)
    computer.run_script(f"import os, signal; os.kill({window.pid}, signal.SIGKILL)")
    computer.clipboard.copy_text("free again")
    assert computer.clipboard.view_clipboard() == "free again"


def test_a_desktop_that_dies_is_a_lost_machine(repository: Path) -> None:
    from tasks_lib.records import MachineSettings
    from tasks_lib.records.errors import MachineLostError
    from tasks_lib.sandbox import provider

    machine = provider().open(MachineSettings(width=800, height=600), desktop=True)
    try:
        assert (machine.computer.probe()["width"], machine.computer.probe()["height"]) == (800, 600)
        machine.computer.run_script(
            "import os, pathlib\n"
            "for p in pathlib.Path('/proc').glob('[0-9]*/comm'):\n"
            "    if p.read_text().strip() == 'Xvfb': os.kill(int(p.parent.name), 9)\n"
        )
        with pytest.raises(MachineLostError, match="Xvfb ended with code -9"):
            machine.computer.observe()
    finally:
        machine.close()
