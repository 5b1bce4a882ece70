"""What a person does on the desktop, as the X server's RECORD extension tells it, and the screens in between.

Events come from the server itself, so it does not matter which program has the focus or how the person is connected. A
screen counts when its pixels have stood still for a moment; a press is then matched with the last one before it.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections import deque
from typing import Any

from Xlib import X, error
from Xlib.display import Display
from Xlib.ext import record
from Xlib.protocol import rq

from ._keynames import MODIFIER_KEYS, name_of
from .faults import RefusedError
from .screen import Screen
from .windows import Windows

MOST_EVENTS = 100_000
MOST_FRAMES = 300  # that nobody has fetched yet; each some 50 kB
_POLL = 0.05
_STILL = 0.12  # s without a change after which a screen counts
_LATE = 0.2  # s between two looks, above which the time of a change is not known well
_RESTLESS = 1.0  # s after which one that never stands still counts all the same
_MODIFIERS = ((X.ControlMask, "ctrl"), (X.Mod1Mask, "alt"), (X.Mod4Mask, "win"), (X.ShiftMask, "shift"))


class Recorder:
    """A recording in progress.

    Parameters
    ----------
    name : str
        The display.
    screen : Screen
        Its frame buffer.

    Raises
    ------
    RefusedError
        If the X server has no RECORD extension.
    """

    def __init__(self, name: str, screen: Screen) -> None:
        self._screen = screen
        self._data, self._control = Display(name), Display(name)
        if not self._control.has_extension("RECORD"):
            msg = "the X server has no RECORD extension: start Xvfb without -extension RECORD"
            raise RefusedError(msg, "broken")
        self._windows = Windows(Display(name))
        self._lock = threading.Lock()
        self._events: deque[dict[str, Any]] = deque()
        self._event_count = 0
        self._frames: deque[tuple[dict[str, Any], bytes]] = deque()
        self._frame_count = 0
        self._motion: dict[str, Any] | None = None
        self._fault = ""
        self._latest = 0.0
        self._stop = threading.Event()
        self._context = self._control.record_create_context(0, [record.AllClients], [_WANTED])
        self._control.sync()
        began = time.monotonic()
        self._keep(began, began, screen.copy())
        self._threads = [
            threading.Thread(target=work, name=name, daemon=True)
            for work, name in ((self._listen, "record events"), (self._watch, "record screens"))
        ]
        for thread in self._threads:
            thread.start()

    def news(self, events: int, frames: int) -> dict[str, Any]:
        """Return events and screens from these numbers on; earlier ones are forgotten.

        Parameters
        ----------
        events, frames : int
            How many the caller has already.
        """
        with self._lock:
            self._flush_motion()
            while self._events and self._events[0]["number"] < events:
                self._events.popleft()
            while self._frames and self._frames[0][0]["number"] < frames:
                self._frames.popleft()
            return {
                "events": list(self._events),
                "frames": [facts for facts, _ in self._frames],
                "fault": self._fault,
                "now": time.monotonic(),
            }

    def frame(self, number: int) -> bytes:
        """Return a screen as PNG."""
        with self._lock:
            for facts, png in self._frames:
                if facts["number"] == number:
                    return png
        msg = f"no screen of the recording has the number {number}"
        raise RefusedError(msg)

    def stop(self) -> None:
        """Stop listening; what was recorded can still be fetched."""
        self._stop.set()
        self._control.record_disable_context(self._context)
        self._control.sync()
        for thread in self._threads:
            thread.join(5.0)

    def _listen(self) -> None:
        try:
            self._data.record_enable_context(self._context, self._take)
        except (error.ConnectionClosedError, OSError) as problem:
            self._fault = f"the X server told no more events: {problem}"

    def _take(self, reply: Any) -> None:
        if reply.category != record.FromServer or reply.client_swapped:
            return
        rest, arrived = reply.data, time.monotonic()
        while rest:
            event, rest = _FIELD.parse_binary_value(rest, self._data.display, None, None)
            # The server's clock is this one in whole milliseconds of 32 bits.
            age = (int(arrived * 1000) - int(event.time)) & 0xFFFF_FFFF
            # A millisecond is long enough for a press and its release, so the later of two may look like the earlier.
            when = self._latest = max(self._latest, arrived - (age / 1000 if age < 10_000 else 0.0))
            found: dict[str, Any] = {"time": when, "x": int(event.root_x), "y": int(event.root_y)}
            if event.type == X.MotionNotify:
                with self._lock:
                    self._motion = found | {"kind": "motion"}
                continue
            down = event.type in (X.KeyPress, X.ButtonPress)
            held = [name for mask, name in _MODIFIERS if int(event.state) & mask]
            if event.type in (X.ButtonPress, X.ButtonRelease):
                found |= {"kind": "button", "down": down, "button": int(event.detail), "modifiers": held}
            elif down:
                found |= {"kind": "key", "down": True, "modifiers": held, **self._key(event)}
                if found["key"] in MODIFIER_KEYS:
                    continue
            else:
                continue
            with self._lock:
                self._flush_motion()
                self._append(found)

    def _key(self, event: Any) -> dict[str, str]:
        """Say which sign or key a press was, by the key map of this moment."""
        row = self._control.get_keyboard_mapping(int(event.detail), 1)[0]
        plain, shifted = int(row[0]), int(row[1]) if len(row) > 1 else 0
        upper = bool(int(event.state) & X.ShiftMask)
        if int(event.state) & X.LockMask and name_of(plain)[0].isalpha():
            upper = not upper
        text, key = name_of(shifted if upper and shifted else plain)
        return {"text": text, "key": key}

    def _watch(self) -> None:
        last, looked = self._screen.copy(), time.monotonic()
        digest = zlib.adler32(last)
        since = seen = begun = looked
        pending = False
        while not self._stop.wait(_POLL):
            now, pixels = time.monotonic(), self._screen.copy()
            with self._lock:
                self._flush_motion()
            if (fresh := zlib.adler32(pixels)) != digest:
                if pending and now - looked >= _STILL:
                    self._keep(since, seen, last)  # it may have stood still while we had no time to look
                # For the same reason the change may be as old as the last look.
                last, digest, seen = pixels, fresh, now
                since = now if now - looked < _LATE else looked
                begun = begun if pending else now
                pending = True
            elif pending and now - seen >= _STILL:
                pending = False
                self._keep(since, seen, last)
            if pending and now - begun >= _RESTLESS:
                begun = now
                self._keep(since, seen, last)
            looked = now

    def _keep(self, since: float, seen: float, pixels: bytes) -> None:
        """Keep a copy of the screen, with the windows of this moment."""
        try:
            windows = [window.as_dict() for window in self._windows.all()]
        except (error.ConnectionClosedError, OSError) as problem:
            self._fault = f"the X server is gone: {problem}"
            return
        for window in windows:
            del window["program"]
        png = self._screen.png(pixels)
        with self._lock:
            if len(self._frames) >= MOST_FRAMES:
                self._fault = f"nobody fetched {MOST_FRAMES} screens of the recording: the later ones are left out"
                return
            self._frames.append(({"number": self._frame_count, "since": since, "seen": seen, "windows": windows}, png))
            self._frame_count += 1

    def _flush_motion(self) -> None:
        if self._motion is not None:
            motion, self._motion = self._motion, None
            self._append(motion)

    def _append(self, event: dict[str, Any]) -> None:
        if len(self._events) >= MOST_EVENTS:
            self._fault = f"nobody fetched {MOST_EVENTS} events of the recording: the later ones are left out"
            return
        self._events.append(event | {"number": self._event_count})
        self._event_count += 1


_FIELD = rq.EventField(None)
_WANTED = {
    "core_requests": (0, 0),
    "core_replies": (0, 0),
    "ext_requests": (0, 0, 0, 0),
    "ext_replies": (0, 0, 0, 0),
    "delivered_events": (0, 0),
    "device_events": (X.KeyPress, X.MotionNotify),
    "errors": (0, 0),
    "client_started": False,
    "client_died": False,
}
