"""Secrets are taken out of everything that leaves the process, by their value."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

# Shorter values ("EMPTY", "ollama") are place-holders of local servers; taking them out would mangle honest text.
SHORTEST = 8
MASK = "[redacted]"
_NAME = re.compile(r"(?i)(?:^|_)(?:key|apikey|token|secret|password|passwd|credentials?)(?:_|$)|_pat$")


class Redactor:
    """Replaces known secret values in text.

    Each value is found as it is, percent-encoded, JSON-escaped and in base64, wherever in a longer text that base64
    begins. Values of fewer than eight characters are left.

    Parameters
    ----------
    secrets : iterable of str
        The values to hide.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = frozenset(value for value in secrets if len(value) >= SHORTEST)
        forms = {form for value in self._secrets for form in _forms(value)}
        # Longest first, so that a secret that holds another goes as a whole.
        self._forms = sorted(forms, key=lambda form: (-len(form), form))

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
        # Looked for one by one: in megabytes of pictures that is several times as fast as one pattern.
        found = [form for form in self._forms if form in text]
        return re.sub("|".join(map(re.escape, found)), MASK, text) if found else text

    def known_in(self, data: bytes) -> bool:
        """Tell whether a secret stands in a file's bytes."""
        return any(form.encode("utf-8", "surrogatepass") in data for form in self._forms)

    def __repr__(self) -> str:
        return f"Redactor({len(self._secrets)} secrets)"


def _forms(value: str) -> Iterator[str]:
    """Yield a value in the forms in which it may turn up in a text."""
    yield value
    for safe in ("", "/"):
        encoded = quote(value, safe=safe, errors="replace")
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), encoded)
    for ascii_only in (True, False):
        escaped = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield escaped.replace("/", r"\/")
    data = value.encode("utf-8", "surrogatepass")
    for before in range(3):
        # Of the first and the last characters some bits are the neighbours'.
        whole = base64.b64encode(bytes(before) + data).decode("ascii")
        core = whole[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        yield core
        yield core.replace("+", "-").replace("/", "_")
