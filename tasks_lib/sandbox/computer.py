"""`Computer`: a machine as agents and phases use it.

The names are those of the action interface that agents are told of: ``mouse``, ``keyboard``, ``clipboard``, ``os`` and
``window_manager``. Coordinates are pixels of the recorded screenshot, origin top left.
"""

from __future__ import annotations

import builtins
import socket
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import TypeAdapter

from tasks_lib.records import Observation, WindowState
from tasks_lib.records.errors import ActionError, ProgramStuckError
from tasks_lib.sandbox._client import ControlClient
from tasks_lib.sandbox.results import AccessibleTree, FileEntry, RecordingNews, ScriptResult, Sight

Box = tuple[int, int, int, int]
SCROLL_NOTCHES = 3  # wheel clicks of one scroll
# GTK acts on Enter in a dialog, and opens a submenu, up to 250 ms after the key: a shorter quiet is over before.
QUIET_SECONDS = 0.4
# A program that blocks on a slow disk is back sooner, one that waits for itself never is.
STUCK_SECONDS = 20.0
_QUICK = 15.0  # s for a request that only reads
_ACTION = 60.0  # s for an action: a long text is typed key by key
_TRANSFER = 120.0
_FILES = TypeAdapter(list[FileEntry])
_WINDOW_FIELDS = tuple(WindowState.model_fields)


class Computer:
    """Client of a machine's control server.

    Every call raises `MachineLostError` when the server is gone, hangs or broke, and `ActionError` with a text for the
    agent when what was asked is malformed or not possible.

    Parameters
    ----------
    client : ControlClient
        The connection.

    Attributes
    ----------
    mouse, keyboard, clipboard, os, window_manager
        The action interface.
    """

    def __init__(self, client: ControlClient) -> None:
        self._client = client
        self.marks: dict[int, Box] = {}
        self.mouse = Mouse(self)
        self.keyboard = Keyboard(self)
        self.clipboard = Clipboard(self)
        self.os = OperatingSystem(self)
        self.window_manager = WindowManager(self)

    def close(self) -> None:
        """Close the connection; the machine goes on."""
        self._client.close()

    def perform(self, kind: str, **arguments: Any) -> dict[str, Any]:
        """Send one typed action and return what it answers."""
        try:
            return self._client.post("/action", _ACTION, {"kind": kind, **arguments})
        except (TypeError, ValueError) as problem:
            msg = f"{kind} was given an argument that cannot be sent: {problem}"
            raise ActionError(msg) from problem

    def probe(self, seconds: float = _QUICK) -> dict[str, Any]:
        """Return what the server says of itself: protocol, desktop, screen size, work folder, versions."""
        found: dict[str, Any] = self._client.get("/probe", seconds).json()
        return found

    def observe(self, screenshot: bool = True) -> Sight:
        """Return what the machine shows.

        Parameters
        ----------
        screenshot : bool
            Whether the picture (PNG) is wanted; without it a call costs a millisecond or two.

        Raises
        ------
        NoDesktopError
            If the machine has no desktop.
        """
        png = self._client.get("/screenshot", _QUICK).content if screenshot else None
        seen = self._client.get("/observe", _QUICK).json()
        return Sight(
            png=png,
            observation=Observation(
                width=seen["width"],
                height=seen["height"],
                windows=tuple(_window(window) for window in seen["windows"]),
                clipboard=seen["clipboard"],
            ),
        )

    def accessible(self) -> AccessibleTree:
        """Return what programs say of the things on their windows; what another window covers is left out.

        Raises
        ------
        ActionError
            If the machine was opened without ``accessibility`` in its settings.
        """
        return AccessibleTree.model_validate(self._client.get("/accessible", _QUICK).json())

    def settle(self, quiet: float = QUIET_SECONDS, limit: float = 5.0) -> float:
        """Wait until the screen has not changed for `quiet` seconds, at most `limit`; return the seconds waited."""
        return float(self._client.post("/settle", limit + _QUICK, {"quiet": quiet, "limit": limit})["seconds"])

    def check_programs(self, seconds: float | None = None) -> None:
        """See that no program on the desktop has stopped for good; some milliseconds where all answer.

        Parameters
        ----------
        seconds : float, optional
            How long a program must neither answer the window manager nor use the processor, s; by default
            `STUCK_SECONDS`.

        Raises
        ------
        ProgramStuckError
            If one does; names its windows.
        """
        seconds = STUCK_SECONDS if seconds is None else seconds
        found = self._client.post("/stuck", seconds + 2 * _QUICK, {"seconds": seconds})["windows"]
        if found:
            titles = ", ".join(repr(_window(window).title) for window in found)
            msg = (
                f"the program of the window {titles} has not answered for {seconds:g} s and does nothing: it waits for "
                "itself and will not go on; play the episode again"
            )
            raise ProgramStuckError(msg)

    def digest(self) -> int:
        """Return a checksum of the screen's pixels."""
        return int(self._client.get("/digest", _QUICK).json()["digest"])

    def run_script(
        self, text: str, kind: Literal["python", "veusz"] = "python", name: str = "script", seconds: float = 120.0
    ) -> ScriptResult:
        """Run a script in the work folder and end all that it started.

        Parameters
        ----------
        text : str
            The script; it is kept in the work folder as ``NAME.py`` or ``NAME.vsz``.
        kind : {"python", "veusz"}
            ``python`` runs in the episode's environment; a Veusz document is run by Veusz, which exports
            ``NAME.pdf`` and ``NAME.png``.
        name : str
            Letters, digits, ``_``, ``-`` and dots.
        seconds : float
            Time limit, s; enforced by killing every process of the script.
        """
        body = {"text": text, "kind": kind, "name": name, "seconds": seconds}
        return ScriptResult.model_validate(self._client.post("/script", seconds + 60.0, body))

    def put_file(self, path: str, data: bytes) -> None:
        """Write a file of the work folder whole; ActionError where the path leaves the folder or follows a link."""
        self._client.request("PUT", "/file", _TRANSFER, params={"path": path}, content=data)

    def get_file(self, path: str) -> bytes:
        """Read a regular file of the work folder.

        Raises
        ------
        FileNotFoundError
            If there is none.
        ActionError
            If it is too big, a link, a pipe, a device, or outside the folder.
        """
        return self._client.get("/file", _TRANSFER, path=path).content

    def list_files(self) -> list[FileEntry]:
        """List everything below the work folder, sorted, links as links; at most 5000 entries."""
        return _FILES.validate_python(self._client.get("/files", _QUICK).json()["entries"])

    def set_marks(self, marks: Mapping[int, Box]) -> None:
        """Set the numbered boxes (x, y, width, height) that `mouse.move_id` and `clipboard.copy_image` mean."""
        self.marks = dict(marks)

    def close_window(self, window_id: int) -> None:
        """Ask a window to close; it may show a dialog instead."""
        self.perform("close_window", window=window_id)

    def wait_for_window(self, title: str, seconds: float) -> WindowState:
        """Wait until a window's title contains `title`.

        Raises
        ------
        InitialiseError
            If there is none within `seconds`; names the windows that are open and programs that ended.
        """
        return _window(self._client.post("/window", seconds + _QUICK, {"title": title, "seconds": seconds}))

    def open_screen(self) -> socket.socket:
        """Return a connection on which the machine's VNC server speaks RFB; one that is open already ends.

        Raises
        ------
        NoDesktopError
            If the machine has no desktop or no VNC server.
        """
        return self._client.upgrade("/screen", _QUICK)

    def start_recording(self) -> None:
        """Begin to record what is done on the desktop, whoever does it."""
        self._client.post("/recording", _QUICK, {})

    def recording_news(self, events: int, frames: int) -> RecordingNews:
        """Return what the recording has from these numbers of events and screens on; what is before is forgotten."""
        return RecordingNews.model_validate(
            self._client.post("/recording/news", _QUICK, {"events": events, "frames": frames})
        )

    def recorded_frame(self, number: int) -> bytes:
        """Return a screen of the recording as PNG."""
        return self._client.get("/recording/frame", _QUICK, number=str(number)).content

    def stop_recording(self) -> None:
        """End the recording; what it has can still be fetched."""
        self._client.request("DELETE", "/recording", _QUICK)

    def mark(self, number: int) -> Box:
        """Return the box of a mark; ActionError where there is none of that number."""
        try:
            return self.marks[number]
        except (KeyError, TypeError):
            known = ", ".join(map(str, sorted(self.marks))) or "none"
            msg = f"no mark has the number {number!r}; marks of this screenshot: {known}"
            raise ActionError(msg) from None

    def installed(self, name: str) -> bool:
        """Whether a program of that name is on the machine's search path."""
        return bool(self._client.get("/installed", _QUICK, program=name).json()["installed"])

    def clipboard_text(self) -> str:
        """Return the clipboard as text."""
        return str(self._client.get("/clipboard", _QUICK).json()["text"])


class _Part:
    def __init__(self, computer: Computer) -> None:
        self._computer = computer


class Mouse(_Part):
    """``computer.mouse``."""

    def move_abs(self, x: float, y: float) -> None:
        """Move the pointer to a pixel of the screenshot."""
        self._computer.perform("move", x=_pixel(x, "x"), y=_pixel(y, "y"))

    def move_id(self, id: int) -> None:
        """Move the pointer to the middle of a mark."""
        x, y, width, height = self._computer.mark(id)
        self.move_abs(x + width // 2, y + height // 2)

    def single_click(self) -> None:
        """Click the left button where the pointer is."""
        self._computer.perform("click")

    def double_click(self) -> None:
        """Click the left button twice where the pointer is."""
        self._computer.perform("double_click")

    def right_click(self) -> None:
        """Click the right button where the pointer is."""
        self._computer.perform("right_click")

    def scroll(self, direction: str) -> None:
        """Turn the wheel where the pointer is by three notches, ``"up"`` or ``"down"``."""
        self._computer.perform("scroll", direction=direction, notches=SCROLL_NOTCHES)

    def drag(self, x: float, y: float) -> None:
        """Hold the left button from where the pointer is to a pixel of the screenshot."""
        self._computer.perform("drag", x=_pixel(x, "x"), y=_pixel(y, "y"))


class Keyboard(_Part):
    """``computer.keyboard``."""

    def write(self, text: str) -> None:
        """Type text of any script; a line end is the Return key."""
        self._computer.perform("write", text=text)

    def press(self, keys: str) -> None:
        """Press a key or a chord such as ``ctrl+o``."""
        self._computer.perform("press", chord=keys)


class Clipboard(_Part):
    """``computer.clipboard``."""

    def copy_text(self, text: str | None = None) -> None:
        """Put text on the clipboard; without one, copy what is selected (Ctrl+C)."""
        answer = self._computer.perform("copy_text", text=text)
        if not answer.get("changed"):
            msg = "nothing was copied: select text in the focused window first"
            raise ActionError(msg)

    def paste(self) -> None:
        """Paste into the focused window (Ctrl+V)."""
        self._computer.perform("paste")

    def view_clipboard(self) -> str:
        """Return the clipboard as text."""
        return self._computer.clipboard_text()

    def copy_image(self, id: int, description: str = "") -> None:
        """Put the picture of a mark on the clipboard; the description is for the reader of the trajectory."""
        x, y, width, height = self._computer.mark(id)
        self._computer.perform("copy_image", x=x, y=y, width=width, height=height)


class OperatingSystem(_Part):
    """``computer.os``."""

    def open_program(self, name: str, *arguments: str) -> None:
        """Start a program of the machine in the work folder."""
        self._computer.perform("launch", program=name, arguments=builtins.list(arguments))

    def maximize_window(self, window_id: int | None = None) -> None:
        """Give a window (default: the focused one) the whole screen."""
        self._computer.perform("maximise", window=window_id)

    def is_installed(self, name: str) -> bool:
        """Whether a program of that name is on the machine."""
        return self._computer.installed(name)


class WindowManager(_Part):
    """``computer.window_manager``."""

    def switch_to_application(self, name: str) -> None:
        """Raise the window whose title or program is `name`, or the nearest to it."""
        self._computer.perform("focus", name=name)

    def find_open_applications(self) -> list[str]:
        """Return the titles of the open windows."""
        return [window.title for window in self._computer.observe(screenshot=False).observation.windows]


def _pixel(value: float, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e6:
        msg = f"{name} is a pixel of the screenshot, a number; got {value!r}"
        raise ActionError(msg)
    return round(value)


def _window(found: dict[str, Any]) -> WindowState:
    return WindowState.model_validate({name: found[name] for name in _WINDOW_FIELDS})
