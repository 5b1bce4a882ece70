"""Control groups: where they are looked for, from the kernel's own text, and that real caps are written."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tasks_lib.sandbox import _cgroup

LIMITS = _cgroup.Limits(memory=300 * 1024 * 1024, processes=40)


def _proc(tmp_path: Path, groups: str, mounts: str) -> Path:
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / "cgroup").write_text(groups, encoding="utf-8")
    (proc / "mountinfo").write_text(mounts.replace("ROOT", str(tmp_path)), encoding="utf-8")
    return proc


def test_version_1_offers_its_own_group_in_each_hierarchy(tmp_path: Path) -> None:
    for name in ("memory/jobs", "pids", "cpu,cpuacct"):
        (tmp_path / name).mkdir(parents=True)
    proc = _proc(
        tmp_path,
        "5:memory:/jobs\n4:cpu,cpuacct:/\n3:pids:/\n2:freezer:/\n0::/\n",
        "30 20 0:25 / ROOT/memory rw - cgroup cgroup rw,memory\n"
        "31 20 0:26 / ROOT/pids rw - cgroup cgroup rw,pids\n"
        "32 20 0:27 / ROOT/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "33 20 0:28 / ROOT/freezer rw - cgroup cgroup rw,freezer\n"
        "34 20 0:29 / /proc rw - proc proc rw\n",
    )
    places = _cgroup.find_places(proc)
    assert {(p.folder.relative_to(tmp_path).as_posix(), p.version, tuple(sorted(p.controllers))) for p in places} == {
        ("memory/jobs", 1, ("memory",)),
        ("pids", 1, ("pids",)),
        ("cpu,cpuacct", 1, ("cpu",)),
    }
    group, capped = _cgroup.create("local-1", LIMITS, places)
    assert capped == {"cpu": "cgroup v1", "memory": "cgroup v1", "processes": "cgroup v1"}
    assert (tmp_path / "memory/jobs/matassay-local-1/memory.limit_in_bytes").read_text(encoding="ascii") == "314572800"
    assert (tmp_path / "pids/matassay-local-1/pids.max").read_text(encoding="ascii") == "40"
    assert len(group.folders) == 3
    assert set(_cgroup.find("local-1", places).folders) == set(group.folders)


def test_version_2_tries_the_parent_of_a_group_that_holds_processes(tmp_path: Path) -> None:
    own = tmp_path / "user.slice" / "session.scope"
    own.mkdir(parents=True)
    for folder in (own, own.parent):
        (folder / "cgroup.controllers").write_text("cpu io memory pids\n", encoding="ascii")
        (folder / "cgroup.subtree_control").write_text("", encoding="ascii")
    proc = _proc(tmp_path, "0::/user.slice/session.scope\n", "30 20 0:25 / ROOT rw - cgroup2 cgroup2 rw\n")
    places = _cgroup.find_places(proc)
    assert [p.folder for p in places] == [own, own.parent]
    # The kernel answers EBUSY for a group with processes in it: here, a file that cannot be written to.
    (own / "cgroup.subtree_control").unlink()
    (own / "cgroup.subtree_control").mkdir()
    group, capped = _cgroup.create("local-2", LIMITS, places)
    assert capped == {"cpu": "cgroup v2", "memory": "cgroup v2", "processes": "cgroup v2"}
    (folder,) = group.folders
    assert folder == own.parent / "matassay-local-2"
    assert (folder / "memory.max").read_text(encoding="ascii") == "314572800"
    assert (folder / "memory.swap.max").read_text(encoding="ascii") == "0"
    assert (folder / "pids.max").read_text(encoding="ascii") == "40"
    assert (own.parent / "cgroup.subtree_control").read_text(encoding="ascii") == "+cpu +memory +pids"


def test_a_namespaced_mount_and_odd_names(tmp_path: Path) -> None:
    (tmp_path / "a b" / "inner").mkdir(parents=True)
    proc = _proc(
        tmp_path, "5:memory:/docker/x/inner\n", "30 20 0:25 /docker/x ROOT/a\\040b rw - cgroup cgroup rw,memory\n"
    )
    assert [p.folder for p in _cgroup.find_places(proc)] == [tmp_path / "a b" / "inner"]


def test_nowhere_to_write_is_no_error(tmp_path: Path) -> None:
    assert _cgroup.find_places(tmp_path / "missing") == []
    group, capped = _cgroup.create("local-3", LIMITS, [_cgroup.Place(tmp_path / "gone", 1, frozenset({"memory"}))])
    assert (group.folders, capped) == ((), {})
    assert group.pids() == set()
    assert group.remove()


def test_on_this_host(tmp_path: Path) -> None:
    group, capped = _cgroup.create("local-test", LIMITS)
    if not group.folders:
        pytest.skip("no control group can be written here")
    try:
        join = "".join(f'echo $$ >"{path}"; ' for path in group.joins)
        with subprocess.Popen(["/bin/sh", "-c", f"{join} exec sleep 60"]) as child:
            while child.pid not in group.pids():
                assert child.poll() is None
            assert not group.remove(0.05)
            child.kill()
        assert capped
    finally:
        assert group.remove()
    assert _cgroup.find("local-test").folders == ()
