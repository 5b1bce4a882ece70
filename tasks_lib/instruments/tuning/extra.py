"""Whether the packages of the extra ``afm`` are there; they are imported where they are used."""

from __future__ import annotations

from importlib.util import find_spec

from tasks_lib.records.errors import ConfigurationError
from tasks_lib.records.extras import install_command

_PACKAGES = ("deap", "matplotlib", "numba", "optuna", "sklearn")


def missing_packages() -> list[str]:
    """Return the packages that tuning needs and that are not installed, by the names they are imported with."""
    return [name for name in _PACKAGES if find_spec(name) is None]


def require_packages(*names: str) -> None:
    """Refuse to go on without them, or without those of them that are named.

    Raises
    ------
    ConfigurationError
        Naming them, and what installs them.
    """
    if missing := [name for name in missing_packages() if not names or name in names]:
        msg = f"the microscope needs {', '.join(missing)}: install the extra: {install_command('afm')}"
        raise ConfigurationError(msg)
