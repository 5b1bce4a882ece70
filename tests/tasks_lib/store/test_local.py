"""A local store under a killed writer, a full disk and a file system without hard links."""

import errno
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tasks_lib.records import Decision, Observation, Phase, Step, Verb, VoidReason, VoidRecord, now
from tasks_lib.records.errors import StoreError, policy_for
from tasks_lib.store import Store

# Writes half of what it was asked to, says so, and waits to be killed.
DIE_HALF_WAY = """
import os, sys
from tasks_lib.store import Store

url, call, path = sys.argv[1:]
store = Store.open(url)
really = os.pwrite

def half(descriptor, data, offset):
    written = really(descriptor, data[: len(data) // 2], offset)
    print("half", flush=True)
    sys.stdin.read()
    return written

os.pwrite = half
data = b"N" * 100_000
if call == "swap":
    store.swap(path, b"old\\n", data)
elif call == "append":
    store.append_line(path, data.decode())
else:
    getattr(store, call)(path, data)
"""


def kill_half_way(children, store: Store, call: str, path: str) -> None:
    process = children.start(DIE_HALF_WAY, store.url, call, path)
    assert process.stdout.readline() == "half\n"
    process.kill()
    assert process.wait(30) == -9


@pytest.mark.parametrize("call", ["write_bytes", "swap"])
def test_killed_writer_leaves_the_old_content(children, local_store, call):
    local_store.write_bytes("runs/r/x.json", b"old\n")
    kill_half_way(children, local_store, call, "runs/r/x.json")
    assert local_store.read_bytes("runs/r/x.json") == b"old\n"
    assert local_store.list() == ["runs/r/x.json"]
    assert local_store.children("runs/r") == ["x.json"]
    assert local_store.swap("runs/r/x.json", b"old\n", b"new"), "the dead process holds no lock"


@pytest.mark.parametrize("call", ["write_bytes", "create"])
def test_killed_writer_leaves_nothing_where_nothing_was(children, local_store, call):
    kill_half_way(children, local_store, call, "runs/r/x.json")
    assert not local_store.exists("runs/r/x.json")
    assert local_store.list() == []
    assert local_store.create("runs/r/x.json", b"next")


def test_killed_appender_leaves_whole_lines(children, local_store):
    first, second = (
        Step(index=index, started=now(), observation=Observation(), reply="", decision=Decision.DONE)
        for index in (1, 2)
    )
    local_store.append_line("t.jsonl", first.to_line())
    kill_half_way(children, local_store, "append", "t.jsonl")
    assert local_store.local_path("t.jsonl").stat().st_size > 50_000, "half a line is there"
    assert local_store.read_lines("t.jsonl", Step) == [first]
    local_store.append_line("t.jsonl", second.to_line())
    assert local_store.read_lines("t.jsonl", Step) == [first, second]


@pytest.fixture
def small_disk(tmp_path):
    """A store on a file system of 256 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "matassay-test", str(folder)], capture_output=True, text=True
    )
    if made.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {made.stderr.strip()}")
    yield Store.open(str(folder))
    subprocess.run(["umount", str(folder)], check=True)


def assert_says_full(caught: pytest.ExceptionInfo[StoreError]) -> None:
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.ENOSPC
    assert "free some room" in str(caught.value)
    assert policy_for(caught.value).verb is Verb.VOID
    assert policy_for(caught.value).reason is VoidReason.DISK_FULL


@pytest.mark.parametrize("call", ["write_bytes", "create", "put_blob", "swap"])
def test_full_disk_is_said_and_leaves_no_part(small_disk, call):
    too_much = b"x" * (1 << 20)
    small_disk.write_bytes("runs/x", b"old")
    free = small_disk.free_bytes()
    arguments = {
        "write_bytes": ("runs/x", too_much),
        "create": ("runs/y", too_much),
        "put_blob": (too_much,),
        "swap": ("runs/x", b"old", too_much),
    }
    with pytest.raises(StoreError) as caught:
        getattr(small_disk, call)(*arguments[call])
    assert_says_full(caught)
    assert small_disk.list() == ["runs/x"]
    assert small_disk.read_bytes("runs/x") == b"old"
    assert free - small_disk.free_bytes() < 64 * 1024, "the part that was written is gone"


def test_the_reason_still_fits_on_a_disk_that_was_full(small_disk):
    with pytest.raises(StoreError) as caught:
        small_disk.write_bytes("runs/x", b"x" * (1 << 20))
    void = VoidRecord(
        reason=policy_for(caught.value).reason, phase=Phase.ACT, exception="StoreError", message="", when=now()
    )
    small_disk.write_document("runs/void.json", void)
    assert small_disk.read_document("runs/void.json", VoidRecord) == void


def test_full_disk_leaves_whole_lines(small_disk):
    small_disk.append_line("t.jsonl", "x" * 1000)
    with pytest.raises(StoreError) as caught:
        small_disk.append_line("t.jsonl", "y" * (1 << 20))
    assert_says_full(caught)
    assert small_disk.read_bytes("t.jsonl") == b"x" * 1000 + b"\n"


def no_links(*_: object, **__: object) -> None:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def test_creation_is_exclusive_without_hard_links(local_store, monkeypatch):
    monkeypatch.setattr(os, "link", no_links)
    racers = 8
    barrier = threading.Barrier(racers)

    def run(number: int) -> bool:
        barrier.wait()
        return local_store.create("runs/lease.json", str(number).encode())

    with ThreadPoolExecutor(racers) as pool:
        won = list(pool.map(run, range(racers)))
    assert won.count(True) == 1
    assert local_store.read_bytes("runs/lease.json") == str(won.index(True)).encode()
    assert local_store.list() == ["runs/lease.json"]


def test_other_failures_of_link_are_not_swallowed(local_store, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "link", broken)
    with pytest.raises(StoreError) as caught:
        local_store.create("runs/lease.json", b"")
    assert caught.value.__cause__.errno == errno.EIO
    assert policy_for(caught.value).reason is VoidReason.STORE


def test_a_root_that_is_a_file_is_the_stores_fault(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    store = Store.open(str(tmp_path / "file"))
    for call in (lambda: store.write_bytes("a", b""), lambda: store.create("a", b""), lambda: store.read_bytes("a")):
        with pytest.raises(StoreError, match="check that the store is there"):
            call()


def test_files_get_the_modes_of_the_process(local_store):
    local_store.write_bytes("a", b"")
    local_store.create("b", b"")
    script = "import os, pathlib, sys; p = pathlib.Path(sys.argv[1]); p.touch(); print(p.stat().st_mode)"
    plain = subprocess.run(
        [sys.executable, "-c", script, str(local_store.local_path("plain"))], capture_output=True, text=True, check=True
    )
    modes = {path.stat().st_mode for path in map(local_store.local_path, ("a", "b")) if isinstance(path, Path)}
    assert modes == {int(plain.stdout)}
