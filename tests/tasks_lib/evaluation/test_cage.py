"""Limits of the reading process, with readers that misbehave as hostile files make them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tasks_lib.evaluation import Unreadable
from tasks_lib.evaluation._cage import Cage, Limits, caged
from tasks_lib.records.errors import EvaluatorError, HarnessTimeoutError

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests" / "fixtures" / "evaluation"


@pytest.fixture(scope="module")
def cage() -> Iterator[Cage]:
    cage = Cage("misbehaving", (str(FIXTURES),))
    yield cage
    cage.close()


def test_a_reader_answers() -> None:
    assert caged("text.read_json", b'{"a": [1, 2.5, null]}') == {"a": [1, 2.5, None]}


def test_the_agents_fault_is_a_reason() -> None:
    with pytest.raises(Unreadable, match="not JSON"):
        caged("text.read_json", b"{")


def test_a_bug_of_ours_is_an_evaluator_error() -> None:
    with pytest.raises(EvaluatorError, match=r"reader text.read_json broke: TypeError"):
        caged("text.read_json", b"{}", no_such_argument=1)
    with pytest.raises(EvaluatorError, match=r"reader text\.no_such_reader broke"):
        caged("text.no_such_reader", b"{}")
    with pytest.raises(EvaluatorError, match=r"reader nowhere\.read broke"):
        caged("nowhere.read", b"{}")


def test_too_much_cpu_time_is_the_files_fault(cage: Cage) -> None:
    with pytest.raises(Unreadable, match="more than 1 s of CPU time"):
        cage.run("readers.spin", b"", limits=Limits(cpu=1))


def test_too_much_memory_is_the_files_fault(cage: Cage) -> None:
    with pytest.raises(Unreadable, match="more than 64 MiB of memory"):
        cage.run("readers.hoard", b"", limits=Limits(memory=64 << 20))


def test_a_reader_that_sleeps_is_the_machines_fault(cage: Cage) -> None:
    with pytest.raises(HarnessTimeoutError, match="machine stands still"):
        cage.run("readers.sleep", b"", limits=Limits(wall=0.2))


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_a_file_that_breaks_the_reader(cage: Cage, number: signal.Signals) -> None:
    with pytest.raises(Unreadable, match=number.name):
        cage.run("readers.die", b"", number=int(number))


def test_a_reader_killed_from_outside_is_the_machines_fault(cage: Cage) -> None:
    with pytest.raises(HarnessTimeoutError, match="killed from outside"):
        cage.run("readers.die", b"", number=int(signal.SIGKILL))


def test_a_reader_that_exits_is_a_bug(cage: Cage) -> None:
    with pytest.raises(EvaluatorError, match="status 3"):
        cage.run("readers.leave", b"", status=3)


def test_deep_recursion_is_a_reason(cage: Cage) -> None:
    with pytest.raises(Unreadable, match="nested too deeply"):
        cage.run("readers.recurse", b"")


def test_a_reader_cannot_write_a_file(cage: Cage, tmp_path: Path) -> None:
    with pytest.raises(EvaluatorError, match="OSError"):
        cage.run("readers.write", b"", path=str(tmp_path / "x"))
    assert not (tmp_path / "x").exists() or (tmp_path / "x").read_bytes() == b""


def test_none_of_our_environment_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "k")
    cage = Cage("misbehaving", (str(FIXTURES),))
    found = cage.run("readers.environment", b"")
    cage.close()
    assert "PATH" in found
    assert not {"SECRET_KEY", "HOME"} & set(found)


def test_what_json_cannot_hold(cage: Cage) -> None:
    with pytest.raises(EvaluatorError, match="strict JSON cannot hold"):
        cage.run("readers.odd", b"")
    assert cage.run("readers.surrogate", b"") == {"\ufffd": None}


def test_arguments_and_bytes_arrive(cage: Cage) -> None:
    assert cage.run("readers.echo", b"abc", a=[1, "µ"]) == {"bytes": 3, "a": [1, "µ"]}


def test_many_threads_read_at_once() -> None:
    found: dict[int, object] = {}

    def read(number: int) -> None:
        found[number] = caged("text.read_json", f'{{"n": {number}}}'.encode(), pointer="/n")

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: number for number in range(8)}


def test_a_large_file_goes_through() -> None:
    data = b"x" * (5 << 20) + b"\n"
    assert len(caged("text.read_text", data)) == len(data)


def test_reading_goes_on_after_the_process_was_killed() -> None:
    code = textwrap.dedent(
        """
        import psutil
        from tasks_lib.evaluation._cage import caged
        from tasks_lib.records.errors import EvaluatorError
        caged("text.read_text", b"one")
        zygote, = psutil.Process().children()
        zygote.kill(); zygote.wait()
        print(caged("text.read_text", b"two"))
        """
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    assert out == "two\n"


def test_nothing_survives_a_killed_evaluation(tmp_path: Path) -> None:
    # The reader opens the pipe before it sleeps, so nothing has to be polled.
    pipe = tmp_path / "ready"
    os.mkfifo(pipe)
    code = textwrap.dedent(
        """
        import sys
        from tasks_lib.evaluation._cage import Cage
        Cage("misbehaving", (sys.argv[1],)).run("readers.announce", b"", pipe=sys.argv[2])
        """
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", code, str(FIXTURES), str(pipe)], env=env) as process:
        try:
            reader = psutil.Process(int(pipe.read_text(encoding="ascii")))
            line = [reader, *reader.parents()]
            ours = line[: line.index(psutil.Process(process.pid))]
        finally:
            process.kill()
    _, alive = psutil.wait_procs(ours, timeout=60)
    assert len(ours) == 3
    assert [child for child in alive if child.status() != psutil.STATUS_ZOMBIE] == []
