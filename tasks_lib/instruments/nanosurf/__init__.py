"""Nanosurf's microscopes: the worker beside the instrument, the back end that reaches it, and a fake of its interface.

`NanosurfBackEnd` is what drives a microscope. The worker (`python -m tasks_lib.instruments.nanosurf.worker`) holds it.
`Desk` and `DeskServer` are the worker's inside; they also stand between a script in a sandbox and the twin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasks_lib.instruments.nanosurf.client import NanosurfBackEnd
    from tasks_lib.instruments.nanosurf.desk import Desk
    from tasks_lib.instruments.nanosurf.server import DeskServer

__all__ = ["Desk", "DeskServer", "NanosurfBackEnd"]


def __getattr__(name: str) -> Any:
    """Load what is asked for: the worker needs no client, and a client no server."""
    if name == "NanosurfBackEnd":
        from tasks_lib.instruments.nanosurf.client import NanosurfBackEnd

        return NanosurfBackEnd
    if name == "Desk":
        from tasks_lib.instruments.nanosurf.desk import Desk

        return Desk
    if name == "DeskServer":
        from tasks_lib.instruments.nanosurf.server import DeskServer

        return DeskServer
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
