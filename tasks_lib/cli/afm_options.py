"""Options that say which microscope a command is for."""

from __future__ import annotations

from typing import Annotated, get_args

import typer

from tasks_lib.records.errors import ConfigurationError

InstrumentOption = Annotated[
    str, typer.Option("--instrument", metavar="NAME", help="twin, nanosurf (a worker), or replay (recorded files).")
]
WorkerOption = Annotated[
    str | None, typer.Option(metavar="URL", help="Where the worker of a nanosurf instrument is reached.")
]
ApproachOption = Annotated[
    bool, typer.Option("--approach", help="A real tip that is not engaged may be brought to the sample.")
]


def back_end_name(given: str) -> str:
    """Return the name of a back end.

    Raises
    ------
    ConfigurationError
        If there is none of that name.
    """
    from tasks_lib.instruments.reach import BackEndName

    have = get_args(BackEndName)
    if given not in have:
        msg = f"there is no instrument {given!r}; take one of {', '.join(have)}"
        raise ConfigurationError(msg)
    return given
