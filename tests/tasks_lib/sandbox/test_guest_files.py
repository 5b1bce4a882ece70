"""The work folder: hostile paths, links, pipes and sizes; on the class itself, and once through the server."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.records.errors import ActionError
from tasks_lib.sandbox import Machine
from tasks_lib.sandbox.guest.faults import RefusedError
from tasks_lib.sandbox.guest.files import WorkFolder, split


@pytest.fixture
def folder(tmp_path: Path) -> WorkFolder:
    (tmp_path / "work").mkdir()
    (tmp_path / "secret").write_text("gold", encoding="utf-8")
    return WorkFolder(tmp_path / "work")


def test_write_read_list(folder: WorkFolder) -> None:
    folder.write("a/b/c.txt", b"one")
    folder.write("a/b/c.txt", b"two")
    folder.write("Å 中.dat", b"")
    assert folder.read("a/b/c.txt") == b"two"
    entries, truncated = folder.entries()
    assert [(e.path, e.size, e.kind) for e in entries] == [
        ("a", 0, "folder"),
        ("a/b", 0, "folder"),
        ("a/b/c.txt", 3, "file"),
        ("Å 中.dat", 0, "file"),
    ]
    assert not truncated


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../secret",
        "a/../../secret",
        "./a",
        "a//b",
        "a/",
        "a\\b",
        "a\0b",
        "a\nb",
        "\ud800",
        "x" * 300,
        "/".join("a" * 40),
    ],
)
def test_hostile_paths_are_refused(folder: WorkFolder, path: str) -> None:
    with pytest.raises(RefusedError, match="relative to the work folder"):
        folder.read(path)
    with pytest.raises(RefusedError, match="relative to the work folder"):
        folder.write(path, b"x")


@given(st.text(min_size=1, max_size=60))
def test_a_path_that_passes_stays_inside(text: str) -> None:
    try:
        parts = split(text)
    except RefusedError:
        return
    assert "/".join(parts) == text
    assert os.path.normpath(f"/folder/{text}") == f"/folder/{text}"


def test_links_are_never_followed(folder: WorkFolder) -> None:
    (folder.root / "file").symlink_to("../secret")
    (folder.root / "dir").symlink_to("..")
    (folder.root / "inside").mkdir()
    (folder.root / "inside" / "up").symlink_to(folder.root.parent)
    for path in ("file", "dir/secret", "inside/up/secret"):
        with pytest.raises(RefusedError, match="link"):
            folder.read(path)
        with pytest.raises(RefusedError, match="link"):
            folder.write(path, b"evil")
    assert (folder.root.parent / "secret").read_text(encoding="utf-8") == "gold"
    assert {e.path: e.kind for e in folder.entries()[0]} == {
        "dir": "link",
        "file": "link",
        "inside": "folder",
        "inside/up": "link",
    }


def test_pipes_and_sockets_do_not_block(folder: WorkFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(folder.root / "pipe")
    monkeypatch.chdir(folder.root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("sock")
        for name in ("pipe", "sock"):
            with pytest.raises(RefusedError, match="only regular files"):
                folder.read(name)
            with pytest.raises(RefusedError, match="choose another name"):
                folder.write(name, b"")
        assert {e.kind for e in folder.entries()[0]} == {"pipe", "socket"}


def test_sizes_and_missing_files(folder: WorkFolder) -> None:
    folder.write("five", b"12345")
    assert folder.read("five", limit=5) == b"12345"
    with pytest.raises(RefusedError, match="at most 4") as refusal:
        folder.read("five", limit=4)
    assert refusal.value.status == 413
    for path in ("none", "none/none"):
        with pytest.raises(RefusedError) as refusal:
            folder.read(path)
        assert refusal.value.status == 404
    with pytest.raises(RefusedError, match="folder"):
        folder.read("five/six")


def test_a_failed_write_leaves_the_old_file_and_no_other(folder: WorkFolder) -> None:
    folder.write("kept", b"old")
    (folder.root / "dir").mkdir()
    with pytest.raises(RefusedError):
        folder.write("dir", b"new")
    assert sorted(path.name for path in folder.root.iterdir()) == ["dir", "kept"]


def test_huge_counts_are_bounded(folder: WorkFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks_lib.sandbox.guest.files.MAX_ENTRIES", 10)
    for number in range(12):
        (folder.root / f"{number:05d}").touch()
    entries, truncated = folder.entries()
    assert (len(entries), truncated) == (10, True)


def test_a_heap_of_files_deep_down_hides_nothing_above(folder: WorkFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tasks_lib.sandbox.guest.files.MAX_ENTRIES", 10)
    for number in range(50):
        folder.write(f"heap/{number}", b"")
    folder.write("result.txt", b"")
    entries, truncated = folder.entries()
    assert truncated
    assert "result.txt" in [entry.path for entry in entries]


def test_a_deep_tree_is_cut(folder: WorkFolder) -> None:
    current = os.open(folder.root, os.O_RDONLY)
    for _ in range(600):
        os.mkdir("d", dir_fd=current)
        below = os.open("d", os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = below
    os.close(current)
    entries, truncated = folder.entries()
    assert truncated
    assert len(entries) < 100


def test_through_the_server(code_machine: Machine) -> None:
    computer = code_machine.computer
    data = bytes(range(256)) * 4096
    computer.put_file("deep/er/data.bin", data)
    assert computer.get_file("deep/er/data.bin") == data
    computer.run_script(
        "import os\nos.symlink('/etc/passwd', 'leak')\nos.symlink('/', 'root')\nos.mkfifo('pipe')\n"
        "open(b'bad\\xff', 'w').close()\n"
    )
    kinds = {entry.path: entry.kind for entry in computer.list_files()}
    assert (kinds["leak"], kinds["pipe"], kinds["bad\ufffd"], kinds["deep/er/data.bin"]) == (
        "link",
        "pipe",
        "file",
        "file",
    )
    for path in ("leak", "root/etc/passwd", "pipe", "../x", "/etc/passwd", "deep"):
        with pytest.raises(ActionError):
            computer.get_file(path)
    with pytest.raises(FileNotFoundError, match=r"nothing\.txt"):
        computer.get_file("nothing.txt")
