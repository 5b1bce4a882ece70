"""A machine's desktop as the server uses it: one lock, one place that carries out actions."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import threading
import time
from typing import Any

from Xlib.display import Display

from . import actions
from .accessibility import Accessibility, SilentBusError
from .clipboard import Clipboard
from .desktop import Desktop
from .faults import RefusedError
from .idle import Idleness, wait_idle
from .keyboard import Keyboard
from .pointer import LEFT, RIGHT, Pointer
from .processes import Child, Children
from .recorder import Recorder
from .screen import Screen
from .settings import GuestSettings
from .viewer import Viewer
from .watchdog import Watchdog
from .windows import Window, Windows

_TAIL_BYTES = 4096
_COPY_SECONDS = 5.0
_COPY_PAUSE = 0.1


class Session:
    """The running desktop.

    Parameters
    ----------
    settings : GuestSettings
        Screen and folders.
    children : Children
        Starts the desktop's programs.
    """

    def __init__(self, settings: GuestSettings, children: Children) -> None:
        self._children = children
        self._settings = settings
        self.desktop = Desktop(settings, children)
        os.environ["XAUTHORITY"] = self.desktop.environment["XAUTHORITY"]
        name = self.desktop.environment["DISPLAY"]
        self._lock = threading.RLock()
        self._display = Display(name)
        self.keyboard = Keyboard(
            self._display, self._wait_idle
        )  # before any program starts: the key map is then as it stays
        self.pointer = Pointer(self._display)
        self.windows = Windows(self._display)
        self.screen = Screen(self.desktop.frame_file)
        self.clipboard = Clipboard(name)
        self._programs: list[Child] = []
        self._watcher = Windows(Display(name))
        self._watchdog = Watchdog(name)
        self._watch_lock = threading.Lock()
        self.viewer = Viewer(self.desktop.environment, children)
        self._recorder: Recorder | None = None
        bus = self.desktop.environment["DBUS_SESSION_BUS_ADDRESS"]
        self._accessibility = Accessibility(bus) if settings.accessibility else None

    def wait_until_ready(self) -> None:
        """Wait for the window manager, the last part of the desktop to come up."""
        self.desktop.wait_for_manager(self._display)
        # From the middle, where X puts it, the pointer would raise the tooltip of whatever opens below it.
        self.pointer.move(self._settings.width - 1, self._settings.height // 2)
        if self._accessibility is not None:
            try:
                self._accessibility.enable()
            except SilentBusError as silent:
                raise RefusedError(str(silent), "no-desktop") from silent

    def observe(self) -> dict[str, Any]:
        """Return screen size, window list and clipboard."""
        self.desktop.check()
        with self._lock:
            windows = self.windows.all()
        return {
            "width": self.screen.width,
            "height": self.screen.height,
            "windows": [window.as_dict() for window in windows],
            "clipboard": self.clipboard.text(),
        }

    def accessible(self) -> dict[str, Any]:
        """Return what programs say of the things on their windows, and why that is not all; see `Accessibility`."""
        self.desktop.check()
        if self._accessibility is None:
            msg = "this machine was opened without an accessibility tree: open one with `accessibility`"
            raise RefusedError(msg)
        with self._lock:
            layers = self.windows.layers()
        elements, problem = self._accessibility.read(layers)
        return {"elements": [element.as_dict() for element in elements], "problem": problem}

    def settle(self, quiet: float, limit: float) -> dict[str, Any]:
        """Wait until the screen stands still, and the focused program and the newest one rest.

        Parameters
        ----------
        quiet : float
            How long both must hold, s.
        limit : float
            When to give up, s.

        Returns
        -------
        dict
            ``seconds`` waited, and whether all was ``still``.
        """
        with self._lock:
            newest = next((child.pid for child in reversed(self._programs) if child.code is None), None)
            program = Idleness(self.windows.focused_pid(), newest)
        seconds, still = self.screen.settle(quiet, limit, program.is_busy)
        self.desktop.check()
        return {"seconds": seconds, "still": still}

    def stuck(self, seconds: float) -> list[Window]:
        """Return a window of each program that for `seconds` neither takes events nor works; see `Watchdog`."""
        self.desktop.check()
        return self._watchdog.stuck(seconds)

    def wait_for_window(self, title: str, seconds: float) -> Window:
        """Wait for a window; not longer when the program that was started last ends with an error."""
        with self._watch_lock:
            try:
                return self._watcher.wait_for(title, seconds, self._check_newest)
            except RefusedError as refusal:
                if refusal.kind != "no-window":
                    raise
                ended = "".join(_last_words(child) for child in self._programs if child.code is not None)
                raise RefusedError(refusal.message + ended, refusal.kind) from None

    def _check_newest(self) -> None:
        self.desktop.check()
        newest = self._programs[-1] if self._programs else None
        if newest is not None and newest.code not in (None, 0):
            raise RefusedError("the window does not open", "no-window")

    def start_recording(self) -> None:
        """Begin to record what a person does; a recording before this one is forgotten."""
        self.desktop.check()
        with self._lock:
            if self._recorder is not None:
                self._recorder.stop()
            self._recorder = Recorder(self.desktop.environment["DISPLAY"], self.screen)

    @property
    def recorder(self) -> Recorder:
        """The recording."""
        self.desktop.check()
        if self._recorder is None:
            msg = "nothing is being recorded: start a recording first"
            raise RefusedError(msg)
        return self._recorder

    def perform(self, action: actions.Action) -> dict[str, Any]:
        """Carry out one action and return what it answers."""
        self.desktop.check()
        with self._lock:
            return self._perform(action) or {}

    def which(self, program: str) -> str | None:
        """Return where a program lies, or None: on the search path, or among the programs of the environment."""
        if "/" in program or program.startswith("-") or "\0" in program:
            return None
        folders = [self.desktop.environment["PATH"], self._settings.programs]
        return shutil.which(program, path=os.pathsep.join(folder for folder in folders if folder))

    def _wait_idle(self, seconds: float) -> bool | None:
        return wait_idle(self.windows.focused_pid(), seconds)

    def _perform(self, action: actions.Action) -> dict[str, Any] | None:
        match action:
            case actions.Move():
                self.pointer.move(action.x, action.y)
            case actions.Click(kind="click"):
                self.pointer.click(LEFT)
            case actions.Click(kind="double_click"):
                self.pointer.click(LEFT, 2)
            case actions.Click():
                self.pointer.click(RIGHT)
            case actions.Drag():
                self.pointer.drag(action.x, action.y)
            case actions.Scroll():
                self.pointer.scroll(action.notches if action.direction == "up" else -action.notches)
            case actions.Press():
                self.keyboard.press(action.chord)
            case actions.Write():
                self.keyboard.write(action.text)
            case actions.CopyText():
                return self._copy_text(action.text)
            case actions.Paste():
                self.keyboard.press("ctrl+v")
            case actions.CopyImage():
                self._copy_image(action)
            case actions.Launch():
                return self._launch(action)
            case actions.Focus():
                window = self.windows.find(action.name)
                self.windows.focus(window)
                return {"window": window.as_dict()}
            case actions.Maximise():
                self.windows.maximise(self.windows.get(action.window))
            case actions.CloseWindow():
                self.windows.close(self.windows.get(action.window))
        return None

    def _copy_text(self, text: str | None) -> dict[str, Any]:
        if text is not None:
            self.clipboard.set_text(text)
            return {"changed": True}
        before = self.clipboard.changes
        self.keyboard.press("ctrl+c")
        end = time.monotonic() + _COPY_SECONDS
        while not self.clipboard.wait_for_change(before, _COPY_PAUSE) and time.monotonic() < end:
            if self._wait_idle(_COPY_SECONDS):
                break  # the program has worked through its input
        return {"changed": self.clipboard.changes != before}

    def _copy_image(self, area: actions.CopyImage) -> None:
        right, bottom = area.x + area.width, area.y + area.height
        if area.x < 0 or area.y < 0 or right > self.screen.width or bottom > self.screen.height:
            screen = f"{self.screen.width}x{self.screen.height}"
            area_text = f"{area.width}x{area.height} at ({area.x}, {area.y})"
            msg = f"the area {area_text} is not wholly on the screen of {screen} pixels"
            raise RefusedError(msg)
        stream = io.BytesIO()
        self.screen.image().crop((area.x, area.y, right, bottom)).save(stream, "PNG")
        self.clipboard.set_png(stream.getvalue())

    def _launch(self, action: actions.Launch) -> dict[str, Any]:
        path = self.which(action.program)
        if path is None:
            msg = (
                f"no program is called {action.program!r} here: name one of the machine's search path, without a folder"
            )
            raise RefusedError(msg)
        if any("\0" in argument for argument in action.arguments):
            msg = "a program's argument holds a NUL character: leave it out"
            raise RefusedError(msg)
        child = self._children.start(
            [path, *action.arguments],
            action.program,
            lasting=True,
            sacrifice=300,
            cwd=self._settings.work,
            env=self.desktop.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self._programs.append(child)
        child.reader = threading.Thread(target=_keep_tail, args=(child,), name="tail", daemon=True)
        child.reader.start()
        return {"pid": child.pid}


def _last_words(child: Child) -> str:
    if child.reader is not None:
        child.reader.join(1.0)  # its end may be known before its last words are read
    words = bytes(child.tail[-500:]).decode("utf-8", "replace").strip()
    return f"; {child.name} ended with code {child.code}: {words}"


def _keep_tail(child: Child) -> None:
    """Read a program's errors to the end and keep the last of them."""
    stream = child.popen.stderr
    if stream is None:
        return
    with stream:
        while piece := os.read(stream.fileno(), 65_536):
            child.tail += piece
            del child.tail[:-_TAIL_BYTES]
            time.sleep(0.01)  # a program that never stops writing shall not keep the server busy
