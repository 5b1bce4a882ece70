"""Time to load the materials snapshot, its digest and its size in memory.

Run it with ``.venv/bin/python tests/benches/bench_snapshot.py [ROUNDS]``; it prints seconds and MiB. The process is
fresh for the first round, so the import is measured too.
"""

from __future__ import annotations

import statistics
import sys
import time
import tracemalloc


def main() -> None:
    """Measure and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    began = time.perf_counter()
    from tasks_lib.databases import load

    imported = time.perf_counter() - began
    seconds = []
    for _ in range(rounds):
        began = time.perf_counter()
        snapshot = load()
        seconds.append(time.perf_counter() - began)
    began = time.perf_counter()
    digest = snapshot.digest
    digested = time.perf_counter() - began
    tracemalloc.start()
    load()
    held = tracemalloc.get_traced_memory()[1] / 2**20
    sys.stdout.write(
        f"{len(snapshot)} entries, digest {digest[:12]}\n"
        f"import {imported:.2f} s, load {min(seconds):.2f} to {max(seconds):.2f} s, "
        f"median {statistics.median(seconds):.2f} s\n"
        f"digest {digested:.2f} s, at most {held:.0f} MiB while loading\n"
    )


if __name__ == "__main__":
    main()
