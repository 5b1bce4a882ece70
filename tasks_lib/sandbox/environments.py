"""Python environments for agents' scripts: what a file of requirements names, and nothing of the harness.

An environment is built once, from ``taskdefs/environments/<name>.txt``, into the state folder; machines mount it
read-only. Its folder is named after the requirements and the interpreter, so a changed file is another environment.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import state_folder

FOLDER = "environments"
_BUILT = "packages.txt"
_PIP_SECONDS = 1800


@dataclass(frozen=True)
class PythonEnvironment:
    """An environment, built or not.

    Attributes
    ----------
    name : str
        Name of its file of requirements, without suffix.
    requirements : Path
        That file.
    folder : Path
        Where it lies once it is built.
    """

    name: str
    requirements: Path
    folder: Path

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.folder / "bin" / "python"

    @property
    def is_built(self) -> bool:
        """Whether it can be used; neither an interrupted build nor one that somebody else planted counts."""
        return (self.folder / _BUILT).is_file() and _is_trusted(self.folder)

    @property
    def packages(self) -> tuple[str, ...]:
        """What is installed, ``name==version``, sorted; empty before it is built."""
        return tuple((self.folder / _BUILT).read_text(encoding="utf-8").splitlines()) if self.is_built else ()

    @property
    def digest(self) -> str:
        """SHA-256 of `packages`: two runs with one digest had the same libraries."""
        return hashlib.sha256("\n".join(self.packages).encode("utf-8")).hexdigest()


def known(taskdefs: Path) -> dict[str, PythonEnvironment]:
    """Return the environments that a root of task definitions has requirements for, by name, sorted."""
    files = sorted((taskdefs / FOLDER).glob("*.txt"))
    return {path.stem: PythonEnvironment(path.stem, path, _folder(path)) for path in files}


def find(name: str, taskdefs: Path) -> PythonEnvironment:
    """Return the environment of that name, built or not.

    Raises
    ------
    ConfigurationError
        If there are no requirements of that name.
    """
    found = known(taskdefs)
    if name not in found:
        msg = (
            f"no Python environment {name!r} in {taskdefs / FOLDER}; there are {', '.join(found) or 'none'}: "
            f"write {name}.txt, a file of requirements"
        )
        raise ConfigurationError(msg)
    return found[name]


def _is_trusted(folder: Path) -> bool:
    """Tell whether only this user or root could have written there: the harness starts the interpreter outside."""
    status = folder.stat()
    return os.geteuid() == 0 or (status.st_uid in {0, os.geteuid()} and not status.st_mode & stat.S_IWOTH)


def _folder(requirements: Path) -> Path:
    listed = [line for line in _lines(requirements) if line]
    parts = [*listed, sys.version, sysconfig.get_platform()]
    digest = hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:12]
    return state_folder() / FOLDER / f"{requirements.stem}-{digest}"


def _lines(requirements: Path) -> Iterator[str]:
    for line in requirements.read_text(encoding="utf-8").splitlines():
        yield re.sub(r"(^|\s)#.*", "", line).strip()


def _check(environment: PythonEnvironment) -> None:
    """Refuse what the folder's name would not tell apart, and what may carry a password: options of pip and addresses.

    Raises
    ------
    ConfigurationError
        Naming the line, and not what stands in it.
    """
    for number, line in enumerate(_lines(environment.requirements), start=1):
        if line.startswith("-") or "://" in line or line.endswith("\\"):
            msg = (
                f"{environment.requirements}, line {number}: an environment needs names and versions, one "
                "a line, without options, addresses or continued lines: write the packages out, and leave indexes to "
                "pip's own settings"
            )
            raise ConfigurationError(msg)


def build(environment: PythonEnvironment) -> None:
    """Build an environment that is not there yet; needs a package index. Two builders at once wait for each other.

    Raises
    ------
    ConfigurationError
        If the requirements hold more than packages, or these cannot be installed; the message holds pip's last lines
        and names its log.
    """
    _check(environment)
    folder = environment.folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        msg = f"environments lie in {folder.parent}, which cannot be made ({error}): point MATASSAY_STATE elsewhere"
        raise ConfigurationError(msg) from error
    if not _is_trusted(folder.parent):
        msg = f"{folder.parent} can be written by another user: remove it, or point MATASSAY_STATE elsewhere"
        raise ConfigurationError(msg)
    with _locked(folder.with_suffix(".lock")):
        if environment.is_built:
            return
        shutil.rmtree(folder, ignore_errors=True)  # what an interrupted build left
        venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
        log = folder.with_suffix(".log")
        _pip(environment, log, "install", "--requirement", str(environment.requirements))
        listed = _pip(environment, log, "freeze", "--all")
        # Last: with it the environment counts as built.
        text = "".join(f"{line}\n" for line in sorted(listed.splitlines(), key=str.lower))
        part = folder / f"{_BUILT}.part"
        try:
            part.write_text(text, encoding="utf-8", newline="\n")
            part.replace(folder / _BUILT)
        except OSError as error:
            msg = f"{part} cannot be written ({error}): make room on the disk, then build the environment again"
            raise ConfigurationError(msg) from error


def _pip(environment: PythonEnvironment, log: Path, *arguments: str) -> str:
    """Let the harness's pip work on an environment, which has none of its own."""
    argv = [sys.executable, "-m", "pip", "--python", str(environment.python), "--disable-pip-version-check", *arguments]
    with log.open("ab") as stream:
        try:
            done = subprocess.run(
                argv, stdout=subprocess.PIPE, stderr=stream, timeout=_PIP_SECONDS, check=False, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            msg = f"pip did not do its work on environment {environment.name!r}: {error}: see {log}, then try again"
            raise ConfigurationError(msg) from error
        if done.returncode != 0:
            stream.write(done.stdout)
            stream.flush()
            last = " / ".join(log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:])
            msg = (
                f"environment {environment.name!r} cannot be built from {environment.requirements}: {last} "
                f"(log: {log}): see that a package index is reachable, or mend the requirements"
            )
            raise ConfigurationError(msg)
    return done.stdout.decode("utf-8", "replace")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


__all__ = ["PythonEnvironment", "build", "find", "known"]
