"""The terminal of a person who works on a machine's desktop in the browser."""

from __future__ import annotations

import select as waiting
import sys
import termios
import threading
from pathlib import Path

from tasks_lib.cli.console import err, say
from tasks_lib.records import Stage
from tasks_lib.records.errors import ConfigurationError

_POLL = 0.3  # s between two looks at what the person did


class TerminalDesk:
    """The terminal of a person who does a stage by hand; see `tasks_lib.episodes.sitting.Desk`.

    Parameters
    ----------
    until_file : Path or None
        Ends the stage when it exists; None: Enter does.
    instead : str
        What to do where there is no terminal, for the message.

    Raises
    ------
    ConfigurationError
        If there is no terminal, or the file is there already.
    """

    def __init__(
        self,
        until_file: Path | None = None,
        instead: str = "give --until-file FILE, and make that file when you are done",
    ) -> None:
        if until_file is None and not sys.stdin.isatty():
            msg = f"there is no terminal to press Enter in: {instead}"
            raise ConfigurationError(msg)
        if until_file is not None and until_file.exists():
            msg = f"{until_file} is there already, so the recording would end at once: remove it, or name another"
            raise ConfigurationError(msg)
        self._until_file = until_file
        self._pause = threading.Event()

    def begin(self, stage: Stage, url: str) -> None:
        """Say what is to be done, where, and how to end."""
        end = "press Enter here" if self._until_file is None else f"make the file {self._until_file}"
        say(f"stage {stage.id}: {stage.instruction.strip()}")
        say("the desktop is at")
        err.print(f"  {url}", markup=False, soft_wrap=True)  # an address that is cut in two leads nowhere
        say(f"for one browser of this machine. When you are done, {end}; Ctrl-C gives up.")
        if self._until_file is None:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)  # an Enter from before ends nothing

    def is_done(self) -> bool:
        """Wait a moment for Enter, or for the file."""
        if self._until_file is not None:
            self._pause.wait(_POLL)
            return self._until_file.exists()
        ready, _, _ = waiting.select([sys.stdin], [], [], _POLL)
        if ready:
            sys.stdin.readline()
        return bool(ready)

    def tell(self, text: str) -> None:
        """Print a remark."""
        say(text)


def run_desk() -> TerminalDesk:
    """Return the desk of the agent ``human``."""
    return TerminalDesk(None, "run agent 'human' in one, or let another agent play")
