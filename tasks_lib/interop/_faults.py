"""How a document of somebody else's is refused: its place, the rule, and what to do."""

from __future__ import annotations

from tasks_lib.records.errors import ConfigurationError


def fault(place: str, rule: str, remedy: str) -> ConfigurationError:
    """Return the error for a foreign document; long or hostile values are cut."""
    return ConfigurationError(f"{place}: {rule[:600]}: {remedy}")
