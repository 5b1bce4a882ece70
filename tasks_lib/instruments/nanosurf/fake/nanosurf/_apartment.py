"""Threads and COM: a thread must be initialised, and an object belongs to the thread that made it."""

from __future__ import annotations

import threading

from ._errors import NOT_INITIALISED, WRONG_THREAD, com_error

_entered: set[int] = set()


def enter() -> None:
    _entered.add(threading.get_ident())


def leave() -> None:
    _entered.discard(threading.get_ident())


def check_entered() -> int:
    """Return this thread; the main thread is initialised when pywin32 is imported."""
    here = threading.get_ident()
    if here not in _entered and threading.current_thread() is not threading.main_thread():
        raise com_error(NOT_INITIALISED, "CoInitialize has not been called.", None, None)
    return here


def check_owner(owner: int) -> None:
    if threading.get_ident() != owner:
        words = "The application called an interface that was marshalled for a different thread."
        raise com_error(WRONG_THREAD, words, None, None)
