"""`matassay run` and `matassay retry`: plan, let the engine work, show how it goes, end in a table."""

from __future__ import annotations

import math
import shlex
import sys
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from tasks_lib.agents.settings import agent_settings
from tasks_lib.cli.console import Exit, err, explained, out, print_json, say
from tasks_lib.cli.live_table import LiveTable
from tasks_lib.cli.options import (
    DomainOption,
    JsonOption,
    StoreOption,
    SuiteOption,
    TaskdefsOption,
    TaskOption,
    open_store,
    report_place,
    taskdefs_root,
)
from tasks_lib.cli.settings import load_settings, settings_file
from tasks_lib.episodes import (
    Event,
    Executor,
    RunOrder,
    Selection,
    build_environments,
    check_agent_settings,
    check_databases,
    check_decoding,
    check_hints,
    check_models,
    check_played_by_agents,
    load_engine,
    manifest_for,
    open_run,
    raise_budgets,
    read_manifest,
    without_verdict,
)
from tasks_lib.models.purse import spent_text
from tasks_lib.records import RunManifest, RunSummary, SpendingLimit, VoidReason
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.reporting import console_table
from tasks_lib.store import RunFolder, Store

UsdOption = Annotated[
    float | None, typer.Option("--budget-usd", metavar="N", help="US dollars that the run may spend at models.")
]
TokensOption = Annotated[
    int | None, typer.Option("--budget-tokens", metavar="N", min=1, help="Tokens that the run may spend at models.")
]

ModelCheckOption = Annotated[
    bool, typer.Option("--model-check/--no-model-check", help="Whether models are tried before the first episode.")
]


def run(
    benchmark: Annotated[str | None, typer.Argument(help="A benchmark of taskdefs/benchmarks/, such as smoke.")] = None,
    suite: SuiteOption = None,
    domain: DomainOption = None,
    task: TaskOption = None,
    agent: Annotated[list[str] | None, typer.Option("--agent", help="Who plays; may be repeated.")] = None,
    model: Annotated[list[str] | None, typer.Option("--model", help="A [models.NAME] of matassay.toml.")] = None,
    trials: Annotated[int | None, typer.Option("--trials", min=1, help="Repeats of every task and agent.")] = None,
    machine: Annotated[str | None, typer.Option("--machine", help="Provider of machines.")] = None,
    store: StoreOption = None,
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="RUN", help="Go on with this run; a new one takes the name.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="Seed of the run.")] = None,
    concurrency: Annotated[int | None, typer.Option("--concurrency", min=1, help="Episodes at once.")] = None,
    executor: Annotated[str, typer.Option("--executor", help="inline, or deployments of a running serve.")] = "inline",
    unsafe_local: Annotated[bool, typer.Option("--unsafe-local", help="Run without bubblewrap.")] = False,
    hints: Annotated[
        bool | None,
        typer.Option(
            "--hints/--no-hints",
            help="Whether tasks come with hints, and with the set-up for them; default: as in the settings.",
        ),
    ] = None,
    replay: Annotated[
        str | None, typer.Option("--replay", metavar="RUN[:AGENT]", help="What the agent replay plays again.")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Ask the public databases, not the snapshot; plays the oracle as well.")
    ] = False,
    fault: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="NAME=VALUE", help="What databases do wrong on purpose; may be repeated."),
    ] = None,
    budget_usd: UsdOption = None,
    budget_tokens: TokensOption = None,
    cache: Annotated[
        bool | None,
        typer.Option("--cache/--no-cache", help="Whether replies of models are kept and used again."),
    ] = None,
    agent_setting: Annotated[
        list[str] | None,
        typer.Option("--agent-setting", metavar="KEY=VALUE", help="How models are asked; may be repeated."),
    ] = None,
    model_check: ModelCheckOption = True,
    taskdefs: TaskdefsOption = None,
    json: JsonOption = False,
) -> None:
    """Run a benchmark and write its report.

    Example: matassay run smoke --agent oracle --agent nop --store artifacts
    """
    with explained():
        settings = load_settings()
        root = taskdefs_root(taskdefs)
        place = open_store(store, settings)
        limit = _limit(budget_usd, budget_tokens)
        asked = agent_settings(settings.agent.model_dump(), agent_setting or ())
        choice = Selection(
            benchmark=benchmark,
            suites=tuple(suite or ()),
            domains=tuple(domain or ()),
            tasks=tuple(task or ()),
            agents=tuple(agent or ()),
            models=tuple(model or ()),
            models_file=settings_file(),
            trials=trials,
            machine=settings.machine.model_copy(
                update={
                    "provider": machine or settings.machine.provider,
                    "isolated": settings.machine.isolated and not unsafe_local,
                }
            ),
            seed=settings.run.seed if seed is None else seed,
            hints=settings.run.hints if hints is None else hints,
            retries=settings.run.retries,
            replay=replay,
            live=live,
            upstreams=settings.databases,
            faults=tuple(fault or ()),
            asked=asked,
            limit=settings.run.limit.model_copy(update=limit.model_dump(exclude_none=True)),
            cache=settings.run.cache if cache is None else cache,
        )
        where = _executor(executor)
        if resume and place.exists(RunFolder(place, resume).manifest) and choice.is_open:
            manifest = read_manifest(place, resume)
            if model_check and where == "inline":
                check_models(manifest, without_verdict(place, manifest), root, choice.models_file)
        else:
            planned = manifest_for(choice, root, run_id=resume, command=_command())
            if where == "inline":
                if model_check:
                    check_models(planned, planned.episodes, root, choice.models_file)
                load_engine().warm_up()
            manifest = open_run(place, planned)
        check_hints(manifest, hints)
        check_decoding(manifest, choice.models_file)
        if agent_setting:
            check_agent_settings(manifest, asked)
        if resume and limit:
            raise_budgets(place, manifest, choice.models_file, run=limit, night=SpendingLimit())
        check_played_by_agents(manifest)
        check_databases(manifest, live=live, faults=choice.faults)
        order = RunOrder(
            store_url=place.url,
            run_id=manifest.run_id,
            taskdefs=root,
            models_file=choice.models_file,
            concurrency=concurrency or settings.run.concurrency,
            executor=where,
            # Deployments ask the models from elsewhere: keys and networks there are not those here.
            model_check=model_check and where != "inline",
        )
    _play(order, manifest, place, json)


def retry(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The run.")],
    episode: Annotated[str | None, typer.Argument(help="Only this episode.")] = None,
    store: StoreOption = None,
    budget_usd: UsdOption = None,
    budget_tokens: TokensOption = None,
    night_usd: Annotated[
        float | None, typer.Option("--night-usd", metavar="N", help="US dollars that the runs of its night may spend.")
    ] = None,
    night_tokens: Annotated[
        int | None,
        typer.Option("--night-tokens", metavar="N", min=1, help="Tokens that the runs of its night may spend."),
    ] = None,
    model_check: ModelCheckOption = True,
    taskdefs: TaskdefsOption = None,
    json: JsonOption = False,
) -> None:
    """Redo what is missing of a run: VOID and unfinished episodes; what has a verdict stays.

    A budget that is given replaces the one that the run, or its night, had.

    Example: matassay retry 20261130-030000-smoke
    """
    with explained():
        settings = load_settings()
        root = taskdefs_root(taskdefs)
        place = open_store(store, settings)
        manifest = read_manifest(place, run_id)
        check_played_by_agents(manifest)
        check_decoding(manifest, settings_file())
        known = {spec.id for spec in manifest.episodes}
        if episode is not None and episode not in known:
            say(f"matassay: run {run_id} has no episode {episode!r}; it has {len(known)}, such as {min(known)}")
            raise typer.Exit(Exit.WRONG_USE)
        own, night = _limit(budget_usd, budget_tokens), _limit(night_usd, night_tokens)
        if own or night:
            raise_budgets(place, manifest, settings_file(), run=own, night=night)
        if model_check:
            todo = [spec for spec in without_verdict(place, manifest) if episode in (None, spec.id)]
            check_models(manifest, todo, root, settings_file())
        order = RunOrder(
            store_url=place.url,
            run_id=run_id,
            taskdefs=root,
            models_file=settings_file(),
            concurrency=settings.run.concurrency,
            episodes=(episode,) if episode else (),
        )
    _play(order, manifest, place, json)


def _limit(usd: float | None, tokens: int | None) -> SpendingLimit:
    if usd is not None and not 0 < usd < math.inf:
        msg = f"a budget in US dollars is a number above 0, got {usd:g}: leave it out for no limit"
        raise ConfigurationError(msg)
    return SpendingLimit(usd=usd, tokens=tokens)


def _executor(name: str) -> Executor:
    if name not in get_args(Executor):
        msg = f"no executor {name!r}; there are {', '.join(get_args(Executor))}"
        raise ConfigurationError(msg)
    return cast("Executor", name)


def _command() -> tuple[str, ...]:
    return (Path(sys.argv[0]).name, *sys.argv[1:])


def _play(order: RunOrder, manifest: RunManifest, place: Store, as_json: bool) -> None:
    """Let the engine work, show how it goes, end in the table and the exit code."""
    say(f"run {manifest.run_id}: {len(manifest.episodes)} episodes, store {place.url}")
    try:
        with explained(interrupts=False):
            build_environments(manifest, order.taskdefs, say)
            if as_json:
                summary = load_engine().run(order, _print_event)
            else:
                with LiveTable(err, len(manifest.episodes)) as table:
                    summary = load_engine().run(order, table)
    except KeyboardInterrupt:
        say(f"interrupted; what is done is kept. Go on with:\n  {resume_command(order)}")
        raise typer.Exit(Exit.INTERRUPTED) from None
    _conclude(summary, order, place, as_json)


def resume_command(order: RunOrder) -> str:
    """Return the command that goes on with a run."""
    return shlex.join(["matassay", "run", "--resume", order.run_id, "--store", order.store_url])


def _print_event(event: Event) -> None:
    print_json({"event": event.kind, **event.model_dump(mode="json", exclude={"kind", "schema_version"})})


def _conclude(summary: RunSummary, order: RunOrder, place: Store, as_json: bool) -> None:
    report = report_place(place, summary.run_id)
    if as_json:
        print_json({"event": "run-ended", "report": report, **summary.model_dump(mode="json")})
    else:
        out.print(console_table(summary))
        out.print(f"report: {report}", soft_wrap=True, markup=False)
    _remark(summary, order)
    unfinished = summary.void + summary.pending
    raise typer.Exit(Exit.VOID_OR_UNPROVED if unfinished else Exit.DONE)


def _remark(summary: RunSummary, order: RunOrder) -> None:
    """Say what is VOID, why, and what to do next."""
    for account in summary.accounts:
        say(f"{account.name} has spent {spent_text(account.spent)}{' and stopped there' if account.closed else ''}")
    reasons = sorted({result.void_reason for result in summary.episodes if result.void_reason})
    for reason in reasons:
        hit = [result for result in summary.episodes if result.void_reason is reason]
        say(f"{len(hit)} episodes are VOID({reason}): {hit[0].message}")
    if VoidReason.NO_DESKTOP in reasons:
        say("desktop tasks were left out: run `matassay doctor --fix` as root, or give an administrator its command")
    if summary.void:
        budget = " and a larger budget, as said above" if VoidReason.BUDGET in reasons else ""
        say(f"redo them with: matassay retry {summary.run_id} --store {order.store_url}{budget}")
