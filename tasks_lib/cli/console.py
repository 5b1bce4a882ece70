"""How the command line speaks: tables on standard output, remarks on standard error, clear exit codes."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

import typer
from rich.console import Console

from tasks_lib.records import clean_json
from tasks_lib.records.errors import MatAssayError
from tasks_lib.reporting import scrub

out = Console(highlight=False, soft_wrap=False)
err = Console(stderr=True, highlight=False)


class Exit(IntEnum):
    """What the exit code of every command means."""

    DONE = 0
    VOID_OR_UNPROVED = 1
    WRONG_USE = 2
    INTERRUPTED = 130


def lenient_streams() -> None:
    """Let a console of another encoding (``LC_ALL=C``, a scheduler's log) get an escape for a sign that it lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Print a remark for a person; a console of another encoding loses signs, never the message.

    Parts of it may have been written by an agent, a program of its or a model's endpoint: escapes are shown, not sent.
    """
    text = scrub(text)
    try:
        # Wrapped by the terminal: a command in it can be copied whole.
        err.print(text, markup=False, soft_wrap=True)
    except UnicodeEncodeError:
        sys.stderr.write(text.encode("ascii", "backslashreplace").decode("ascii") + "\n")


def print_json(value: Any) -> None:
    """Print strict JSON on one line for a machine."""
    sys.stdout.write(json.dumps(clean_json(value), sort_keys=True, allow_nan=False) + "\n")
    sys.stdout.flush()


@contextlib.contextmanager
def explained(*, interrupts: bool = True) -> Iterator[None]:
    """Turn an error that the user can mend into its message and exit code 2, without a trace, and Ctrl-C into 130.

    An error that the user can mend is every error of ours, whose message says what to do, and what the system says of
    a file or a folder. A bug keeps its trace. With ``interrupts=False`` Ctrl-C is left to the caller, who has more to
    say.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        if not interrupts:
            raise
        say("interrupted")
        raise typer.Exit(Exit.INTERRUPTED) from error
    except BrokenPipeError:
        raise  # nobody reads any more: the one who runs the command line ends it
    except MatAssayError as error:
        say(f"matassay: {error}")
        raise typer.Exit(Exit.WRONG_USE) from error
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        absent = isinstance(error, FileNotFoundError)
        advice = "check the path" if absent else "check that the place has room and may be used"
        say(f"matassay: {place}{error.strerror or error}: {advice}")
        raise typer.Exit(Exit.WRONG_USE) from error
