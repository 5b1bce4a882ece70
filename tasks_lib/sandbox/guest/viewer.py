"""The desktop for a person who sits elsewhere: a VNC server for one connection, which its caller brings along.

It listens nowhere. The connection is the control server's own, so whoever has it has shown the machine's token.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
from contextlib import suppress
from typing import Any

from Xlib import X
from Xlib.display import Display

from .faults import RefusedError
from .processes import Child, Children

PROGRAM = "x11vnc"
_BUTTONS = ((X.Button1Mask, 1), (X.Button2Mask, 2), (X.Button3Mask, 3))


class Viewer:
    """Shows a display to one person at a time.

    Parameters
    ----------
    environment : dict of str to str
        The desktop's, with display and authority.
    children : Children
        Starts and ends the VNC server.
    """

    def __init__(self, environment: dict[str, str], children: Children) -> None:
        self._environment = environment
        self._children = children
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._display: Any = None

    def show(self, connection: socket.socket, greeting: bytes) -> None:
        """Speak RFB on a connection until either end closes it; a person who looks already gives way.

        Parameters
        ----------
        connection : socket
            Connected; it is shut down at the end.
        greeting : bytes
            Sent first, when nothing can be refused any more.

        Raises
        ------
        RefusedError
            If the VNC server is not installed.
        """
        path = shutil.which(PROGRAM, path=self._environment["PATH"])
        if path is None:
            msg = f"{PROGRAM} is not installed: apt-get install {PROGRAM}"
            raise RefusedError(msg, "no-desktop")
        with self._lock:
            if self._child is not None:
                self._end(self._child)
            connection.sendall(greeting)
            child = self._child = self._children.start(
                [path, *_OPTIONS, "-display", self._environment["DISPLAY"]],
                PROGRAM,
                lasting=True,
                sacrifice=300,
                env=self._environment,
                stdin=connection.fileno(),
                stdout=connection.fileno(),
                stderr=subprocess.DEVNULL,
            )
        while self._children.wait(child, 3600.0) is None:
            pass
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        with self._lock:
            if self._child is child:
                self._child = None
                self._let_go()

    def _end(self, child: Child) -> None:
        self._children.end(child)
        self._let_go()

    def _let_go(self) -> None:
        """Let go keys and buttons that a person held when the connection broke."""
        if self._display is None:
            self._display = Display(self._environment["DISPLAY"])
        held = self._display.query_keymap()
        for code in range(8, 256):
            if held[code // 8] >> (code % 8) & 1:
                self._display.xtest_fake_input(X.KeyRelease, code)
        mask = self._display.screen().root.query_pointer().mask
        for bit, button in _BUTTONS:
            if mask & bit:
                self._display.xtest_fake_input(X.ButtonRelease, button)
        self._display.sync()


_OPTIONS = (
    "-inetd", "-quiet", "-norc", "-nopw", "-nolookup", "-noipv6", "-nosel", "-nobell", "-noxrecord", "-noscr",
    "-nowf", "-xkb", "-noremote", "-nodpms", "-cursor", "arrow", "-nocursorshape", "-nocursorpos",
    "-wait", "20", "-defer", "20", "-desktop", "MatAssay",
)  # fmt: skip
