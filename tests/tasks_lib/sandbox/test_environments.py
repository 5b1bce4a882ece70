"""Python environments of scripts: built once from requirements, whole or absent, with nothing of the harness."""

from __future__ import annotations

import errno
import os
import threading
import venv
import zipfile
from contextlib import nullcontext
from pathlib import Path

import pytest

from tasks_lib.records import MachineSettings
from tasks_lib.records.errors import ActionError, ConfigurationError
from tasks_lib.sandbox import environments, provider


def _wheel(folder: Path, name: str, version: str) -> Path:
    """Write a wheel by hand: installing it needs no index and no build."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    members = {
        f"{name}.py": f"version = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{member},,\n" for member in (*members, f"{info}/RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in {**members, f"{info}/RECORD": record}.items():
            archive.writestr(member, text)
    return path


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Task definitions with one environment, and a state folder of their own."""
    monkeypatch.setenv("MATASSAY_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    folder = tmp_path / "taskdefs" / "environments"
    folder.mkdir(parents=True)
    wheel = _wheel(tmp_path, "quartzite", "1.0")
    (folder / "rocks.txt").write_text(f"# stones\n{wheel}\n", encoding="utf-8")
    return tmp_path / "taskdefs"


def test_an_environment_is_built_once_and_says_what_is_in_it(root: Path) -> None:
    found = environments.find("rocks", root)
    assert (found.is_built, found.packages) == (False, ())
    environments.build(found)
    assert found.is_built
    assert [line.split(" ")[0].split("==")[0] for line in found.packages] == ["quartzite"]
    before = found.python.lstat().st_mtime_ns
    environments.build(found)
    assert found.python.lstat().st_mtime_ns == before


def test_a_script_finds_its_packages_and_none_of_the_harness(root: Path, machines: None) -> None:
    found = environments.find("rocks", root)
    environments.build(found)
    machine = provider().open(MachineSettings(), desktop=False, python=found.python, variables={"ASSAY": "gold"})
    try:
        done = machine.computer.run_script(
            "import importlib.util as u, os, quartzite\n"
            "print(quartzite.version, os.environ['ASSAY'])\n"
            "print([n for n in ('numpy', 'prefect', 'tasks_lib', 'pip', 'pydantic') if u.find_spec(n)])\n"
            "import sys\n"
            "try:\n    open(sys.prefix + '/mine', 'w')\n"
            "except OSError:\n    print('read-only')\n"
        )
    finally:
        machine.close()
    assert done.stdout.splitlines() == ["1.0 gold", "[]", "read-only"], done.stderr


@pytest.mark.desktop
def test_a_desktop_starts_the_programs_of_its_environment_and_of_no_other(root: Path, machines: None) -> None:
    problems = provider().problems(desktop=True)
    if problems:
        pytest.skip("; ".join(problems))
    found = environments.find("rocks", root)
    environments.build(found)
    program = found.folder / "bin" / "quartzite-viewer"
    program.write_text(f"#!{found.python}\nimport quartzite\n", encoding="utf-8")
    program.chmod(0o755)
    for python, there in ((found.python, True), (None, False)):
        machine = provider().open(MachineSettings(), desktop=True, python=python)
        try:
            assert machine.computer.os.is_installed("quartzite-viewer") is there
            assert not machine.computer.os.is_installed(f"../bin/{program.name}")
            with nullcontext() if there else pytest.raises(ActionError, match="quartzite-viewer"):
                machine.computer.os.open_program("quartzite-viewer")
        finally:
            machine.close()


def test_comments_do_not_make_another_environment_and_requirements_do(root: Path) -> None:
    file = root / "environments" / "rocks.txt"
    folder = environments.find("rocks", root).folder
    file.write_text("\n# other words\n" + file.read_text(encoding="utf-8").split("\n", 1)[1], encoding="utf-8")
    assert environments.find("rocks", root).folder == folder
    file.write_text("marble==2\n", encoding="utf-8")
    assert environments.find("rocks", root).folder != folder


def test_what_an_interrupted_build_left_is_built_anew(root: Path) -> None:
    found = environments.find("rocks", root)
    environments.build(found)
    (found.folder / "packages.txt").unlink()
    (found.folder / "half").touch()
    assert not found.is_built
    environments.build(found)
    assert found.is_built
    assert not (found.folder / "half").exists()


def test_a_package_that_is_not_there_is_told_with_pips_words_and_the_log(root: Path) -> None:
    (root / "environments" / "rocks.txt").write_text("unobtainium-of-no-index\n", encoding="utf-8")
    found = environments.find("rocks", root)
    with pytest.raises(ConfigurationError, match="No matching distribution found for unobtainium") as caught:
        environments.build(found)
    assert str(found.folder.with_suffix(".log")) in str(caught.value)
    assert not found.is_built


def test_two_builders_at_once_build_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = environments.find("rocks", root)
    failed: list[BaseException] = []
    made: list[Path] = []
    create = venv.EnvBuilder.create

    def counted(self: venv.EnvBuilder, folder: Path) -> None:
        made.append(folder)
        create(self, folder)

    monkeypatch.setattr(venv.EnvBuilder, "create", counted)

    def build() -> None:
        try:
            environments.build(found)
        except BaseException as error:  # noqa: BLE001 - told by the assertion
            failed.append(error)

    threads = [threading.Thread(target=build) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert found.is_built
    assert made == [found.folder]


def test_an_unknown_name_is_told_with_those_that_are_there(root: Path) -> None:
    with pytest.raises(ConfigurationError, match="there are rocks"):
        environments.find("metals", root)


def test_a_state_folder_that_cannot_be_written_is_no_trace(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = root / "file"
    blocked.touch()
    monkeypatch.setenv("MATASSAY_STATE", os.fspath(blocked))
    with pytest.raises(ConfigurationError, match="MATASSAY_STATE"):
        environments.build(environments.find("rocks", root))


@pytest.mark.parametrize(
    "line",
    [
        "-r other.txt", "-c bounds.txt", "-e .", "--index-url https://me:pass-word@index.invalid/simple",
        "--extra-index-url=https://me:pass-word@index.invalid", "https://me:pass-word@host.invalid/a-1-py3-none-any.whl",
        "rock @ git+https://pass-word@host.invalid/rock", "rock @ file:///rock.whl", "rock \\", "  -r other.txt  # why",
    ],
)  # fmt: skip
def test_requirements_are_names_and_a_refusal_repeats_no_password(root: Path, line: str) -> None:
    (root / "environments" / "rocks.txt").write_text(f"# stones\n{line}\n", encoding="utf-8")
    found = environments.find("rocks", root)
    with pytest.raises(ConfigurationError, match=r"rocks\.txt, line 2: an environment needs") as caught:
        environments.build(found)
    assert "pass-word" not in str(caught.value)
    assert not found.folder.exists()


def test_a_disk_that_fills_up_leaves_no_environment_that_counts_as_built(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_text

    def full(path: Path, text: str, **options: str) -> int:
        if not path.name.startswith("packages.txt"):
            return write(path, text, **options)
        write(path, text[: len(text) // 2], **options)
        raise OSError(errno.ENOSPC, "No space left on device")

    found = environments.find("rocks", root)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        with pytest.raises(ConfigurationError, match="make room on the disk"):
            environments.build(found)
    assert not found.is_built
    environments.build(found)
    assert len(found.packages) == 1


def test_what_another_user_can_write_is_not_used(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = environments.find("rocks", root)
    environments.build(found)
    owner = found.folder.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    if owner:  # what root built anybody may use
        assert not found.is_built
    found.folder.parent.chmod(0o777)
    found.folder.chmod(0o777)
    assert not found.is_built
    with pytest.raises(ConfigurationError, match="can be written by another user"):
        environments.build(found)
