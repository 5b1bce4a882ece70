"""The host's end of a machine's named endpoints: a unix socket each, which leads to one port of loopback."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from pathlib import Path

from tasks_lib.records.errors import ConfigurationError
from tasks_lib.sandbox.guest.forward import Forwarder, unix_listener


def check(endpoints: dict[str, int]) -> None:
    """Refuse endpoints that no machine can have.

    Raises
    ------
    ConfigurationError
        If a name is no slug or a port cannot be listened on by the machine's user.
    """
    for name, port in endpoints.items():
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name) or not 1024 <= port <= 65_535:
            msg = f"endpoint {name!r} at port {port}: names are lower-case slugs, ports are 1024 to 65535"
            raise ConfigurationError(msg)


def serve(endpoints: dict[str, int], folder: Path) -> Forwarder | None:
    """Listen in `folder` for each port; None where there are no endpoints."""
    if not endpoints:
        return None
    ports = sorted(set(endpoints.values()))
    return Forwarder(
        [
            (unix_listener(folder / f"{port}.sock"), partial(asyncio.open_connection, "127.0.0.1", port))
            for port in ports
        ]
    )
