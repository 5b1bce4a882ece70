"""The one exception of the control server: a refusal with a status, a kind that programs read and a text for people."""

from __future__ import annotations

from typing import ClassVar


class RefusedError(Exception):
    """A request that is not carried out.

    Parameters
    ----------
    message : str
        Rule, value and what to do next, written for whoever sent the request, a model included.
    kind : str
        Word that the client maps to an exception: ``action``, ``missing``, ``no-desktop``, ``no-window``, ``too-big``,
        ``broken``.
    """

    _STATUS: ClassVar[dict[str, int]] = {
        "action": 400,
        "missing": 404,
        "no-desktop": 409,
        "no-window": 408,
        "too-big": 413,
        "broken": 500,
    }

    def __init__(self, message: str, kind: str = "action") -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind

    @property
    def status(self) -> int:
        """HTTP status of the refusal."""
        return self._STATUS[self.kind]
