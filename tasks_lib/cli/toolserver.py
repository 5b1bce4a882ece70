"""`matassay mcp desktop`: an agent that speaks MCP plays one task; the episode is judged when it is done or leaves."""

from __future__ import annotations

import json as json_module
import os
import secrets
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import typer

from tasks_lib.agents.settings import agent_settings
from tasks_lib.cli.console import Exit, err, explained, print_json, say
from tasks_lib.cli.options import JsonOption, StoreOption, TaskdefsOption, open_store, select, taskdefs_root
from tasks_lib.cli.settings import load_settings
from tasks_lib.episodes import conclude
from tasks_lib.episodes.outside import OutsideEpisode, OutsideOrder, open_outside
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.records.extras import install_command
from tasks_lib.sandbox import provider

mcp_app = typer.Typer(no_args_is_help=True, help="Let agents that speak the Model Context Protocol play tasks.")
_PATIENCE = 300.0


@mcp_app.callback()
def _group() -> None:
    """Let agents that speak the Model Context Protocol play tasks."""


@mcp_app.command()
def desktop(
    task: Annotated[str, typer.Option("--task", metavar="ID", help="The task.")],
    http: Annotated[
        bool, typer.Option("--http", help="Serve HTTP on loopback, not standard input and output.")
    ] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="With --http; 0 takes a free one.")] = 0,
    address_file: Annotated[
        Path | None,
        typer.Option(
            "--address-file",
            metavar="FILE",
            help="With --http: write url and token there, for you alone, while it serves.",
        ),
    ] = None,
    patience: Annotated[
        float,
        typer.Option("--patience", min=1.0, help="With --http: seconds without any request after which it has left."),
    ] = _PATIENCE,
    hints: Annotated[
        bool | None, typer.Option("--hints/--no-hints", help="Whether hints are told; default: as in the settings.")
    ] = None,
    agent_setting: Annotated[
        list[str] | None,
        typer.Option("--agent-setting", metavar="KEY=VALUE", help="What it is shown; may be repeated."),
    ] = None,
    store: StoreOption = None,
    unsafe_local: Annotated[bool, typer.Option("--unsafe-local", help="Run without bubblewrap.")] = False,
    taskdefs: TaskdefsOption = None,
    json: JsonOption = False,
) -> None:
    """Serve the machine of a task as an MCP server; judge the episode when the client is done or leaves.

    Ends with 0 where the episode was judged, with 1 where it is VOID, with 130 after Ctrl-C; then, too, what is there
    is judged. What became of it is told on standard error,
    since standard output belongs to the client.

    Example: matassay mcp desktop --task active-range
    """
    with explained():
        settings = load_settings()
        root = taskdefs_root(taskdefs)
        chosen = select(root, None, None, [task])
        for problem in chosen.problems:
            raise problem.error()
        (loaded,) = chosen.tasks
        machine = settings.machine.model_copy(update={"isolated": settings.machine.isolated and not unsafe_local})
        needs = any(stage.needs_desktop for stage in loaded.task.stages)
        if problems := provider(machine.provider).problems(desktop=needs):
            raise ConfigurationError("; ".join(problems))
        if address_file is not None and not http:
            msg = "--address-file is for --http: over standard input and output there is no address"
            raise ConfigurationError(msg)
        _check_extra()
        target = open_store(store, settings)
        asked = agent_settings(settings.agent.model_dump(), agent_setting or ())
        order = OutsideOrder(
            player="mcp",
            loaded=loaded,
            task_set_digest=chosen.digest,
            taskdefs=root,
            machine=machine,
            asked=asked.told(hints=settings.run.hints if hints is None else hints).model_copy(
                update={"replies": "tools"}
            ),
        )
        if not http:
            _outlive_the_client()
        episode = open_outside(order, target, say)
        interrupted = False
        try:
            _serve(episode, http=http, port=port, address_file=address_file, patience=patience)
        except KeyboardInterrupt:
            interrupted = True
            say("interrupted: what is there is judged")
        finally:
            episode.leave()
        conclude(target, episode.work.run_id, root)
    told = _told(episode)
    if json and http:
        print_json(told)
    else:
        say(json_module.dumps(told) if json else _line(told))
    if interrupted and not http:
        # A thread still reads from a client that has not left, and nothing else would end it.
        sys.stderr.flush()
        os._exit(Exit.INTERRUPTED)
    if interrupted:
        raise typer.Exit(Exit.INTERRUPTED)
    raise typer.Exit(Exit.DONE if episode.void is None else Exit.VOID_OR_UNPROVED)


def _serve(episode: OutsideEpisode, *, http: bool, port: int, address_file: Path | None, patience: float) -> None:
    import anyio

    from tasks_lib.toolservers import DesktopFace, serve_http, serve_stdio

    face = DesktopFace(episode)
    if not http:
        # Not in this thread, since Ctrl-C cannot stop one that reads.
        server = ThreadPoolExecutor(1, "mcp").submit(anyio.run, serve_stdio, face)
        server.result()
        return
    token = secrets.token_urlsafe(32)

    def ready(url: str) -> None:
        say("the tools are at")
        err.print(f"  {url}", markup=False, soft_wrap=True)
        if address_file is None:
            say("for who sends the header")
            err.print(f"  Authorization: Bearer {token}", markup=False, soft_wrap=True)
        else:
            _write_secret(address_file, json_module.dumps({"url": url, "token": token}))
            say(f"and the token is in {address_file}")

    async def serve() -> None:
        await serve_http(face, token=token, patience=patience, ready=ready, port=port)

    try:
        anyio.run(serve)
    finally:
        if address_file is not None:
            address_file.unlink(missing_ok=True)  # nobody answers there any more


def _check_extra() -> None:
    """Refuse before a machine is started for nothing."""
    try:
        import tasks_lib.toolservers  # noqa: F401
    except ImportError as error:
        msg = f"the tool server needs the extra mcp ({error}): {install_command('mcp')}"
        raise ConfigurationError(msg) from error


def _write_secret(file: Path, text: str) -> None:
    """Write a file that nobody else can read, whole or not at all."""
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text)
    part.replace(file)


def _outlive_the_client() -> None:
    """Go on in a session of our own.

    Clients kill their server's process group some seconds after they have left; the episode has to be judged all the
    same. What stays behind waits, and hands Ctrl-C on.
    """
    child = os.fork()
    if child == 0:
        os.setsid()
        return
    signal.signal(signal.SIGINT, lambda number, _: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _told(episode: OutsideEpisode) -> dict[str, Any]:
    verdict, void = episode.verdict, episode.void
    return {
        "run": episode.work.run_id,
        "episode": episode.work.spec.id,
        "outcome": "VOID" if verdict is None else verdict.outcome.value,
        "earned": None if verdict is None else verdict.earned,
        "points": episode.work.task.points,
        "ending": None if episode.ending is None else episode.ending.value,
        "void": None if void is None else void.model_dump(mode="json"),
    }


def _line(told: dict[str, Any]) -> str:
    if told["void"] is not None:
        return f"run {told['run']}: VOID({told['void']['reason']}): {told['void']['message']}"
    return f"run {told['run']}: {told['outcome']}, {told['earned']} of {told['points']} points ({told['ending']})"
