"""Inspect AI: its logs out and in, and its ``@task`` face over our benchmarks.

The package inspect-ai is an extra. Nothing here imports it before it is used: `need` says how to install it.
"""

from __future__ import annotations

import importlib.util

from tasks_lib.records.errors import ConfigurationError
from tasks_lib.records.extras import install_command


def need() -> None:
    """Refuse where the package inspect-ai is not installed.

    Raises
    ------
    ConfigurationError
        With the command that installs it.
    """
    if importlib.util.find_spec("inspect_ai") is None:
        msg = (
            "logs of Inspect AI are written and read by its own package, which is not installed: "
            f"{install_command('inspect')}, best in an environment of its own"
        )
        raise ConfigurationError(msg)


__all__ = ["need"]
