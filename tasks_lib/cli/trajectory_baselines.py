"""`matassay trajectories baselines`: what predictions earn that nobody thought about."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tasks_lib.cli.console import explained, out, print_json, say
from tasks_lib.cli.options import JsonOption
from tasks_lib.cli.trajectory_files import EncoderOption, VectorsOption, kept_vectors
from tasks_lib.cli.trajectory_strict import numbers
from tasks_lib.evaluation.alignment import (
    AVERAGED,
    DEFAULT_ENCODER,
    TrajectoryFile,
    find_encoder,
    read_trajectories,
)
from tasks_lib.evaluation.alignment.strict import BaselineStudy, baseline_study, read_rules, read_snapshot
from tasks_lib.evaluation.alignment.synthetic import synthetic_references, synthetic_tools
from tasks_lib.records import dump_json
from tasks_lib.reporting import scrub


def baselines(
    references: Annotated[
        Path | None, typer.Argument(metavar="REFERENCES", help="JSON of references; synthetic ones by default.")
    ] = None,
    tools: Annotated[
        Path | None, typer.Option("--tools", metavar="FILE", help="Answer to tools/list: schemas of the arguments.")
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option("--rules", metavar="FILE", help="Tolerances, units and kinds of arguments, stated as JSON."),
    ] = None,
    encoder: EncoderOption = DEFAULT_ENCODER,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws, and of synthetic references.")] = 0,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Gets the study, and synthetic references and tools.")
    ] = None,
    cached: VectorsOption = True,
    json: JsonOption = False,
) -> None:
    """Score predictions made of the references alone, in strict mode and by the published metrics.

    A copy has to earn 1, guesses next to nothing: else a score measures something else than the task.

    Example: matassay trajectories baselines references.json --tools tools.json
    """
    with explained():
        snapshot = read_snapshot(tools) if tools else None
        stated = read_rules(rules) if rules else None
        if references is None:
            given, snapshot = synthetic_references(seed), snapshot or synthetic_tools()
        else:
            given = read_trajectories(references)
        say(f"guesses at {len(given.trajectories)} references; new texts are encoded first, which takes minutes")
        cache = kept_vectors(cached)
        study = baseline_study(given, find_encoder(encoder), tools=snapshot, rules=stated, cache=cache, seed=seed)
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            _write(folder / "study.json", study.to_json())
            if references is None and snapshot:
                _write(folder / "references.json", dump_json(_published(given)))
                _write(folder / "tools.json", snapshot.to_json())
    if json:
        print_json(study.model_dump(mode="json"))
    else:
        _show(study)


def _show(study: BaselineStudy) -> None:
    out.print(f"{scrub(study.references)}: {study.tasks} tasks, {study.steps} steps, {study.calls} calls", markup=False)
    strict = _table("strict", "score", "calls", "order", "R", "P", "tools")
    published = _table("published", "mean", "R", "P", "args", "coh.", "order", "pur.")
    for one in study.strategies:
        strict.add_row(one.name, *numbers(one.strict))
        mean = "-" if one.published_average is None else f"{one.published_average:.3f}"
        published.add_row(one.name, mean, *(f"{getattr(one.published, name):.3f}" for name in AVERAGED))
    out.print(strict)
    out.print(published)


def _table(first: str, *heads: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(first)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _published(file: TrajectoryFile) -> list[dict[str, object]]:
    return [
        {
            "id": one.id,
            "type": one.kind,
            "steps": [
                {"step": number, "calls": [{"name": call.tool, "arguments": call.arguments} for call in step]}
                for number, step in enumerate(one.steps, start=1)
            ],
        }
        for one in file.trajectories.values()
    ]


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
