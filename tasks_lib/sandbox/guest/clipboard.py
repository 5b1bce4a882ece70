"""The clipboard: the server owns the selection itself, so nothing is started and nothing can be left behind.

A thread with a connection of its own answers programs that paste; big contents go in parts (INCR), both ways.
"""

from __future__ import annotations

import select
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from Xlib import X, Xatom, error
from Xlib.display import Display
from Xlib.protocol import event

from .faults import RefusedError

MAX_BYTES = 8 * 1024 * 1024
_PART = 64 * 1024
_ANSWER_SECONDS = 1.0
_TEXT_TARGETS = ("UTF8_STRING", "text/plain;charset=utf-8", "TEXT")


@dataclass
class _Sending:
    """Contents on their way to a program in parts."""

    window: Any
    prop: int
    target: int
    rest: bytes


@dataclass
class _Reading:
    """A read that waits for the owner's answer."""

    prop: int
    done: threading.Event = field(default_factory=threading.Event)
    data: bytearray = field(default_factory=bytearray)
    in_parts: bool = False
    failed: bool = False


class Clipboard:
    """The CLIPBOARD selection of a display.

    Parameters
    ----------
    name : str
        Display name such as ``:0``.
    """

    def __init__(self, name: str) -> None:
        self._display = Display(name)
        self._window = self._display.screen().root.create_window(
            -10, -10, 1, 1, 0, X.CopyFromParent, event_mask=X.PropertyChangeMask
        )
        self._lock = threading.RLock()
        self._read_lock = threading.Lock()
        self._selection = self._atom("CLIPBOARD")
        self._contents: dict[int, bytes] = {}
        self._sending: list[_Sending] = []
        self._reading: _Reading | None = None
        self._changes = 0
        self._display.xfixes_query_version()
        mask = 1  # XFixesSetSelectionOwnerNotifyMask
        self._display.xfixes_select_selection_input(self._window, self._selection, mask)
        self._display.flush()
        threading.Thread(target=self._serve, name="clipboard", daemon=True).start()

    @property
    def changes(self) -> int:
        """How often the clipboard got a new owner or new contents."""
        return self._changes

    def set_text(self, text: str) -> None:
        """Put text on the clipboard.

        Raises
        ------
        RefusedError
            If it is larger than `MAX_BYTES` or the X server does not let us own the clipboard.
        """
        data = text.encode("utf-8", "replace")
        contents = {self._atom(name): data for name in _TEXT_TARGETS}
        contents[Xatom.STRING] = text.encode("latin-1", "replace")
        self._own(contents)

    def set_png(self, data: bytes) -> None:
        """Put a PNG picture on the clipboard; raises as `set_text`."""
        self._own({self._atom("image/png"): data})

    def text(self) -> str:
        """Return the clipboard as text; empty where there is none, or where its owner does not answer."""
        with self._lock:
            if self._display.get_selection_owner(self._selection) == self._window:
                return self._contents.get(self._atom("UTF8_STRING"), b"").decode("utf-8", "replace")
        for target, encoding in ((self._atom("UTF8_STRING"), "utf-8"), (Xatom.STRING, "latin-1")):
            data = self._read(target)
            if data is not None:
                return data.decode(encoding, "replace")
        return ""

    def wait_for_change(self, before: int, seconds: float) -> bool:
        """Wait until `changes` is no longer `before`."""
        end = time.monotonic() + seconds
        while self._changes == before and time.monotonic() < end:
            time.sleep(0.01)
        return self._changes != before

    def _own(self, contents: dict[int, bytes]) -> None:
        size = max(len(data) for data in contents.values())
        if size > MAX_BYTES:
            msg = f"the clipboard takes at most {MAX_BYTES} bytes, got {size}: use a file instead"
            raise RefusedError(msg, "too-big")
        with self._lock:
            before = self._changes
            self._contents = contents
            self._window.set_selection_owner(self._selection, X.CurrentTime)
            self._display.flush()
        if not self.wait_for_change(before, _ANSWER_SECONDS):
            msg = "the X server did not give the clipboard to the control server"
            raise RefusedError(msg, "broken")

    def _read(self, target: int) -> bytes | None:
        with self._read_lock:
            reading = _Reading(self._atom("MATASSAY_CLIPBOARD"))
            with self._lock:
                if self._display.get_selection_owner(self._selection) == X.NONE:
                    return None
                self._reading = reading
                self._window.convert_selection(self._selection, target, reading.prop, X.CurrentTime)
                self._display.flush()
            done = reading.done.wait(_ANSWER_SECONDS)
            with self._lock:
                self._reading = None
            return bytes(reading.data) if done and not reading.failed else None

    def _serve(self) -> None:
        socket = self._display.fileno()
        while True:
            select.select([socket], [], [], 0.02)
            with self._lock:
                try:
                    while self._display.pending_events():
                        self._handle(self._display.next_event())
                    self._display.flush()
                except (error.ConnectionClosedError, OSError):
                    return

    def _handle(self, seen: Any) -> None:
        if seen.type == X.SelectionRequest:
            self._answer(seen)
        elif seen.type == X.SelectionNotify and self._reading is not None:
            self._receive(seen, self._reading)
        elif seen.type == X.PropertyNotify:
            self._continue(seen)
        elif type(seen).__name__ == "SetSelectionOwnerNotify":
            self._changes += 1

    def _answer(self, seen: Any) -> None:
        prop = seen.property or seen.target
        if seen.target == self._atom("TARGETS"):
            targets = [self._atom("TARGETS"), *self._contents]
            seen.requestor.change_property(prop, Xatom.ATOM, 32, targets)
        elif seen.target in self._contents:
            data = self._contents[seen.target]
            if len(data) <= _PART:
                seen.requestor.change_property(prop, seen.target, 8, data)
            else:
                seen.requestor.change_attributes(event_mask=X.PropertyChangeMask)
                seen.requestor.change_property(prop, self._atom("INCR"), 32, [len(data)])
                self._sending.append(_Sending(seen.requestor, prop, seen.target, data))
        else:
            prop = X.NONE
        note = event.SelectionNotify(
            time=seen.time, requestor=seen.requestor, selection=seen.selection, target=seen.target, property=prop
        )
        seen.requestor.send_event(note)

    def _receive(self, seen: Any, reading: _Reading) -> None:
        found = self._window.get_full_property(reading.prop, X.AnyPropertyType) if seen.property else None
        if found is None:
            reading.failed = True
            reading.done.set()
            return
        reading.in_parts = found.property_type == self._atom("INCR")
        if not reading.in_parts:
            reading.data += _as_bytes(found)
            reading.done.set()
        self._window.delete_property(reading.prop)

    def _continue(self, seen: Any) -> None:
        if seen.state == X.PropertyDelete:
            for sending in list(self._sending):
                if sending.window.id == seen.window.id and sending.prop == seen.atom:
                    part, sending.rest = sending.rest[:_PART], sending.rest[_PART:]
                    sending.window.change_property(sending.prop, sending.target, 8, part)
                    if not part:
                        self._sending.remove(sending)
            return
        reading = self._reading
        if reading is not None and reading.in_parts and seen.window.id == self._window.id and seen.atom == reading.prop:
            found = self._window.get_full_property(reading.prop, X.AnyPropertyType)
            if found is None:
                return
            part = _as_bytes(found)
            reading.data += part
            self._window.delete_property(reading.prop)
            if not part or len(reading.data) > MAX_BYTES:
                del reading.data[MAX_BYTES:]
                reading.done.set()

    def _atom(self, name: str) -> int:
        # A name that is new asks the server: two threads that read its answers at once take each other's.
        with self._lock:
            return int(self._display.get_atom(name))


def _as_bytes(found: Any) -> bytes:
    return found.value if isinstance(found.value, bytes) else bytes(found.value)
