"""Overhead of an episode: `nop` on a code task, bare, by the course of an episode, and as a Prefect flow run.

Run it with ``.venv/bin/python tests/benches/bench_episode.py [EPISODES]``; it prints a table in seconds.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tasks_lib.episodes import (
    Event,
    Player,
    RunOrder,
    episodes_for,
    load_engine,
    make_manifest,
    open_run,
    plain_phases,
    run_episode,
)
from tasks_lib.evaluation import judge
from tasks_lib.records import BlobRef, Ending, Evidence, MachineSettings, now
from tasks_lib.sandbox import provider
from tasks_lib.store import Store
from tasks_lib.taskdefs import load_all

ROOT = Path(__file__).parents[1] / "fixtures" / "episodes" / "one_stage"


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(folder)
        rows = {
            "bare: machine opened, closed, nothing judged": _each(_bare, count),
            "bare, judged": _each(_bare_judged, count),
            "the course of an episode (documents, lease, loop)": _each(_course(store), count),
            "the same as a Prefect flow run, inline": _flow_runs(store, count),
        }
    print(f"{'nop on a code task, ' + str(count) + ' times':52} {'median':>8} {'p95':>8}   s")  # noqa: T201
    for name, seconds in rows.items():
        p95 = sorted(seconds)[max(0, round(0.95 * len(seconds)) - 1)]
        print(f"{name:52} {statistics.median(seconds):8.2f} {p95:8.2f}")  # noqa: T201


def _each(work: Callable[[int], None], count: int) -> list[float]:
    work(0)  # first use: imports, caches
    seconds = []
    for number in range(1, count + 1):
        begun = time.perf_counter()
        work(number)
        seconds.append(time.perf_counter() - begun)
    return seconds


def _bare(_: int) -> None:
    machine = provider("local").open(MachineSettings(), desktop=False, endpoints={}, python=Path(sys.executable))
    machine.computer.list_files()
    machine.close()


def _no_blob(ref: BlobRef) -> bytes:
    raise KeyError(ref.sha256)


def _bare_judged(number: int) -> None:
    _bare(number)
    (loaded,) = load_all(ROOT).tasks
    judge(loaded.task, loaded.gold(), {"main": Evidence(ending=Ending.DONE, steps=1, collected=now())}, _no_blob)


def _open(store: Store, name: str, trials: int) -> list[str]:
    tasks = load_all(ROOT)
    manifest = make_manifest(
        "bench", episodes_for(tasks.tasks, [Player("nop")], trials=trials, seed=0), run_id=name, seed=0,
        machine=MachineSettings(), task_set_digest=tasks.digest, settings={},
    )  # fmt: skip
    return [spec.id for spec in open_run(store, manifest).episodes]


def _course(store: Store) -> Callable[[int], None]:
    def work(number: int) -> None:
        (episode,) = _open(store, f"course-{number}", 1)
        asyncio.run(run_episode(store, f"course-{number}", episode, ROOT, plain_phases()))

    return work


def _flow_runs(store: Store, count: int) -> list[float]:
    """Time from the start of an episode's flow run to the next one's, one at a time."""
    _open(store, "flows", count + 1)
    ends: list[float] = []

    def listen(event: Event) -> None:
        if event.kind == "episode-ended":
            ends.append(time.perf_counter())

    load_engine().run(RunOrder(store.url, "flows", ROOT, concurrency=1), listen)
    return [after - before for before, after in itertools.pairwise(ends)]


if __name__ == "__main__":
    main()
