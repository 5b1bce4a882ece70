"""A fake of the vendor's `nanosurf`: the documented names, driving whatever a `Desk` holds.

The folder of this package is what goes on a script's path: `nanosurf`, `pywintypes` and `pythoncom` lie in it. They
need nothing but Python itself, so that `files` can be put into a machine that has none of this house.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tasks_lib.instruments.nanosurf.desk import Desk

FOLDER = Path(__file__).resolve().parent

__all__ = ["FOLDER", "connect", "connect_studio", "files"]


def files() -> dict[str, bytes]:
    """Return the files that make ``import nanosurf`` work beside a script, by path.

    Without `nanosurf.studio`: its frames are files that take more than Python to write.
    """
    found = [
        *(one for one in FOLDER.glob("nanosurf/*.py") if one.name != "studio.py"),
        FOLDER / "pywintypes.py",
        FOLDER / "pythoncom.py",
    ]
    return {path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in sorted(found)}


def connect(desk: Desk, **switches: Any) -> Any:
    """Return what ``nanosurf.SPM()`` returns, in this process and without a network.

    Parameters
    ----------
    desk : Desk
        What it drives.
    **switches
        ``silent``, ``comma``, ``missing`` and ``save_stopped`` of `nanosurf.Switches`.
    """
    from tasks_lib.instruments.nanosurf.fake.nanosurf import SPM, Switches

    return SPM(link=_Direct(desk), switches=Switches(**switches))


def connect_studio(desk: Desk, words: str = "") -> Any:
    """Return a connected ``nanosurf.studio.Studio``, in this process and without a network.

    Parameters
    ----------
    desk : Desk
        What it drives.
    words : str
        Those of ``NANOSURF_FAKE``: ``public`` (the names that every program shows), ``quiet`` (errors are printed and
        kept, as before version 2 of the vendor's package), ``v1`` (files of version 1.1), ``drop`` (nothing is stored),
        ``missing=imaging.overscan``.
    """
    from tasks_lib.instruments.nanosurf.fake.nanosurf.studio import Studio

    studio = Studio(link=_Direct(desk), words=words)
    studio.connect()
    return studio


class _Direct:
    """The way to a desk in this process."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def request(self, method: str, target: str, body: bytes) -> tuple[int, bytes]:
        from tasks_lib.instruments.nanosurf.routes import answer

        status, _, content = answer(self._desk, method, target, body)
        return status, content
