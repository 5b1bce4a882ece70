"""Time of a report over many episodes: `python tests/benches/bench_report.py [trials]`."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from tasks_lib.reporting import write_report
from tasks_lib.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "tasks_lib" / "reporting"))
import builder  # the folder above holds it


def main() -> None:
    """Write one run, report it twice, print seconds, sizes and peak memory."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(folder)
        run = builder.build_run(store, trials=trials)
        known = builder.tasks()
        times = []
        for _ in range(2):
            begun = time.perf_counter()
            write_report(store, run.run_id, known)
            times.append(time.perf_counter() - begun)
        pages = sorted(Path(folder, run.report).rglob("*.html"))
        index = Path(folder, run.report, "index.html").stat().st_size
        sys.stdout.write(
            f"{len(pages) - 1} episodes: first {times[0]:.2f} s, again {times[1]:.2f} s, index {index / 1e3:.0f} kB, "
            f"largest page {max(page.stat().st_size for page in pages) / 1e3:.0f} kB, "
            f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB\n"
        )


if __name__ == "__main__":
    main()
