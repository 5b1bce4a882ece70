"""The languages in which the snapshot is served."""

from __future__ import annotations

from enum import StrEnum


class Dialect(StrEnum):
    """One server speaks one dialect."""

    MATERIALS_PROJECT = "mp"
    OQMD = "oqmd"
    OPTIMADE = "optimade"
