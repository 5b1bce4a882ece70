"""A limit on a call that is kept whatever the call does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class OverdueError(Exception):
    """The call did not come back in time."""


def within(seconds: float, call: Callable[[Callable[[T], None]], T], abandon: Callable[[], None]) -> T:
    """Run `call` in a thread of its own and wait no longer than `seconds` for it.

    A read time-out of a socket restarts with every byte, so that an endpoint which drips bytes would never reach it.
    The thread is a daemon: an abandoned call cannot keep the process alive.

    Parameters
    ----------
    seconds : float
        Limit, s.
    call : callable
        What to run; what it raises is raised here. It may hand its result to the function that it is given and go on,
        to tidy up while nobody waits.
    abandon : callable
        Called when the limit passed, to let the call know that nobody waits for it.

    Raises
    ------
    OverdueError
        If the limit passed.
    """
    result: list[T] = []
    failure: list[BaseException] = []
    ready = threading.Event()

    def deliver(found: T) -> None:
        result.append(found)
        ready.set()

    def run() -> None:
        try:
            deliver(call(deliver))
        except BaseException as error:  # noqa: BLE001  # carried over to the waiting thread
            failure.append(error)
            ready.set()

    threading.Thread(target=run, name="matassay-model-call", daemon=True).start()
    if not ready.wait(max(0.0, seconds)):
        abandon()
        raise OverdueError
    if result:
        return result[0]
    raise failure[0]
