"""What every dialect gives to the server that runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.types import ASGIApp

from tasks_lib.databases.servers.dialect import Dialect

OPEN_DATA = "/open-data"
"""Where the S3 face of Materials Project's buckets stands on a server."""


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


def client_environment(dialect: Dialect, url: str, endpoints: Mapping[str, str], api_key: str | None) -> dict[str, str]:
    """Return the environment variables that lead an unmodified client of a dialect to a server.

    Parameters
    ----------
    dialect : Dialect
    url : str
        The server's root, with a slash at its end.
    endpoints : mapping
        Name to base URL; Materials Project's has ``open_data``.
    api_key : str or None
        The key that the server asks for.
    """
    if dialect is Dialect.MATERIALS_PROJECT:
        # The client reads part of its data from S3; these two lead boto3 and Delta tables here as well.
        open_data = {"AWS_ENDPOINT_URL": endpoints["open_data"], "AWS_ALLOW_HTTP": "true"}
        return {"MP_API_ENDPOINT": url, "MP_API_KEY": api_key or "", **open_data}
    if dialect is Dialect.OQMD:
        return {"oqmd_url": url.rstrip("/")}
    return {"OPTIMADE_BASE_URLS": " ".join(endpoints.values())}
