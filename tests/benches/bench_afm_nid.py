"""Reading `.nid` files: `read_nid`, with every channel decoded, beside Nanosurf's own reader, in one run.

Run it with ``.venv/bin/python tests/benches/bench_afm_nid.py [ROUNDS]``. Files are those of NSFopen's examples and,
where they are at hand, the recorded ones in ``../shared/data/nid``. The two readers take turns of three calls, and
what is measured is the time on the processor, so that other work on the machine counts for neither.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import NSFopen
from NSFopen.read import read as nanosurf

from tasks_lib.instruments.nid import read_nid, sanity_report, write_nid

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "nid"


def ours(path: Path) -> None:
    """Read a file and decode every sample."""
    for channel in read_nid(path).channels:
        _ = channel.data


def seconds(call: Callable[[], object]) -> float:
    """Return the processor's time for one call."""
    began = time.process_time()
    call()
    return time.process_time() - began


def main() -> None:
    """Measure and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    examples = Path(str(NSFopen.__file__)).parent / "example"
    files = sorted(SHARED.glob("*.nid")) + sorted({path.name: path for path in examples.rglob("*.nid")}.values())
    ratios = []
    sys.stdout.write(
        f"median of {rounds} rounds of three, ms of CPU\n"
        f"{'file':32} {'kB':>6} {'NSFopen':>9} {'bare':>9} {'ours':>7}  times\n"
    )
    for path in files:
        ways: dict[str, Callable[[], object]] = {
            "frame": lambda path=path: nanosurf(str(path)),
            "bare": lambda path=path: nanosurf(str(path), dataframe=False),
            "ours": lambda path=path: ours(path),
        }
        taken: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, call in ways.items():
                call()  # brings this reader's code and the file back into the caches
                taken[way] += [seconds(call) for _ in range(3)]
        frame, bare, mine = (1e3 * statistics.median(taken[way]) for way in ways)
        ratios.append((frame / mine, bare / mine))
        row = f"{path.name:32} {path.stat().st_size / 1e3:6.0f} {frame:9.2f} {bare:9.2f} {mine:7.2f}"
        sys.stdout.write(f"{row}  {frame / mine:.0f} ({bare / mine:.0f})\n")
    least, bare = min(one[0] for one in ratios), min(one[1] for one in ratios)
    middle = statistics.median(one[0] for one in ratios)
    sys.stdout.write(f"NSFopen takes {least:.0f} times as long at least, {middle:.0f} in the median; ")
    sys.stdout.write(f"without its table ('bare') {bare:.0f} times at least\n")
    largest = read_nid(max((path for path in files), key=lambda path: path.stat().st_size * path.name.startswith("gl")))
    frame = largest.frame()
    report = statistics.median(seconds(lambda: sanity_report(largest)) for _ in range(rounds))
    written = statistics.median(seconds(lambda: write_nid(frame)) for _ in range(rounds))
    sys.stdout.write(f"{largest.source}: sanity report {1e3 * report:.1f} ms, writing {1e3 * written:.1f} ms\n")


if __name__ == "__main__":
    main()
