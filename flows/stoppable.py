"""A scan in a thread: a cancelled flow stops it at the next line and waits until the instrument stands still."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

Order = TypeVar("Order")
Result = TypeVar("Result")


async def stoppable(scan: Callable[[Order, Callable[[], bool]], Result], order: Order) -> Result:
    """Scan what is ordered.

    Parameters
    ----------
    scan : callable
        Gets the order, and a function that says at every line whether the scan goes on.
    order
        What to scan.

    Raises
    ------
    asyncio.CancelledError
        If the flow was cancelled; the scan is over then.
    """
    cancelled = threading.Event()
    work = asyncio.ensure_future(asyncio.to_thread(scan, order, lambda: not cancelled.is_set()))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        cancelled.set()
        await asyncio.wait([work])
        raise
