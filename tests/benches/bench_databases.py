"""Measure the database servers: start, first reply, queries a second, memory; and what a relay of a live run adds.

Run ``python tests/benches/bench_databases.py``; it prints a table for docs/performance.md. The server runs in a
process of its own, as the harness runs it beside an agent, and is asked over keep-alive connections.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import psutil

from tasks_lib.databases.servers import relay
from tasks_lib.episodes.live_databases import Replies
from tasks_lib.store import StageFolder, Store

PROGRAM = [sys.executable, "-W", "ignore", "-c", "from tasks_lib.cli.databases import databases_app; databases_app()"]
QUESTIONS = {
    "mp": {
        "one entry, 2 fields": "materials/summary/?formula=SiO2&_fields=material_id,band_gap",
        "a range, 100 entries": "materials/summary/?energy_above_hull_max=0.1&_limit=100&_fields=material_id",
        "100 whole summaries": "materials/summary/?_all_fields=true&_limit=100",
        "hull of a system": "materials/thermo/?chemsys=Fe-O,Fe,O&_fields=entries",
    },
    "oqmd": {
        "a filter, 2 fields": "oqmdapi/formationenergy?filter=element_set=Fe,O AND stability<0.1&fields=name,delta_e",
        "50 whole rows": "oqmdapi/formationenergy?limit=50",
    },
    "optimade": {
        "a filter, 20 structures": 'crystals/v1/structures?filter=elements HAS "O"',
        "a filter, 2 fields": "crystals/v1/structures?filter=nelements=2&response_fields=nsites,_assay_band_gap",
        "one structure": "crystals/v1/structures/matassay-9000010",
    },
}


@contextmanager
def _server(dialect: str) -> Iterator[tuple[dict[str, Any], psutil.Process, float]]:
    began = time.perf_counter()
    served = subprocess.Popen([*PROGRAM, "serve", dialect, "--json"], stdout=subprocess.PIPE, text=True)
    try:
        assert served.stdout is not None
        said = json.loads(served.stdout.readline())
        yield said, psutil.Process(served.pid), time.perf_counter() - began
    finally:
        served.terminate()
        served.wait(30)


def _rate(url: str, headers: dict[str, str], seconds: float, clients: int) -> tuple[float, float, int]:
    """Return the first reply's seconds, replies a second, and a reply's bytes."""
    began = time.perf_counter()
    size = len(httpx.get(url, headers=headers, timeout=120).raise_for_status().content)
    first = time.perf_counter() - began

    def ask(_: int) -> int:
        count, end = 0, time.perf_counter() + seconds
        with httpx.Client(headers=headers, timeout=60) as client:
            while time.perf_counter() < end:
                client.get(url).raise_for_status()
                count += 1
        return count

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        count = sum(pool.map(ask, range(clients)))
    return first, count / (time.perf_counter() - began), size


def _asked(url: str, headers: dict[str, str], count: int) -> tuple[float, float]:
    """Return the median time of a reply and this process's processor time for one, both ms."""
    times = []
    with httpx.Client(headers=headers, timeout=60) as client:
        client.get(url).raise_for_status()
        worked = time.process_time()
        for _ in range(count):
            began = time.perf_counter()
            client.get(url).raise_for_status()
            times.append(time.perf_counter() - began)
    return 1000 * statistics.median(times), 1000 * (time.process_time() - worked) / count


def _relayed(dialect: str, said: dict[str, Any], questions: dict[str, str], count: int) -> None:
    """Compare a question asked at once with the same through a relay that keeps every reply in a store."""
    key = said["environment"].get("MP_API_KEY")
    upstream = list(said["endpoints"].values()) if dialect == "optimade" else said["url"]
    with tempfile.TemporaryDirectory() as folder:
        replies = Replies(Store.open(folder), StageFolder("stage"))
        with relay(dialect, upstream, api_key=key, record=replies) as made:
            for name, question in questions.items():
                direct, own = _asked(said["url"] + question, {"X-API-KEY": key or ""}, count)
                through, work = _asked(made.url + question, {"X-API-KEY": made.api_key or ""}, count)
                times = f"direct {direct:.1f} ms, relayed and kept {through:.1f} ms"
                _line(f"{dialect:9} {name:26} {times}; the relay's processor time {work - own:.1f} ms")


def _line(text: str) -> None:
    sys.stdout.write(text + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of asking a question; 0 asks none")
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--relayed", type=int, default=50, help="times that each question goes through the relay")
    chosen = parser.parse_args()
    _line(f"{'dialect':9} {'question':26} {'first ms':>9} {'queries/s':>10} {'kB':>8}")
    for dialect, questions in QUESTIONS.items():
        with _server(dialect) as (said, process, started):
            headers = {"X-API-KEY": said["environment"].get("MP_API_KEY", "")}
            for name, question in questions.items() if chosen.seconds else ():
                first, rate, size = _rate(said["url"] + question, headers, chosen.seconds, chosen.clients)
                _line(f"{dialect:9} {name:26} {1000 * first:9.0f} {rate:10.0f} {size / 1000:8.1f}")
            if dialect == "mp" and chosen.seconds:
                log = f"{said['endpoints']['open_data']}/materialsproject-build/objects/phase-diagrams/_delta_log/"
                began = time.perf_counter()
                httpx.get(f"{log}00000000000000000000.json", timeout=300).raise_for_status()
                _line(f"{dialect:9} all phase diagrams built   {1000 * (time.perf_counter() - began):9.0f}")
            _relayed(dialect, said, questions, chosen.relayed)
            memory = process.memory_info().rss / 2**20
            _line(f"{dialect:9} process start to announce  {1000 * started:9.0f} ms; memory {memory:.0f} MiB")


if __name__ == "__main__":
    main()
