"""`matassay trajectories sweep`: which threshold of similarity agrees best with people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tasks_lib.cli.console import explained, out, print_json
from tasks_lib.cli.options import JsonOption
from tasks_lib.cli.trajectory_files import EncoderOption, VectorsOption, kept_vectors
from tasks_lib.evaluation.alignment import DEFAULT_ENCODER, find_encoder
from tasks_lib.evaluation.alignment.threshold import (
    ThresholdSweep,
    check_pairs,
    read_labelled_pairs,
    sweep_threshold,
)
from tasks_lib.reporting import scrub
from tasks_lib.reporting.alignment_charts import sweep_chart


def sweep(
    pairs: Annotated[
        Path, typer.Argument(metavar="PAIRS", help="JSON: a list of {tool, reference, prediction, same}.")
    ],
    encoder: EncoderOption = DEFAULT_ENCODER,
    resamples: Annotated[int, typer.Option(min=1, max=100_000, help="Resamples of the bootstrap.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Gets sweep.json and sweep.png.")
    ] = None,
    cached: VectorsOption = True,
    json: JsonOption = False,
) -> None:
    """Find the threshold whose decisions about pairs of calls agree best with people's.

    A pair is the arguments of two calls, and whether a person takes the second for the first.

    Example: matassay trajectories sweep pairs.json --out sweep
    """
    with explained():
        cache = kept_vectors(cached)
        labelled = read_labelled_pairs(pairs)
        check_pairs(labelled)  # before the encoder is looked for, which may have to be installed first
        found = sweep_threshold(labelled, find_encoder(encoder), cache=cache, resamples=resamples, seed=seed)
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "sweep.json").write_text(found.to_json(), encoding="utf-8", newline="\n")
            (folder / "sweep.png").write_bytes(sweep_chart(found))
    if json:
        print_json(found.model_dump(mode="json"))
        return
    for line in _lines(found):
        out.print(line, markup=False, soft_wrap=True)


def _lines(found: ThresholdSweep) -> list[str]:
    low, high = found.interval
    held_out = "" if found.held_out is None else f", {found.held_out:.3f} on pairs that tau was not chosen by"
    return [
        scrub(f"{found.pairs} pairs, {found.same} of them the same to people; encoder {found.encoder}"),
        f"tau {found.tau:.3f} (from {found.low:.3f} to {found.high:.3f} all agree alike), 95 % interval {low:.3f} to "
        f"{high:.3f} ({found.resamples} resamples)",
        f"agreement {found.agreement:.3f}{held_out}",
        *(f"at the published {point.tau:g}: agreement {point.agreement:.3f}" for point in found.published),
    ]
