"""The private desktop: X server, window manager and message bus, each waited for until it really serves."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

from .faults import RefusedError
from .processes import Child, Children
from .programs import program_environment, write_settings
from .settings import GuestSettings

_SECONDS = 20.0
_FAMILY_LOCAL = 256
_OPENBOX = Path(__file__).with_name("openbox.xml")


def base_environment(settings: GuestSettings) -> dict[str, str]:
    """Return the environment of everything that runs on the machine; nothing of the host's comes in."""
    return {
        "HOME": settings.home,
        "USER": "user",
        "LOGNAME": "user",
        "SHELL": "/bin/sh",
        # /usr/bin first: desktop programs are written for the system's own python3.
        "PATH": "/usr/bin:/bin:/usr/local/bin:/usr/games",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "TMPDIR": f"{settings.runtime}/tmp",  # noqa: S108 - a private folder of that name
        "XDG_RUNTIME_DIR": f"{settings.runtime}/xdg",
        "MATASSAY_MACHINE": os.environ.get("MATASSAY_MACHINE", ""),
        "MPLBACKEND": "Agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
    }


class Desktop:
    """X server, window manager and message bus of one machine.

    Parameters
    ----------
    settings : GuestSettings
        Screen size in pixels and folders.
    children : Children
        Starts and watches the three processes.

    Raises
    ------
    RefusedError
        If a program is missing (``no-desktop``) or does not come up (``broken``).
    """

    def __init__(self, settings: GuestSettings, children: Children) -> None:
        self._children = children
        self._settings = settings
        self.environment = base_environment(settings)
        runtime = Path(settings.runtime)
        self._screen_folder = runtime / "screen"
        self._screen_folder.mkdir(mode=0o700)
        write_settings(Path(settings.home), Path(settings.work))
        self._parts: list[Child] = []
        authority = runtime / "xauthority"
        authority.write_bytes(_authority_entry(secrets.token_bytes(16)))
        authority.chmod(0o600)
        self.environment["XAUTHORITY"] = str(authority)
        bus = f"unix:path={settings.runtime}/xdg/bus"
        programs = program_environment(settings.home, accessibility=settings.accessibility)
        self.environment |= {"DBUS_SESSION_BUS_ADDRESS": bus, **programs}
        self._start_server(authority)
        self._start("dbus-daemon", ["--session", "--nofork", "--nopidfile", f"--address={bus}"])
        self._start("openbox", ["--config-file", str(_OPENBOX), "--sm-disable"])

    @property
    def frame_file(self) -> Path:
        """File that the X server keeps its screen in, in XWD format."""
        return self._screen_folder / "Xvfb_screen0"

    def wait_for_manager(self, display: Any) -> None:
        """Wait until the window manager says that it manages the screen."""
        atom = display.intern_atom("_NET_SUPPORTING_WM_CHECK")
        root = display.screen().root
        end = time.monotonic() + _SECONDS
        while root.get_full_property(atom, 0) is None:
            self.check()
            if time.monotonic() > end:
                msg = f"openbox did not manage the screen within {_SECONDS:g} s: look at the machine's log"
                raise RefusedError(msg, "broken")
            time.sleep(0.01)

    def check(self) -> None:
        """Refuse further work when a part of the desktop has ended."""
        for part in self._parts:
            if part.code is not None:
                msg = f"the desktop is gone: {part.name} ended with code {part.code}; open a new machine"
                raise RefusedError(msg, "broken")

    def _start_server(self, authority: Path) -> None:
        read, write = os.pipe()
        try:
            self._start(
                "Xvfb",
                [
                    *("-displayfd", str(write), "-screen", "0", f"{self._settings.width}x{self._settings.height}x24"),
                    *("-nolisten", "tcp", "-noreset", "-fbdir", str(self._screen_folder), "-auth", str(authority)),
                    *("-dpi", "96", "+extension", "XTEST", "-s", "0"),
                ],
                pass_fds=(write,),
            )
            os.close(write)
            write = -1
            number = _read_line(read, time.monotonic() + _SECONDS)
        finally:
            os.close(read)
            if write >= 0:
                os.close(write)
        if not number.isdigit():
            self.check()
            msg = f"Xvfb named no display within {_SECONDS:g} s: look at the machine's log"
            raise RefusedError(msg, "broken")
        self.environment["DISPLAY"] = f":{number}"

    def _start(self, program: str, arguments: list[str], pass_fds: tuple[int, ...] = ()) -> None:
        path = shutil.which(program, path=self.environment["PATH"])
        if path is None:
            msg = f"{program} is not installed on the machine: install the system packages of the desktop"
            raise RefusedError(msg, "no-desktop")
        child = self._children.start(
            [path, *arguments],
            program,
            lasting=True,
            env=self.environment,
            cwd=self._settings.home,
            stdout=subprocess.DEVNULL,
            pass_fds=pass_fds,
        )
        self._parts.append(child)


def _authority_entry(cookie: bytes) -> bytes:
    """Return one entry of an X authority file: this host, any display, MIT-MAGIC-COOKIE-1."""
    parts = (socket.gethostname().encode(), b"", b"MIT-MAGIC-COOKIE-1", cookie)
    return struct.pack(">H", _FAMILY_LOCAL) + b"".join(struct.pack(">H", len(part)) + part for part in parts)


def _read_line(descriptor: int, end: float) -> str:
    os.set_blocking(descriptor, False)
    text = b""
    while time.monotonic() < end:
        try:
            piece = os.read(descriptor, 64)
        except BlockingIOError:
            time.sleep(0.005)
            continue
        text += piece
        if not piece or text.endswith(b"\n"):
            break
    return text.decode("ascii", "replace").strip()
