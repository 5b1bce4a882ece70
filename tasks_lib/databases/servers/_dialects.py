"""What every dialect gives to the server that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.types import ASGIApp


@dataclass(frozen=True)
class Served:
    """An app and what is known of its routes.

    Attributes
    ----------
    app : ASGIApp
        Answers the requests.
    endpoints : mapping
        Name to base URL that a client is given.
    is_data : callable
        Whether a path is a data route.
    """

    app: ASGIApp
    endpoints: Mapping[str, str]
    is_data: Callable[[str], bool]
