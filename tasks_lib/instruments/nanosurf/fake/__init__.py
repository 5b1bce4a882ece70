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

__all__ = ["FOLDER", "connect", "files"]


def files() -> dict[str, bytes]:
    """Return the files that make ``import nanosurf`` work beside a script, by path."""
    found = [*FOLDER.glob("nanosurf/*.py"), FOLDER / "pywintypes.py", FOLDER / "pythoncom.py"]
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
    from tasks_lib.instruments.nanosurf.routes import answer

    class Direct:
        def request(self, method: str, target: str, body: bytes) -> tuple[int, bytes]:
            status, _, content = answer(desk, method, target, body)
            return status, content

    return SPM(link=Direct(), switches=Switches(**switches))
