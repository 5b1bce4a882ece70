"""The languages in which the snapshot is served."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from tasks_lib.records.errors import ConfigurationError


class Dialect(StrEnum):
    """One server speaks one dialect."""

    MATERIALS_PROJECT = "mp"
    OQMD = "oqmd"
    OPTIMADE = "optimade"

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the dialect of that name.

        Raises
        ------
        ConfigurationError
            If there is none.
        """
        try:
            return cls(name)
        except ValueError as error:
            msg = f"a dialect is one of {', '.join(cls)}, got {name!r}: choose one of them"
            raise ConfigurationError(msg) from error

    @property
    def service(self) -> str:
        """What people call the service."""
        return {"mp": "Materials Project API", "oqmd": "OQMD REST API", "optimade": "OPTIMADE providers"}[self.value]

    @property
    def address_variables(self) -> tuple[str, ...]:
        """Environment variables that lead clients to it, and its key where it asks for one."""
        return {
            "mp": ("MP_API_ENDPOINT", "MP_API_KEY"),
            "oqmd": ("oqmd_url",),
            "optimade": ("OPTIMADE_BASE_URLS",),
        }[self.value]
