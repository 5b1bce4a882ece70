"""The store's contract, the same for a folder and for both S3 servers."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks_lib.records import Decision, Lease, Observation, Phase, Step, VoidReason, VoidRecord, now
from tasks_lib.records.errors import ConfigurationError, StoreError
from tasks_lib.store import Store

ESCAPES = ("", ".", "..", "/etc/passwd", "../x", "a/../../x", "a//b", "a/./b", "a\\b", "C:x", "a\nb", "a/", "\udcff")


def step(index: int) -> Step:
    return Step(index=index, started=now(), observation=Observation(), reply="Åé\u2028 §", decision=Decision.CONTINUE)


def test_what_was_written_is_read_and_written_over(store):
    store.write_bytes("runs/r/a.bin", b"old")
    store.write_bytes("runs/r/a.bin", b"\x00new")
    assert store.read_bytes("runs/r/a.bin") == b"\x00new"


def test_an_empty_file_is_a_file(store):
    store.write_bytes("runs/empty", b"")
    assert store.read_bytes("runs/empty") == b""
    assert store.exists("runs/empty")
    assert not store.create("runs/empty", b"x")


def test_missing_file_is_said_to_be_missing(store):
    with pytest.raises(FileNotFoundError, match=r"runs/none\.json"):
        store.read_bytes("runs/none.json")
    with pytest.raises(FileNotFoundError):
        store.read_document("runs/none.json", Lease)
    assert not store.exists("runs/none.json")


def test_listing_is_recursive_sorted_and_free_of_book_keeping(store):
    for path in ("b/z.json", "b/a/y.json", "a.json", "b/a.json", "ba/other.json"):
        store.write_bytes(path, b"1")
    assert store.create("b/c.json", b"1")
    assert store.swap("b/c.json", b"1", b"2")
    assert store.list() == ["a.json", "b/a.json", "b/a/y.json", "b/c.json", "b/z.json", "ba/other.json"]
    assert store.list("b") == ["b/a.json", "b/a/y.json", "b/c.json", "b/z.json"]
    assert store.children() == ["a.json", "b", "ba"]
    assert store.children("b") == ["a", "a.json", "c.json", "z.json"]
    assert store.exists("b/a")


def test_listing_of_nothing_is_empty(store):
    assert store.list("none") == []
    assert store.children("none") == []
    assert store.list() == []


def test_more_files_than_a_page_of_a_listing(s3_environment, moto_server):
    # S3 answers a listing with 1000 names at most.
    store = Store.open(s3_environment(moto_server))
    names = [f"{number:04d}" for number in range(1001)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: store.write_bytes(f"blobs/{name}", b""), names))
    assert store.list("blobs") == [f"blobs/{name}" for name in names]
    assert store.children("blobs") == names


def test_another_store_on_the_same_root_sees_changes_at_once(store, store_url):
    other = Store.open(store_url)
    assert other.list() == []
    store.write_bytes("a/b", b"1")
    assert other.list() == ["a/b"]
    store.delete("a/b")
    assert not other.exists("a/b")
    assert other.list() == []


def test_deleting_twice_is_fine(store):
    store.write_bytes("a/b", b"1")
    store.delete("a/b")
    store.delete("a/b")
    assert not store.exists("a/b")


def test_create_is_exclusive(store):
    assert store.create("a/lease.json", b"first")
    assert not store.create("a/lease.json", b"second")
    assert store.read_bytes("a/lease.json") == b"first"


def test_swap_needs_the_content_that_was_read(store):
    assert not store.swap("a", b"", b"new")
    store.write_bytes("a", b"one")
    assert not store.swap("a", b"two", b"three")
    assert store.swap("a", b"one", b"two")
    assert store.read_bytes("a") == b"two"


@pytest.mark.parametrize("what", ["create", "swap"])
def test_of_many_threads_one_wins_and_its_content_stands(store, store_url, what):
    racers = 4
    stores = [Store.open(store_url) for _ in range(racers)]
    barrier = threading.Barrier(racers)
    for lap in range(2):
        path = f"race/{lap}"
        if what == "swap":
            store.write_bytes(path, b"before")

        def run(number: int, path: str = path) -> bool:
            barrier.wait()
            mine = f"racer {number}".encode()
            return stores[number].create(path, mine) if what == "create" else stores[number].swap(path, b"before", mine)

        with ThreadPoolExecutor(racers) as pool:
            won = list(pool.map(run, range(racers)))
        assert won.count(True) == 1
        assert store.read_bytes(path) == f"racer {won.index(True)}".encode()


@pytest.mark.parametrize("path", ESCAPES)
def test_no_path_leaves_the_store(store_url, path):
    store = Store.open(store_url)
    calls = [
        lambda: store.read_bytes(path),
        lambda: store.write_bytes(path, b""),
        lambda: store.create(path, b""),
        lambda: store.swap(path, b"", b""),
        lambda: store.delete(path),
        lambda: store.exists(path),
        lambda: store.append_line(path, "{}"),
        lambda: store.read_lines(path, Step),
    ]
    if path:
        calls += [lambda: store.list(path), lambda: store.children(path), lambda: store.local_path(path)]
    for call in calls:
        with pytest.raises(StoreError, match="could leave the store"):
            call()


def test_document_comes_back(store):
    void = VoidRecord(reason=VoidReason.STORE, phase=Phase.ACT, exception="X", message="é \ud800", when=now())
    store.write_document("runs/r/void.json", void)
    assert store.read_document("runs/r/void.json", VoidRecord) == void
    assert store.read_bytes("runs/r/void.json") == void.to_json().encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"reason": "store"', "Expecting"),
        (b"\xff\xfe", "codec"),
        (b'{"reason": NaN}', "NaN"),
        (b'{"reason": "no such", "phase": "act", "exception": "X", "message": "", "when": 3}', "reason"),
        (b"[]", "document"),
    ],
)
def test_broken_document_names_path_and_field(local_store, data, said):
    local_store.write_bytes("runs/r/void.json", data)
    with pytest.raises(StoreError) as caught:
        local_store.read_document("runs/r/void.json", VoidRecord)
    assert "runs/r/void.json" in str(caught.value)
    assert said in str(caught.value)


def test_lines_come_back_whole(store):
    steps = [step(index) for index in range(1, 4)]
    for entry in steps:
        store.append_line("t/trajectory.jsonl", entry.to_line())
    assert store.read_lines("t/trajectory.jsonl", Step) == steps
    assert store.read_bytes("t/trajectory.jsonl") == b"".join(entry.to_line().encode() for entry in steps)


def test_no_line_yet_reads_as_no_lines(store):
    assert store.read_lines("t/trajectory.jsonl", Step) == []


def test_torn_last_line_is_dropped_and_cut_off_by_the_next(store):
    whole = step(1).to_line().encode()
    store.write_bytes("t/trajectory.jsonl", whole + step(2).to_line().encode()[:-20])
    assert [entry.index for entry in store.read_lines("t/trajectory.jsonl", Step)] == [1]
    store.append_line("t/trajectory.jsonl", step(3).to_line())
    assert [entry.index for entry in store.read_lines("t/trajectory.jsonl", Step)] == [1, 3]


def test_a_file_of_one_torn_line_has_no_lines(store):
    store.write_bytes("t.jsonl", b'{"a": "' + b"x" * 200_000)
    assert store.read_lines("t.jsonl", Step) == []
    store.append_line("t.jsonl", step(1).to_line())
    assert len(store.read_lines("t.jsonl", Step)) == 1


def test_broken_whole_line_names_its_place(local_store):
    local_store.write_bytes("t.jsonl", step(1).to_line().encode() + b'{"index": 2}\n' + step(3).to_line().encode())
    with pytest.raises(StoreError, match=r"t\.jsonl:2 is not a good Step document.*observation"):
        local_store.read_lines("t.jsonl", Step)


@pytest.mark.parametrize("line", ["", "\n", "a\nb", "a\n\n"])
def test_a_line_is_one_line(local_store, line):
    with pytest.raises(StoreError, match="one non-empty line"):
        local_store.append_line("t.jsonl", line)


def test_blob_is_stored_once(store):
    first = store.put_blob(b"frame", "image/png")
    second = store.put_blob(b"frame", "image/png")
    assert first == second
    assert first.media_type == "image/png"
    assert store.get_blob(first) == b"frame"
    assert store.list() == [store.blob_path(first.sha256)]
    assert store.blob_path(first.sha256) == f"blobs/sha256/{first.sha256[:2]}/{first.sha256[2:]}"


def test_damaged_blob_is_refused(store):
    ref = store.put_blob(b"frame")
    store.write_bytes(store.blob_path(ref.sha256), b"fr4me")
    with pytest.raises(StoreError, match=r"was damaged; delete it"):
        store.get_blob(ref)


def test_cut_blob_is_written_again(store):
    ref = store.put_blob(b"frame")
    store.write_bytes(store.blob_path(ref.sha256), b"fra")
    assert store.put_blob(b"frame") == ref
    assert store.get_blob(ref) == b"frame"


def test_missing_blob_is_the_stores_fault(store):
    ref = store.put_blob(b"frame")
    store.delete(store.blob_path(ref.sha256))
    with pytest.raises(StoreError, match="is missing"):
        store.get_blob(ref)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(data=st.binary(max_size=5000))
def test_any_bytes_come_back(local_store, data):
    assert local_store.get_blob(local_store.put_blob(data)) == data


def test_a_large_blob_goes_to_every_store(store):
    data = bytes(range(256)) * 4096 * 12
    assert store.get_blob(store.put_blob(data)) == data


def test_store_travels_to_another_process(store):
    store.write_bytes("a", b"1")
    other = pickle.loads(pickle.dumps(store))  # noqa: S301 - our own bytes
    assert other.url == store.url
    assert other.read_bytes("a") == b"1"


def test_addresses(tmp_path, monkeypatch, s3_environment, moto_server):
    monkeypatch.chdir(tmp_path)
    assert Store.open("artifacts").url == (tmp_path / "artifacts").as_uri()
    with_space = tmp_path / "my store"
    assert Store.open(with_space.as_uri()).url == with_space.as_uri()
    assert Store.open(str(with_space)).local_path("a/b") == with_space / "a" / "b"
    assert list(tmp_path.iterdir()) == [], "opening a store makes nothing"
    remote = Store.open(s3_environment(moto_server) + "/")
    assert remote.url.startswith("s3://")
    assert not remote.url.endswith("/")
    assert remote.local_path("a") is None
    assert remote.free_bytes() is None


@pytest.mark.parametrize("url", ["", "s3://", "s3:///", "gs://bucket", "http://host/x", "file://host/x", "file://"])
def test_other_addresses_are_refused(url):
    with pytest.raises(ConfigurationError, match="a store is a folder"):
        Store.open(url)


def test_free_room_is_measured_before_the_folder_exists(tmp_path):
    assert Store.open(str(tmp_path / "not" / "yet")).free_bytes() > 0
