"""A task's folder read into memory once, bounded, with plain files only."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from tasks_lib.records import Task
from tasks_lib.taskdefs._form import Form, read_form
from tasks_lib.taskdefs._yaml import MAX_BYTES, YamlDocument, YamlProblem, read_yaml
from tasks_lib.taskdefs.findings import Finding

TASK_FILE = "task.yaml"
# Of all inputs and gold of a task together.
MAX_DATA_BYTES = 32 * 1024 * 1024
MAX_TRANSCRIPT_BYTES = 256 * 1024
MAX_FILES = 200


@dataclass(slots=True)
class TaskFolder:
    """Everything in a task's folder, and what of it could not be read.

    Attributes
    ----------
    folder : Path
        The folder as the caller named it.
    text : str
        Content of ``task.yaml``; empty where it could not be read.
    form : Form or None
        What the author wrote; None where the YAML could not be read.
    data : dict
        Content of the files below ``inputs/`` and ``gold/``, by path relative to the folder.
    transcripts : dict
        Text of the markdown files beside ``task.yaml``, by name, with line feeds as line ends.
    findings : list of Finding
        What could not be read.
    """

    folder: Path
    text: str = ""
    document: YamlDocument | None = None
    form: Form | None = None
    data: dict[str, bytes] = field(default_factory=dict)
    transcripts: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def file(self) -> str:
        """Path of ``task.yaml``, as findings name it."""
        return str(self.folder / TASK_FILE)

    @property
    def root(self) -> Path:
        """Root of the task definitions, three folders above: ``<root>/<suite>/<domain>/<task-id>``."""
        return self.folder.resolve().parents[2]

    @property
    def task(self) -> Task | None:
        """The task, where the form could be read."""
        return self.form.task if self.form else None

    def line(self, *path: str | int) -> int:
        """Line of a part of ``task.yaml``."""
        return self.document.line(path) if self.document else 1

    def below(self, top: str) -> dict[str, bytes]:
        """Files below ``inputs`` or ``gold``, by path relative to it."""
        return {name.removeprefix(f"{top}/"): data for name, data in self.data.items() if name.startswith(f"{top}/")}

    def transcript_name(self, name: str, stage: str) -> str:
        """File name of a transcript: ``oracle.md``, for a mixed task ``oracle.<stage>.md``."""
        return f"{name}.md" if self.task and len(self.task.stages) == 1 else f"{name}.{stage}.md"


def read_folder(folder: Path) -> TaskFolder:
    """Read a task's folder; nothing is raised for what it holds, every problem becomes a finding."""
    found = TaskFolder(folder)
    _read_files(found)
    try:
        data = _bounded(folder / TASK_FILE, MAX_BYTES)
        found.document = read_yaml(data)
        found.text = data.decode("utf-8")
    except YamlProblem as error:
        found.findings.append(Finding(found.file, error.line, "yaml", error.value, error.fix))
    except OSError as error:
        fix = "a task's folder holds a readable task.yaml; write one or remove the folder"
        found.findings.append(Finding(found.file, 1, "unreadable", error.strerror or str(error), fix))
    except _TooLargeError as error:
        found.findings.append(Finding(found.file, 1, "too-large", str(error), f"keep it below {MAX_BYTES} bytes"))
    if found.document is not None:
        found.form = read_form(found.document.value)
        found.findings += [
            Finding(found.file, found.document.line(problem.path), "form", problem.value, problem.fix)
            for problem in found.form.problems
        ]
    return found


def sha256(data: bytes) -> str:
    """Return the SHA-256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


class _TooLargeError(Exception):
    pass


def _bounded(path: Path, limit: int) -> bytes:
    with path.open("rb") as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        msg = f"more than {limit} bytes"
        raise _TooLargeError(msg)
    return data


def _read_files(found: TaskFolder) -> None:
    count = 0
    for parent, folders, names in os.walk(found.folder):
        folders.sort()
        for name in sorted([*folders, *names]):
            path = Path(parent) / name
            relative = path.relative_to(found.folder).as_posix()
            if path.is_symlink() or not (path.is_dir() or path.is_file()):
                fix = "a task's folder holds plain files only: put a copy of the file there"
                what = "a symbolic link" if path.is_symlink() else "no file"
                found.findings.append(Finding(str(path), 1, "not-plain", f"{relative} is {what}", fix))
                folders[:] = [other for other in folders if other != name]
                continue
            if path.is_dir():
                continue
            count += 1
            if count > MAX_FILES:
                fix = f"keep a task at or below {MAX_FILES} files"
                found.findings.append(Finding(str(found.folder), 1, "too-many", f"more than {MAX_FILES} files", fix))
                return
            _read_one(found, path, relative)


def _read_one(found: TaskFolder, path: Path, relative: str) -> None:
    is_data = relative.startswith(("inputs/", "gold/"))
    is_transcript = "/" not in relative and relative.endswith(".md")
    if not (is_data or is_transcript):
        return
    room = MAX_DATA_BYTES - sum(len(data) for data in found.data.values())
    limit = room if is_data else MAX_TRANSCRIPT_BYTES
    try:
        data = _bounded(path, limit)
        if is_data:
            found.data[relative] = data
        else:
            found.transcripts[relative] = data.decode("utf-8").replace("\r\n", "\n")
    except _TooLargeError as error:
        found.findings.append(
            Finding(str(path), 1, "too-large", str(error), f"keep a task's files below {MAX_DATA_BYTES} bytes")
        )
    except UnicodeDecodeError as error:
        found.findings.append(Finding(str(path), 1, "not-utf-8", str(error.reason), "save the file as UTF-8"))
    except OSError as error:
        found.findings.append(Finding(str(path), 1, "unreadable", error.strerror or str(error), "make it readable"))
