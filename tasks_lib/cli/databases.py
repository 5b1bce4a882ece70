"""`matassay databases`: serve the frozen databases to real clients, ask one a question, see what moved and holds."""

from __future__ import annotations

import json as jsonlib
import os
import shlex
import signal
import threading
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from tasks_lib.cli.console import Exit, explained, out, print_json, say
from tasks_lib.cli.database_checks import build, diff, verify
from tasks_lib.cli.options import JsonOption
from tasks_lib.episodes import read_faults
from tasks_lib.records.errors import ConfigurationError

if TYPE_CHECKING:
    from tasks_lib.databases.servers import FaultSettings, RunningServer

databases_app = typer.Typer(help="Serve, ask, compare and verify the materials databases.", no_args_is_help=True)
databases_app.command("diff")(diff)
databases_app.command("build")(build)
databases_app.command("verify")(verify)

DialectArgument = Annotated[str, typer.Argument(metavar="DIALECT", help="mp, oqmd or optimade.")]
SnapshotOption = Annotated[
    Path | None, typer.Option("--snapshot", metavar="FILE", help="Another snapshot than the one in the package.")
]


@databases_app.command("serve")
def serve(
    dialect: DialectArgument,
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 for a free one.", min=0, max=65535)] = 0,
    snapshot: SnapshotOption = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable with the key to ask for (mp); without it one is made up.")
    ] = None,
    log: Annotated[Path | None, typer.Option(help="File of JSON lines that every request is written to.")] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Something to do wrong, e.g. rate_limited=2; may be repeated."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Serve a snapshot on loopback until interrupted.

    Example: matassay databases serve mp --port 8001
    """
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    # Before the server is there: whoever reads its address may end it at once.
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    with explained():
        key = _key(api_key_env)
        server = _started(dialect, snapshot, port=port, faults=read_faults(fault or []), api_key=key, log=log)
    with server:
        _announce(server, json=json)
        ended.wait()


@databases_app.command("query")
def query(
    dialect: DialectArgument,
    address: Annotated[str, typer.Argument(metavar="PATH?QUERY", help="What to get, below the server's root.")],
    snapshot: SnapshotOption = None,
) -> None:
    """Ask one question over HTTP and print the reply's JSON.

    Example: matassay databases query oqmd 'oqmdapi/formationenergy?filter=element_set=Fe,O&fields=name,delta_e'
    """
    import httpx

    with explained(), _started(dialect, snapshot) as server:
        headers = {"X-API-KEY": server.api_key} if server.api_key else {}
        reply = httpx.get(server.url + address.lstrip("/"), headers=headers, timeout=60, follow_redirects=True)
    try:
        print_json(reply.json())
    except jsonlib.JSONDecodeError:
        say(reply.text)
    if reply.is_error:
        say(f"matassay: the server answered {reply.status_code}")
        raise typer.Exit(Exit.WRONG_USE)


def _started(
    dialect: str,
    snapshot: Path | None,
    *,
    port: int = 0,
    faults: FaultSettings | None = None,
    api_key: str | None = None,
    log: Path | None = None,
) -> RunningServer:
    from tasks_lib.databases import load
    from tasks_lib.databases.servers import start

    return start(dialect, load(snapshot), port, faults, api_key=api_key, log=log)


def _announce(server: RunningServer, *, json: bool) -> None:
    environment = server.environment()
    if json:
        print_json(
            {
                "dialect": server.dialect.value,
                "url": server.url,
                "endpoints": dict(server.endpoints),
                "digest": server.digest,
                "environment": environment,
                "faults": server.faults.model_dump(mode="json"),
            }
        )
        return
    out.print(f"{server.dialect.value} at {server.url}, snapshot sha256:{server.digest}", markup=False, soft_wrap=True)
    for name, url in server.endpoints.items():
        out.print(f"  {name}: {url}", markup=False, soft_wrap=True)
    for name, value in environment.items():
        out.print(f"export {name}={shlex.quote(value)}", markup=False, soft_wrap=True)
    if server.faults.any:
        say(f"matassay: on purpose, this server does wrong: {server.faults.model_dump(exclude_defaults=True)}")


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:
        msg = f"environment variable {variable} holds no key: set it, or leave --api-key-env away"
        raise ConfigurationError(msg)
    return key
