"""A person at a machine's desktop: a small client of the RFB protocol, version 3.8, over the page's WebSocket."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tasks_lib.agents import find_target
from tasks_lib.taskdefs import find_root, read_target

KEYS = {"enter": 0xFF0D, "esc": 0xFF1B, "tab": 0xFF09, "left": 0xFF51, "ctrl": 0xFFE3, "shift": 0xFFE1, "alt": 0xFFE9}
LEFT, MIDDLE, RIGHT, WHEEL_UP, WHEEL_DOWN = 1, 2, 4, 8, 16
STILL = 0.3  # s without a change after which a person has seen what is there
PATIENCE = 60.0


def admitted(url: str) -> tuple[str, str]:
    """Open the printed address as a browser does; return the folder of the page and the cookie."""
    answer = httpx.get(url, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    return url.partition("/?")[0], answer.headers["Set-Cookie"].partition(";")[0]


class Person:
    """Speaks RFB and looks at the screen it is sent; coordinates are pixels of the screen."""

    def __init__(self, url: str, keys: tuple[str, str] | None = None) -> None:
        self.keys = keys or admitted(url)
        folder, cookie = self.keys
        address = folder.replace("http", "ws") + "/websockify"
        self._socket = connect(
            address, origin=folder.rpartition("/")[0], additional_headers={"Cookie": cookie}, max_size=None
        )
        self._rest = b""
        assert self._take(12) == b"RFB 003.008\n"
        self._socket.send(b"RFB 003.008\n")
        assert 1 in self._take(self._take(1)[0])  # no password: the way here is closed already
        self._socket.send(b"\x01")
        assert self._take(4) == b"\0\0\0\0"
        self._socket.send(b"\x01")
        self.width, self.height = struct.unpack(">HH", self._take(4))
        bits, _, big_endian, true_colour = self._take(16)[:4]
        assert (bits, big_endian) == (32, 0)
        assert true_colour
        self._take(struct.unpack(">I", self._take(4))[0])
        self._image = np.zeros((self.height, self.width, 4), np.uint8)
        self._changed = threading.Condition()
        self._last = time.monotonic()
        self.gone = threading.Event()
        self._socket.send(struct.pack(">BBHi", 2, 0, 1, 0))  # raw pixels only
        self._ask(0)
        threading.Thread(target=self._look, daemon=True).start()

    def _ask(self, incremental: int) -> None:
        self._socket.send(struct.pack(">BBHHHH", 3, incremental, 0, 0, self.width, self.height))

    def _take(self, size: int) -> bytes:
        parts = [self._rest]
        have = len(self._rest)
        while have < size:
            parts.append(self._socket.recv(timeout=PATIENCE))
            have += len(parts[-1])
        whole = b"".join(parts)
        self._rest = whole[size:]
        return whole[:size]

    def _look(self) -> None:
        try:
            while True:
                kind = self._take(1)[0]
                if kind == 0:
                    (count,) = struct.unpack(">xH", self._take(3))
                    for _ in range(count):
                        x, y, width, height, encoding = struct.unpack(">HHHHi", self._take(12))
                        assert encoding == 0
                        raw = np.frombuffer(self._take(width * height * 4), np.uint8).reshape(height, width, 4)
                        with self._changed:
                            if (self._image[y : y + height, x : x + width, :3] != raw[:, :, :3]).any():
                                self._last = time.monotonic()
                            self._image[y : y + height, x : x + width] = raw
                            self._changed.notify_all()
                    self._ask(1)
                elif kind == 3:
                    self._take(struct.unpack(">3xI", self._take(7))[0])
                else:
                    assert kind == 2, kind
        except (ConnectionClosed, TimeoutError):
            self.gone.set()

    def see(self) -> np.ndarray:
        """Wait until the screen stands still; return it, red first."""
        with self._changed:
            while (left := STILL - (time.monotonic() - self._last)) > 0:
                self._changed.wait(left)
            return self._image[:, :, 2::-1].copy()

    def find(self, name: str, *, below: int = 0) -> tuple[int, int]:
        """Wait until a target of the repository is to be seen once below a row; return its middle."""
        target, end = read_target(find_root(), name), time.monotonic() + PATIENCE
        while True:
            screen = self.see()
            matches = find_target(screen, target, (0, below, self.width, self.height - below)).matches
            if len(matches) == 1:
                return matches[0].middle
            assert time.monotonic() < end, f"{name} is {len(matches)} times on the screen"
            with self._changed:
                self._changed.wait(1.0)

    def find_pointer(self, x: int, y: int) -> None:
        """Wait until the pointer is drawn at a place of an empty desktop: what was sent before has then arrived."""
        self.see()
        with self._changed:
            assert self._changed.wait_for(lambda: self._image[y : y + 12, x : x + 8, :3].any(), PATIENCE)

    def pointer(self, x: int, y: int, buttons: int = 0) -> None:
        self._socket.send(struct.pack(">BBHH", 5, buttons, x, y))

    def click(self, x: int, y: int, button: int = LEFT, times: int = 1) -> None:
        self.pointer(x, y)
        for _ in range(times):
            self.pointer(x, y, button)
            self.pointer(x, y)

    def drag(self, start: tuple[int, int], end: tuple[int, int], button: int = LEFT) -> None:
        self.pointer(*start)
        for share in range(11):
            x, y = (round(a + (b - a) * share / 10) for a, b in zip(start, end, strict=True))
            self.pointer(x, y, button)
        self.pointer(*end)

    def key(self, sym: int, down: bool) -> None:
        self._socket.send(struct.pack(">BBHI", 4, down, 0, sym))

    def press(self, *names: str) -> None:
        # As browsers do it: the sign that the key types, with what is held.
        syms = [KEYS.get(name) or ord(name.upper() if "shift" in names else name) for name in names]
        for sym in syms:
            self.key(sym, True)
        for sym in reversed(syms):
            self.key(sym, False)

    def write(self, text: str) -> None:
        for sign in text:
            code = ord(sign)
            sym = code if code < 0x100 else 0x0100_0000 + code
            shifted = sign.isupper() or sign in '~!@#$%^&*()_+{}|:"<>?'
            if shifted:
                self.key(KEYS["shift"], True)
            self.key(sym, True)
            self.key(sym, False)
            if shifted:
                self.key(KEYS["shift"], False)

    def leave(self) -> None:
        self._socket.close()


class Window:
    """A window with the page on which scripts are written, without its looks."""

    def __init__(self, url: str, keys: tuple[str, str] | None = None) -> None:
        self.keys = keys or admitted(url)
        self.folder, self.cookie = self.keys
        self.socket = connect(
            self.folder.replace("http", "ws") + "/bench",
            origin=self.folder.rpartition("/")[0],
            additional_headers={"Cookie": self.cookie},
            max_size=None,
        )

    def until(self, wanted: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Wait until the page is told so."""
        while not wanted(state := json.loads(self.socket.recv(timeout=PATIENCE))):
            pass
        return state

    def asked(self) -> dict[str, Any]:
        """Wait until something can be sent."""
        return self.until(lambda state: state["state"] == "asking")

    def send(self, **message: str) -> None:
        self.socket.send(json.dumps(message))

    def do(self, **message: str) -> dict[str, Any]:
        """Send, and wait for what comes of it; the last state where the stage is over."""
        self.send(**message)
        self.until(lambda state: state["state"] == "busy")
        return self.until(lambda state: state["state"] != "busy")


@pytest.fixture
def window():
    """Open the page of a stage with scripts: `window(url)`."""
    windows = []

    def open_page(url: str, keys: tuple[str, str] | None = None) -> Window:
        windows.append(Window(url, keys))
        return windows[-1]

    yield open_page
    for one in windows:
        one.socket.close()


@pytest.fixture
def person():
    """Sit down at a desktop: `person(url)`."""
    people = []

    def sit(url: str, keys: tuple[str, str] | None = None) -> Person:
        people.append(Person(url, keys))
        return people[-1]

    yield sit
    for one in people:
        one.leave()
