"""A file read in a process of its own: the HDF5 library loops for ever on some torn files, and nothing else ends it."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
from multiprocessing.connection import Connection
from pathlib import Path

from tasks_lib.instruments.nhf._errors import NhfError
from tasks_lib.instruments.nhf._reader import NhfFile, read_nhf


def read_nhf_apart(content: bytes, *, name: str, seconds: float = 60.0) -> NhfFile:
    """Read a file as `read_nhf` does, in a process that is ended after a time.

    Parameters
    ----------
    content : bytes
    name : str
        What messages call the file.
    seconds : float
        Time for it, the start of a process included.

    Raises
    ------
    NhfError
        As `read_nhf`, and where the time is over or the process broke.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_read, args=(there, content, name, seconds), daemon=True)
    process.start()
    there.close()
    try:
        if not here.poll(seconds):
            rule = f"was not read within {seconds:g} s: the library hangs on it, so it is torn or hostile"
            raise NhfError(rule, source=name)
        done: NhfFile | tuple[str, str] = here.recv()
    except (EOFError, OSError) as error:
        rule = "broke the process that read it: it is torn or hostile"
        raise NhfError(rule, source=name) from error
    finally:
        here.close()
        process.kill()
        process.join()
    if isinstance(done, NhfFile):
        return done
    raise NhfError(done[0], place=done[1])


def _read(answer: Connection, content: bytes, name: str, seconds: float) -> None:
    # Whoever waits may be gone by then; this watchdog ends the process even while the library has the interpreter.
    silent = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - it is needed until the end
    faulthandler.dump_traceback_later(seconds + 1, exit=True, file=silent)
    try:
        answer.send(read_nhf(content, name=name))
    except NhfError as error:
        # The words hold name and place already.
        place = f"{name}: {error.place}"
        answer.send((str(error).removeprefix(f"{place}: "), place))
    answer.close()
