"""The HTTP side of `Computer`: one connection pool over a unix socket, and what each answer means as an exception."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any

import httpx

from tasks_lib.records.errors import ActionError, InitialiseError, MachineLostError, NoDesktopError

_HEADER = "X-MatAssay-Token"
_MOST_HEAD = 64 * 1024
_ERRORS: dict[str, type[Exception]] = {
    "action": ActionError,
    "too-big": ActionError,
    "missing": FileNotFoundError,
    "no-desktop": NoDesktopError,
    "no-window": InitialiseError,
    "broken": MachineLostError,
    "token": MachineLostError,
}


class ControlClient:
    """Requests to a control server.

    Parameters
    ----------
    socket_path : str
        Unix socket of the server, or an empty text where `base_url` names a loopback address.
    token : str
        The machine's token.
    base_url : str
        Address for servers without a unix socket.
    """

    def __init__(self, socket_path: str, token: str, base_url: str = "http://machine") -> None:
        transport = httpx.HTTPTransport(uds=socket_path) if socket_path else httpx.HTTPTransport()
        self._socket_path, self._token = socket_path, token
        self._http = httpx.Client(transport=transport, base_url=base_url, headers={_HEADER: token}, trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, place: str, seconds: float, **query: str) -> httpx.Response:
        """Ask; see `request`."""
        return self.request("GET", place, seconds, params=query or None)

    def post(self, path: str, seconds: float, body: dict[str, Any]) -> dict[str, Any]:
        """Send JSON and return the JSON that comes back; see `request`."""
        found: dict[str, Any] = self.request("POST", path, seconds, json=body).json()
        return found

    def request(self, method: str, path: str, seconds: float, **options: Any) -> httpx.Response:
        """Send one request.

        Raises
        ------
        ActionError, NoDesktopError, InitialiseError, FileNotFoundError
            As the server refused it.
        MachineLostError
            If the server is gone, hangs for longer than `seconds`, broke, or answers something else.
        """
        try:
            answer = self._http.request(
                method, path, timeout=httpx.Timeout(seconds, connect=min(seconds, 5.0)), **options
            )
        except httpx.TimeoutException as problem:
            msg = (
                f"the machine's control server did not answer {method} {path} within {seconds:g} s: open a new machine"
            )
            raise MachineLostError(msg) from problem
        except (httpx.HTTPError, OSError, RuntimeError) as problem:
            why = str(problem) or type(problem).__name__
            msg = f"the machine's control server is gone ({method} {path}: {why}): open a new machine"
            raise MachineLostError(msg) from problem
        if answer.is_success:
            return answer
        raise _refusal(answer.content, f"{method} {path} answered {answer.status_code}")

    def upgrade(self, path: str, seconds: float) -> socket.socket:
        """Ask for a connection that speaks something else than HTTP after the answer's head, and return it.

        Raises
        ------
        NoDesktopError, MachineLostError
            As `request` does.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(seconds)
            connection.connect(self._socket_path)
            lines = [f"GET {path} HTTP/1.1", "Host: machine", f"{_HEADER}: {self._token}", "Connection: Upgrade"]
            connection.sendall("\r\n".join([*lines, "Upgrade: rfb", "", ""]).encode())
            head = bytearray()
            # Byte by byte: what follows the head belongs to the one who gets the connection.
            while not head.endswith(b"\r\n\r\n") and len(head) < _MOST_HEAD:
                byte = connection.recv(1)
                if not byte:
                    break
                head += byte
            if head.startswith(b"HTTP/1.1 101 "):
                connection.settimeout(None)
                return connection
            with connection.makefile("rb") as rest:
                body = rest.read(_MOST_HEAD) if head else b""
        except OSError as problem:
            connection.close()
            msg = f"the machine's control server is gone (GET {path}: {problem}): open a new machine"
            raise MachineLostError(msg) from problem
        except BaseException:
            connection.close()
            raise
        connection.close()
        raise _refusal(body, f"GET {path} was not granted: {bytes(head[:80])!r}")


def _refusal(body: bytes, otherwise: str) -> Exception:
    """Return what a refusal means as an exception."""
    kind, text = "broken", otherwise
    with contextlib.suppress(ValueError, KeyError, TypeError):
        found = json.loads(body)
        kind, text = str(found["kind"]), str(found["error"])
    return _ERRORS.get(kind, MachineLostError)(text)
