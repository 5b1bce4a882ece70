"""Secrets are taken out of everything that leaves the process, by their value."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

# Shorter values ("EMPTY", "ollama") are place-holders of local servers; taking them out would mangle honest text.
SHORTEST = 8
MASK = "[redacted]"
_NAME = re.compile(r"(?i)(?:^|_)(?:key|apikey|token|secret|password|passwd|credentials?)(?:_|$)|_pat$")


class Redactor:
    """Replaces known secret values in text.

    Each value is found as it is, percent-encoded and JSON-escaped. Values of fewer than eight characters are left.

    Parameters
    ----------
    secrets : iterable of str
        The values to hide.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = frozenset(value for value in secrets if len(value) >= SHORTEST)
        forms = {form for value in self._secrets for form in (value, quote(value, safe=""), json.dumps(value)[1:-1])}
        # Longest first, so that a secret that holds another goes as a whole.
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Redactor:
        """Hide the values of the variables whose names say that they are secret.

        Parameters
        ----------
        environ : mapping, optional
            The environment; the process's own by default.
        """
        found = os.environ if environ is None else environ
        return cls(value for name, value in found.items() if _NAME.search(name))

    def __or__(self, other: Redactor) -> Redactor:
        """Hide what either hides."""
        return Redactor(self._secrets | other._secrets)

    def __call__(self, text: str) -> str:
        """Return `text` with every secret replaced by ``[redacted]``."""
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def __repr__(self) -> str:
        return f"Redactor({len(self._secrets)} secrets)"
