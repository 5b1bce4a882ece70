"""`matassay prove`: oracle 1, nop 0, near misses fail, in the real environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

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
    select,
    taskdefs_root,
)
from tasks_lib.cli.settings import load_settings
from tasks_lib.episodes import (
    Flaky,
    Proof,
    Repeats,
    RunOrder,
    Sample,
    build_environments,
    check_proofs,
    count_repeats,
    draw,
    flaky_proofs,
    load_engine,
    open_run,
    outcome_of,
    proof_manifest,
    proof_rows,
    unproved,
)
from tasks_lib.reporting import scrub

# Of a value in the table of flaky proofs; --json has it whole.
_LONGEST_VALUE = 160


def prove(
    suite: SuiteOption = None,
    domain: DomainOption = None,
    task: TaskOption = None,
    sample: Annotated[
        list[str] | None,
        typer.Option(
            "--sample",
            metavar="N|DOMAIN=N|*=N",
            help="Only so many tasks, drawn by the seed: of a domain, of each other domain (*), or, as N alone, across "
            "the domains that are not named; may be repeated.",
        ),
    ] = None,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Play every proof N times.")] = 1,
    repeat_oracle: Annotated[
        int | None,
        typer.Option("--repeat-oracle", min=1, help="Play the oracle N times, everybody else as --repeat says."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the sample.")] = 0,
    hints: Annotated[
        bool, typer.Option("--hints/--no-hints", help="Prove the set-up of runs with hints, or that of runs without.")
    ] = True,
    store: StoreOption = None,
    concurrency: Annotated[int | None, typer.Option("--concurrency", min=1, help="Episodes at once.")] = None,
    unsafe_local: Annotated[bool, typer.Option("--unsafe-local", help="Run without bubblewrap.")] = False,
    taskdefs: TaskdefsOption = None,
    json: JsonOption = False,
) -> None:
    """Prove tasks: the oracle scores 1, doing nothing and guessing score 0, near misses fail what they must.

    On desktop tasks somebody without any aim plays too, and must not score 1. With --repeat, proofs whose trials do not
    end in the same verdict are listed as flaky: exit code 1.

    Example: matassay prove --domain xps --repeat 3

    Example: matassay prove --sample xps=3 --sample '*=1' --seed 7
    """
    with explained():
        settings = load_settings()
        root = taskdefs_root(taskdefs)
        chosen = select(root, suite, domain, task)
        for problem in chosen.problems:
            say(f"matassay: {problem.error()}")
        tasks = draw(chosen, Sample.parse(sample) if sample else None, seed)
        place = open_store(store, settings)
        load_engine().warm_up()
        machine = settings.machine.model_copy(update={"isolated": settings.machine.isolated and not unsafe_local})
        manifest = open_run(
            place,
            proof_manifest(
                tasks,
                chosen.digest,
                repeat=repeat,
                repeat_oracle=repeat_oracle,
                seed=seed,
                machine=machine,
                hints=hints,
            ),
        )
        order = RunOrder(place.url, manifest.run_id, root, concurrency=concurrency or settings.run.concurrency)
    say(f"proof {manifest.run_id}: {len(tasks)} tasks, {len(manifest.episodes)} episodes")
    try:
        with explained(interrupts=False):
            build_environments(manifest, root, say)
            with LiveTable(err, len(manifest.episodes)) as table:
                load_engine().run(order, None if json else table)
    except KeyboardInterrupt:
        say("interrupted; nothing is proved by half")
        raise typer.Exit(Exit.INTERRUPTED) from None
    proofs = check_proofs(place, manifest.run_id, tasks)
    played = [(spec, outcome_of(place, manifest.run_id, spec.id)) for spec in manifest.episodes]
    flaky, repeats = flaky_proofs(played), count_repeats(played)
    failed = unproved(proofs)
    if json:
        print_json(
            {
                "run": manifest.run_id,
                "proofs": [vars(proof) for proof in proofs],
                "unproved": len(failed),
                "repeat": repeat,
                "hints": hints,
                "repeats": [asdict(entry) for entry in repeats],
                "flaky": [asdict(entry) for entry in flaky],
            }
        )
    else:
        _show(proofs, {loaded.id: loaded.task.domain for loaded in tasks})
        if max(repeat, repeat_oracle or 0) > 1:
            _show_repeats(repeats)
            _show_flaky(flaky)
    raise typer.Exit(Exit.VOID_OR_UNPROVED if failed or flaky or chosen.problems else Exit.DONE)


def _show(proofs: Sequence[Proof], domains: Mapping[str, str]) -> None:
    table = Table("task", "proofs", "hold", "what does not")
    proved = {domain: [0, 0] for domain in sorted(set(domains.values()))}
    for task_id, entries in proof_rows(proofs).items():
        count = proved[domains[task_id]]
        count[0] += all(proof.holds for proof in entries)
        count[1] += 1
        bad = [f"{proof.player} (trial {proof.trial}): {proof.why}" for proof in entries if not proof.holds]
        held = sum(proof.holds for proof in entries)
        table.add_row(task_id, str(len(entries)), str(held), "\n".join(bad), style="red" if bad else None)
    out.print(table)
    for domain, (held, whole) in proved.items():
        out.print(f"{domain}: {held}/{whole} tasks proved")
    out.print(f"{sum(proof.holds for proof in proofs)} of {len(proofs)} proofs hold")


def _show_repeats(repeats: Sequence[Repeats]) -> None:
    """Show of each task how often its oracle passed, and of how many proofs all trials end in one verdict."""
    table = Table("task", "oracle passes", "its verdicts", "proofs that repeat", title="repeats")
    rows: dict[str, list[Repeats]] = {}
    for entry in repeats:
        rows.setdefault(entry.task_id, []).append(entry)
    for task_id, entries in rows.items():
        oracle = next(entry for entry in entries if entry.player == "oracle")
        verdicts = "identical" if oracle.verdicts == 1 else f"{oracle.verdicts} different"
        alike = sum(entry.verdicts == 1 for entry in entries)
        steady = alike == len(entries) and oracle.passes == oracle.trials
        table.add_row(
            task_id, f"{oracle.passes}/{oracle.trials}", verdicts, f"{alike}/{len(entries)}",
            style=None if steady else "red",
        )  # fmt: skip
    out.print(table)


def _show_flaky(flaky: tuple[Flaky, ...]) -> None:
    if not flaky:
        out.print("flaky: none; all trials of each proof end in the same verdict")
        return
    table = Table("task", "player", "what differs", "value", "trials", title="flaky")
    for entry in flaky:
        for difference in entry.differences:
            for value, trials in difference.values:
                shown = Text(scrub(value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}…"))
                table.add_row(entry.task_id, entry.player, difference.what, shown, ", ".join(map(str, trials)))
    out.print(table)
    out.print(f"{len(flaky)} proofs are flaky: a task whose proof flickers is not proved")
