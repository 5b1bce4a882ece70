"""`matassay serve`: the Prefect server with everything that nightly runs and retries need."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tasks_lib.cli.console import explained
from tasks_lib.cli.options import StoreOption, TaskdefsOption, open_store, taskdefs_root
from tasks_lib.cli.settings import load_settings, settings_file
from tasks_lib.episodes import ServeOrder, load_engine


def serve(
    store: StoreOption = None,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65535, help="On loopback; 0: a free one.")] = None,
    state: Annotated[Path, typer.Option("--state", help="Folder of the database and the server's files.")] = Path(
        ".state"
    ),
    database_url: Annotated[
        str | None, typer.Option("--database-url", help="A PostgreSQL server; without it an embedded one.")
    ] = None,
    concurrency: Annotated[int | None, typer.Option("--concurrency", min=1, help="Episodes at once.")] = None,
    taskdefs: TaskdefsOption = None,
) -> None:
    """Start database, Prefect server, deployments and runners; Ctrl-C stops all of it.

    Example: matassay serve --store s3://lab/matassay
    """
    with explained():
        settings = load_settings()
        order = ServeOrder(
            store_url=open_store(store, settings).url,
            taskdefs=taskdefs_root(taskdefs),
            models_file=settings_file(),
            state=state.resolve(),
            database_url=database_url or settings.serve.database_url,
            port=settings.serve.port if port is None else port,
            episodes_at_once=concurrency or settings.run.concurrency,
            nightly_cron=settings.serve.nightly_cron,
            time_zone=settings.serve.time_zone,
            nightly_benchmark=settings.serve.nightly_benchmark,
        )
        code = load_engine().serve(order)
    raise typer.Exit(code)
