"""The languages in which the snapshot is served."""

from __future__ import annotations

from enum import StrEnum


class Dialect(StrEnum):
    """One server speaks one dialect."""

    MATERIALS_PROJECT = "mp"
    OQMD = "oqmd"
    OPTIMADE = "optimade"

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
