"""What the objects of one application share: the link, what was asked of the gallery, and the scan that runs."""

from __future__ import annotations

import atexit
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _apartment
from ._errors import com_error, refused
from ._link import Link, ask


@dataclass
class Switches:
    """How faithful, and to which program.

    Attributes
    ----------
    silent : bool
        Setting an unknown attribute succeeds, as on an early-bound wrapper, and changes nothing.
    comma : bool
        Numbers in texts have a decimal comma, as where Windows is German.
    missing : tuple of str
        Attributes that this program does not have, as ``ZController.DGain``.
    save_stopped : bool
        Whether a frame that was stopped is saved.
    """

    silent: bool = False
    comma: bool = False
    missing: tuple[str, ...] = ()
    save_stopped: bool = True

    @classmethod
    def from_environment(cls) -> Switches:
        """Read ``NANOSURF_FAKE``: words such as ``silent``, ``comma``, ``drop-stopped``, ``missing=Scan.SlopeX``."""
        words = os.environ.get("NANOSURF_FAKE", "").split()
        missing = tuple(word.partition("=")[2] for word in words if word.startswith("missing="))
        return cls("silent" in words, "comma" in words, missing, "drop-stopped" not in words)


@dataclass
class Session:
    """State of a connection; see the module."""

    link: Link
    switches: Switches
    mask: str = "Image"
    directory: str = field(default_factory=os.getcwd)
    index: int = 1
    capture: bool = True
    approach_failed: bool = False

    def __post_init__(self) -> None:
        self.thread = _apartment.check_entered()
        self._serial = 0
        self._lines: list[dict[str, Any]] = []
        self._running = False
        self._stopped = False
        atexit.register(self._at_exit)

    # ------------------------------------------------------------------ values

    def check(self) -> None:
        """Raise where another thread than the owner's asks."""
        _apartment.check_owner(self.thread)

    def state(self) -> dict[str, Any]:
        self.check()
        found = ask(self.link, "GET", "/v1/state")
        return {
            **found["scan"],
            **found["gains"],
            **{name: found[name] for name in found if name not in ("scan", "gains")},
        }

    def set(self, values: dict[str, Any]) -> None:
        self.check()
        ask(self.link, "POST", "/v1/set", {"values": values})

    def order(self, what: str, order: dict[str, Any] | None = None) -> Any:
        self.check()
        return ask(self.link, "POST", f"/v1/{what}", order or {})

    # ------------------------------------------------------------------ scans

    def begin(self, direction: str) -> None:
        """Begin a frame, as the gallery would name it."""
        self.follow()
        if self._running:
            raise refused("A scan is running already.")
        if self.state()["direction"] != direction:
            self.set({"direction": direction})
        safe = re.sub(r"[^A-Za-z0-9_.-]", "_", self._file_name()).lstrip("_.-")[:100] or "frame"
        progress = self.order("scan", {"name": safe})
        self._serial, self._lines, self._running, self._stopped = progress["serial"], [], True, False

    def begin_endless(self) -> None:
        """Ask for a scan without an end, which is refused with the reason."""
        self.order("scan", {"name": "continuous", "continuous": True})

    def stop(self) -> None:
        if self.follow():
            self.order("stop")
            self._stopped = True
            self._wait()

    def follow(self) -> bool:
        """Ask how the scan stands, save its frame when it ended, and return whether it goes on."""
        self.check()
        return self._follow(0.0)

    def current_line(self, lines: int, direction: str) -> int:
        """Row of the line that is being scanned; of the last one, when the scan has ended."""
        running = self.follow()
        done = len(self._lines) - (0 if running else 1)
        done = min(max(done, 0), lines - 1)
        return done if direction == "up" else lines - 1 - done

    def line(self, row: int, backward: bool) -> list[float]:
        """Heights of a row, m."""
        self.follow()
        state = self.state()
        if not 0 <= row < state["lines"]:
            raise refused(f"There is no line {row}.")
        index = row if state["direction"] == "up" else state["lines"] - 1 - row
        if index >= len(self._lines):
            return [0.0] * int(state["points"])
        values = self._lines[index]["backward" if backward else "forward"]
        return [0.0 if value is None else float(value) for value in values]

    def _follow(self, wait: float) -> bool:
        if not self._running:
            return False
        progress = ask(self.link, "GET", f"/v1/lines?since={len(self._lines)}&wait={wait:g}")
        if progress["serial"] != self._serial:
            self._running = False
            return False
        self._lines += progress["lines"]
        self._running = bool(progress["running"]) or len(self._lines) < progress["lines_done"]
        if progress["fault"] is not None:
            raise refused(str(progress["fault"]["message"]))
        if not self._running:
            self._save()
        return self._running

    def _wait(self) -> None:
        while self._follow(1.0):
            pass

    def _save(self) -> None:
        if not self.capture or (self._stopped and not self.switches.save_stopped):
            return
        content = ask(self.link, "GET", "/v1/frame")
        folder = Path(self.directory)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self._file_name()}.nid").write_bytes(content)
        self.index += 1

    def _file_name(self) -> str:
        mask = re.split(r"[\\/]", self.mask)[-1] or "Image"
        number = f"{self.index:05d}"
        return mask.replace("[INDEX]", number) if "[INDEX]" in mask else mask + number

    def _at_exit(self) -> None:
        # The program goes on where a script ends, and saves the frame.
        if self._running:
            try:
                self._wait()
            except com_error:
                pass
