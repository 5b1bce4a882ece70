"""The gate: threads and processes share an endpoint's places, in order, and the dead hold none."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tasks_lib.models import DeadlineError, ModelSettings
from tasks_lib.models._places import OLDEST_PLACE, Full, Places
from tasks_lib.models.gate import EndpointGate, endpoint_of
from tasks_lib.records import VoidReason
from tasks_lib.records.errors import StoreError, policy_for

HERE = "127.0.0.1:1 KEY m"


class Clock:
    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


def well(gate):
    gate.leave(throttled=False, retry_after=None)


def test_what_shares_limits_is_host_key_and_model():
    settings = ModelSettings(base_url="https://a.example:8443/v1", model="m", api_key_env="K")
    assert endpoint_of(settings) == "a.example:8443 K m"
    assert endpoint_of(settings.model_copy(update={"api_key_env": None})) == "a.example:8443 - m"


def test_a_new_endpoint_takes_two_and_a_third_waits_for_a_place(tmp_path):
    gate = EndpointGate(HERE, 8, tmp_path)
    inside, go, order = threading.Barrier(3), threading.Event(), []

    def call():
        gate.enter(30)
        inside.wait(30)
        go.wait(30)
        order.append("left")
        well(gate)

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(call) for _ in range(2)]
        inside.wait(30)
        with pytest.raises(
            DeadlineError, match=r"no place at endpoint .* within 0\.01 s \(2 calls under way, 2 allowed"
        ):
            gate.enter(0.01)
        go.set()
        gate.enter(30)
        order.append("entered")
        well(gate)
        [future.result() for future in futures]
    assert "left" in order[:2]
    assert gate.seen()[1] == 0


def test_no_time_at_all_still_takes_a_place_that_is_free(tmp_path):
    gate = EndpointGate(HERE, 8, tmp_path)
    assert gate.enter(0.0) < 30
    well(gate)


def test_leaving_twice_or_without_a_place_is_nothing(tmp_path):
    gate = EndpointGate(HERE, 8, tmp_path)
    well(gate)
    gate.enter(1)
    well(gate)
    well(gate)
    assert gate.seen()[1] == 0


def test_who_waits_is_let_in_in_order(tmp_path):
    gate, order, queued = EndpointGate(HERE, 1, tmp_path), [], threading.Event()
    gate.enter(1)
    line = gate._line()

    def call(number):
        gate.enter(60)
        order.append(number)
        well(gate)

    threads = []
    for number in range(12):
        threads.append(threading.Thread(target=call, args=(number,)))
        threads[-1].start()
        while len(line._waiting) <= number:
            queued.wait(0.001)
    well(gate)
    for thread in threads:
        thread.join(60)
    assert order == list(range(12))


def test_a_refusal_with_a_time_closes_the_gate_for_every_caller(tmp_path):
    one, other = EndpointGate(HERE, 8, tmp_path), EndpointGate(HERE, 8, tmp_path)
    one.enter(1)
    one.leave(throttled=True, retry_after=100.0)
    with pytest.raises(DeadlineError, match="0 calls under way, 1 allowed"):
        other.enter(0.02)
    EndpointGate("another", 8, tmp_path).enter(0.02)


def test_the_pause_ends_by_itself(tmp_path):
    gate = EndpointGate(HERE, 8, tmp_path)
    gate.enter(1)
    gate.leave(throttled=True, retry_after=0.05)
    assert gate.enter(60) > 0.0
    well(gate)


def test_places_count_over_both_objects_and_files_opened_twice(tmp_path):
    first, second = Places(tmp_path / "p"), Places(tmp_path / "p")
    held = [first.take(HERE, 1), second.take(HERE, 1)]
    assert isinstance(held[0], int)
    assert held[1] == Full()
    first.give_back(HERE, held[0], 1, throttled=False, retry_after=None)
    assert isinstance(second.take(HERE, 1), int)


_HOLDER = """
import sys
from pathlib import Path
from tasks_lib.models.gate import EndpointGate
gate = EndpointGate(sys.argv[2], 1, Path(sys.argv[1]))
gate.enter(30)
print("in", flush=True)
sys.stdin.read()
"""


def test_a_process_that_dies_holding_a_place_frees_it(tmp_path):
    gate = EndpointGate(HERE, 1, tmp_path)
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path), HERE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout.readline() == b"in\n"
        with pytest.raises(DeadlineError):
            gate.enter(0.05)
        holder.kill()
        holder.wait()
        gate.enter(30)
        assert gate.seen()[1] == 1
        well(gate)
    finally:
        holder.kill()
        holder.communicate()


def test_a_place_of_an_owner_nobody_can_see_is_freed_in_the_end(tmp_path):
    clock = Clock()
    places = Places(tmp_path / "p", clock)
    places._owner = "elsewhere:1:1:aa"
    places.take(HERE, 1)
    assert places.take(HERE, 1) == Full()
    clock.now += OLDEST_PLACE + 1
    assert isinstance(places.take(HERE, 1), int)


def test_a_file_that_is_none_is_put_aside_and_made_anew(tmp_path):
    path = tmp_path / "endpoints.sqlite"
    path.write_bytes(b"this is no database, whatever its name says " * 100)
    EndpointGate(HERE, 1, tmp_path).enter(5)
    assert path.with_name("endpoints.sqlite.broken").read_bytes().startswith(b"this is no")


def test_a_folder_that_cannot_be_had_is_told(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match=r"the places at endpoints cannot be kept in .*file/models"):
        EndpointGate(HERE, 1, tmp_path / "file" / "models").enter(1)


def test_a_full_disk_is_void_disk_full(tmp_path):
    places = Places(tmp_path / "p")
    places._connection.execute("PRAGMA max_page_count = 1")

    def fill():
        for number in range(10_000):
            places.take(f"endpoint-{number}", 1)

    with pytest.raises(StoreError) as caught:
        fill()
    assert policy_for(caught.value).reason is VoidReason.DISK_FULL
    assert caught.value.__cause__.errno == errno.ENOSPC


def test_a_place_that_cannot_be_given_back_breaks_no_call(tmp_path, caplog):
    gate = EndpointGate(HERE, 1, tmp_path)
    gate.enter(1)
    gate._line().places.close()
    well(gate)
    assert "could not be given back" in caplog.text


_CALLER = """
import sys, threading
from pathlib import Path
from tasks_lib.models.gate import EndpointGate
folder, ceiling, log = Path(sys.argv[1]), int(sys.argv[2]), open(sys.argv[3], "ab", buffering=0)
gate = EndpointGate("shared", ceiling, folder)
def call():
    for turn in range(5):
        gate.enter(60)
        log.write(b"+")
        log.write(b"-")
        gate.leave(throttled=turn == 2, retry_after=None)
threads = [threading.Thread(target=call) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def test_processes_together_never_exceed_the_ceiling(tmp_path):
    log = tmp_path / "log"
    processes = [
        subprocess.Popen([sys.executable, "-c", _CALLER, str(tmp_path / "state"), "3", str(log)]) for _ in range(3)
    ]
    assert [process.wait() for process in processes] == [0, 0, 0]
    inside, most = 0, 0
    for sign in log.read_bytes():
        inside += 1 if sign == ord("+") else -1
        most = max(most, inside)
    assert inside == 0
    assert 1 <= most <= 3
    assert len(log.read_bytes()) == 3 * 8 * 5 * 2
    assert EndpointGate("shared", 3, tmp_path / "state").seen()[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_of_a_fork_has_a_place_of_its_own(tmp_path):
    gate = EndpointGate(HERE, 1, tmp_path)
    gate.enter(1)
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom tasks_lib.models import DeadlineError\n"
        "from tasks_lib.models.gate import EndpointGate\n"
        "gate = EndpointGate('x', 1, Path(sys.argv[1]))\ngate.enter(1)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n        gate.enter(0.05)\n    except DeadlineError:\n        os._exit(7)\n    os._exit(0)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False).returncode == 7


def test_the_file_survives_many_openers_at_once(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: Places(tmp_path / "p"), range(16)))
    assert all(isinstance(places.take(str(number), 1), int) for number, places in enumerate(found))
    with sqlite3.connect(tmp_path / "p") as plain:
        assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)
