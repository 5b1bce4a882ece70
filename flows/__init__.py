"""The DAGs: everything that imports prefect, and the engine that the command line finds by its entry point.

Importing this package costs nothing: the engine is made when it is first asked for, and prefect is imported when one
of its methods first needs it. The child programs of `flows.serving` start the faster for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flows.prefect_engine import PrefectEngine

    engine: PrefectEngine

__all__ = ["engine"]


def __getattr__(name: str) -> PrefectEngine:
    if name != "engine":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from flows.prefect_engine import PrefectEngine

    # One for the process: the server that `warm_up` starts is the one that `run` uses.
    made = PrefectEngine()
    globals()["engine"] = made
    return made
