"""What a stage's endpoint is, whoever answers on it: a port on loopback, the way there, the log of requests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tasks_lib.databases.servers._dialects import client_environment
from tasks_lib.databases.servers._loopback import Loopback
from tasks_lib.databases.servers.dialect import Dialect
from tasks_lib.databases.servers.faults import FaultSettings
from tasks_lib.databases.servers.request_log import RequestLog, RequestRecord


class DatabaseServer:
    """A server on loopback that answers until it is closed; also a context manager.

    Attributes
    ----------
    dialect : Dialect
        What it speaks.
    port : int
        On 127.0.0.1.
    url : str
        With a slash at its end.
    endpoints : mapping
        Name to base URL here.
    digest : str or None
        Of the snapshot served, 64 hexadecimal digits; a live database has none.
    faults : FaultSettings
        What it does wrong, for the manifest.
    api_key : str or None
        The key that it asks for; None where it asks for none.
    failure : BaseException or None
        Why its record is not whole, where a recorder failed.
    """

    endpoints: Mapping[str, str]
    digest: str | None = None
    failure: BaseException | None = None

    def __init__(
        self, dialect: Dialect, *, port: int, faults: FaultSettings, api_key: str | None, log_path: Path | None = None
    ) -> None:
        self.dialect = dialect
        self.faults = faults
        self.api_key = api_key
        self._loopback = Loopback(port)
        self.port = self._loopback.port
        self.url = self._loopback.url
        self._log = RequestLog(log_path)

    def requests(self) -> list[RequestRecord]:
        """Return the last requests, 10 000 at most, oldest first."""
        return self._log.records()

    def environment(self) -> dict[str, str]:
        """Return the environment variables that lead an unmodified client here."""
        return client_environment(self.dialect, self.url, self.endpoints, self.api_key)

    def close(self) -> None:
        """Stop answering, free the port and end the thread; a second call does nothing."""
        self._loopback.close()
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
