"""Top-level windows, through the window manager's own protocol (EWMH)."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from Xlib import X, Xatom, Xutil, error
from Xlib.protocol import event

from .faults import RefusedError

_POLL = 0.03


@dataclass(frozen=True, slots=True)
class Window:
    """A top-level window; `x`, `y`, `width`, `height` are its client area in screen pixels."""

    id: int
    title: str
    x: int
    y: int
    width: int
    height: int
    focused: bool
    pid: int | None
    program: str

    def as_dict(self) -> dict[str, Any]:
        """Return the window as JSON can hold it."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Layer:
    """A window as it lies over others: its place in screen pixels, its program, and whether it is a pop-up."""

    x: int
    y: int
    width: int
    height: int
    pid: int | None
    title: str
    popup: bool


class Windows:
    """The window list of a display.

    Parameters
    ----------
    display : Xlib.display.Display
        Connection of its own; not shared with other threads while a call runs.
    """

    def __init__(self, display: Any) -> None:
        self._display = display
        self._root = display.screen().root

    def all(self) -> list[Window]:
        """Return the managed windows, oldest first."""
        focused = self._cardinals(self._root, "_NET_ACTIVE_WINDOW")
        active = focused[0] if focused else 0
        found = (self._read(number, active) for number in self._cardinals(self._root, "_NET_CLIENT_LIST"))
        return [window for window in found if window is not None]

    def layers(self) -> list[Layer]:
        """Return what lies on the screen, uppermost first: pop-ups such as menus, then the managed windows."""
        managed = self._cardinals(self._root, "_NET_CLIENT_LIST_STACKING")
        found = [layer for layer in map(self._popup, reversed(self._root.query_tree().children)) if layer is not None]
        for number in reversed(managed):
            window = self._read(number, 0)
            if window is not None:
                found.append(
                    Layer(window.x, window.y, window.width, window.height, window.pid, window.title, popup=False)
                )
        return found

    def _popup(self, handle: Any) -> Layer | None:
        """Return a window that no window manager has to do with; None for others, and for what is not shown."""
        try:
            facts = handle.get_attributes()
            if not facts.override_redirect or facts.map_state != X.IsViewable or facts.win_class != X.InputOutput:
                return None
            # The frames that the window manager puts around windows are its own affair.
            if any(child.get_wm_state() is not None for child in handle.query_tree().children):
                return None
            shape = handle.get_geometry()
            pids = self._cardinals(handle, "_NET_WM_PID")
        except (error.BadWindow, error.BadDrawable, error.BadMatch):
            return None
        if shape.width < 4 or shape.height < 4:
            return None
        pid = pids[0] if pids else None
        return Layer(int(shape.x), int(shape.y), int(shape.width), int(shape.height), pid, "", popup=True)

    def focused_pid(self) -> int | None:
        """Return the process of the focused window; None where there is none or it does not say."""
        focused = self._cardinals(self._root, "_NET_ACTIVE_WINDOW")
        if not focused or not focused[0]:
            return None
        found = self._cardinals(self._display.create_resource_object("window", focused[0]), "_NET_WM_PID")
        return found[0] if found else None

    def wait_for(self, title: str, seconds: float, check: Callable[[], None]) -> Window:
        """Wait until a mapped window's title contains `title` (case does not count).

        Raises
        ------
        RefusedError
            Of kind ``no-window`` when the time is over; `check` may raise earlier.
        """
        end = time.monotonic() + seconds
        wanted = title.casefold()
        while True:
            windows = self.all()
            for window in windows:
                if wanted in window.title.casefold():
                    return window
            if time.monotonic() >= end:
                shown = ", ".join(repr(window.title) for window in windows) or "none"
                msg = f"no window whose title contains {title!r} within {seconds:g} s; open windows: {shown}"
                raise RefusedError(msg, "no-window")
            check()
            time.sleep(_POLL)

    def find(self, name: str) -> Window:
        """Return the window that `name` means: by part of the title, by program, else by the nearest spelling."""
        windows = self.all()
        wanted = name.casefold()
        for window in windows:
            if wanted in window.title.casefold() or wanted == window.program.casefold():
                return window
        names = {text.casefold(): window for window in windows for text in (window.title, window.program) if text}
        near = difflib.get_close_matches(wanted, names, n=1, cutoff=0.6)
        if near:
            return names[near[0]]
        shown = ", ".join(repr(window.title) for window in windows) or "none"
        msg = f"no open window is called {name!r}; open windows: {shown}"
        raise RefusedError(msg)

    def get(self, number: int | None) -> Window:
        """Return the window of that id, or the focused one for None."""
        for window in self.all():
            if window.focused if number is None else window.id == number:
                return window
        what = "no window has the focus" if number is None else f"no open window has the id {number}"
        msg = f"{what}; open windows: {', '.join(f'{w.id}: {w.title!r}' for w in self.all()) or 'none'}"
        raise RefusedError(msg)

    def focus(self, window: Window) -> None:
        """Raise a window and give it the keyboard; returns when the window manager has done it."""
        self._ask(window.id, "_NET_ACTIVE_WINDOW", [2, X.CurrentTime, 0])
        self._until(lambda: self._cardinals(self._root, "_NET_ACTIVE_WINDOW")[:1] == [window.id])

    def maximise(self, window: Window) -> None:
        """Give a window the whole screen; returns when its state says so."""
        both = [self._atom("_NET_WM_STATE_MAXIMIZED_HORZ"), self._atom("_NET_WM_STATE_MAXIMIZED_VERT")]
        self._ask(window.id, "_NET_WM_STATE", [1, *both, 2])
        handle = self._display.create_resource_object("window", window.id)
        self._until(lambda: set(both) <= set(self._cardinals(handle, "_NET_WM_STATE")))

    def close(self, window: Window) -> None:
        """Ask a window to close, as its close button does; it may show a dialog instead."""
        self._ask(window.id, "_NET_CLOSE_WINDOW", [X.CurrentTime, 2])

    def _until(self, done: Callable[[], bool], seconds: float = 1.0) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not done():
            time.sleep(0.01)

    def _ask(self, number: int, message: str, data: list[int]) -> None:
        handle = self._display.create_resource_object("window", number)
        note = event.ClientMessage(window=handle, client_type=self._atom(message), data=(32, (data + [0] * 5)[:5]))
        self._root.send_event(note, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        self._display.sync()

    def _atom(self, name: str) -> int:
        return int(self._display.get_atom(name))

    def _cardinals(self, handle: Any, name: str) -> list[int]:
        try:
            found = handle.get_full_property(self._atom(name), X.AnyPropertyType)
        except (error.BadWindow, error.BadValue):
            return []
        return [int(value) for value in found.value] if found is not None and found.format == 32 else []

    def _text(self, handle: Any, name: str) -> str:
        found = handle.get_full_property(self._atom(name), X.AnyPropertyType)
        if found is None or found.format != 8:
            return ""
        value = found.value if isinstance(found.value, bytes) else str(found.value).encode("utf-8", "surrogatepass")
        return value.decode("latin-1" if found.property_type == Xatom.STRING else "utf-8", "replace")

    def _read(self, number: int, active: int) -> Window | None:
        handle = self._display.create_resource_object("window", number)
        try:
            state = handle.get_wm_state()
            if state is None or state.state == Xutil.WithdrawnState:
                return None
            title = self._text(handle, "_NET_WM_NAME") or self._text(handle, "WM_NAME")
            shape = handle.get_geometry()
            place = handle.translate_coords(self._root, 0, 0)
            pids = self._cardinals(handle, "_NET_WM_PID")
            names = handle.get_wm_class()
        except (error.BadWindow, error.BadDrawable, error.BadMatch):
            return None  # closed while it was read
        return Window(
            id=number,
            title=title,
            # The reply places the root's origin in the window: the window's place is its negative.
            x=-int(place.x),
            y=-int(place.y),
            width=int(shape.width),
            height=int(shape.height),
            focused=number == active,
            pid=pids[0] if pids else None,
            program=names[0] if names else "",
        )
