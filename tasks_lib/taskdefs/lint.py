"""Hold task folders to every rule."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from tasks_lib.records import Modality
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.taskdefs._folder import TASK_FILE, read_folder
from tasks_lib.taskdefs.findings import Finding
from tasks_lib.taskdefs.rules import Called, Known, run_rules
from tasks_lib.taskdefs.rules.targets import named_targets, unused_targets
from tasks_lib.taskdefs.taskset import duplicate, task_folders


def lint(
    path: str | Path,
    *,
    getters: Mapping[str, Called] | Collection[str] | None = None,
    metrics: Mapping[str, Called] | Collection[str] | None = None,
    parse: Callable[[str, Modality], Sequence[str]] | None = None,
    endpoints: Collection[str] | None = None,
) -> list[Finding]:
    """Check task definitions.

    Parameters
    ----------
    path : str or Path
        A task's folder, or a root, suite or domain that holds such folders.
    getters, metrics : mapping of str to Called, or collection of str, optional
        What evaluation knows by which name; a mapping lets arguments be checked too, None leaves the rules out.
    parse : callable, optional
        Takes a reply and a modality, returns what is wrong with the reply; None leaves the rule out.
    endpoints : collection of str, optional
        Services that a stage may ask for; None leaves the rule out.

    Returns
    -------
    list of Finding
        Sorted by file, line and rule; empty where all is well.

    Raises
    ------
    ConfigurationError
        If `path` holds no task.
    """
    known = Known(getters, metrics, parse, endpoints)
    folders = _folders(Path(path))
    if not folders:
        msg = f"no task at {path}: name a folder with a {TASK_FILE}, or a root of <suite>/<domain>/<task> folders"
        raise ConfigurationError(msg)
    findings: list[Finding] = []
    first: dict[str, Path] = {}
    named: set[str] = set()
    whole = True
    for folder in folders:
        files = read_folder(folder)
        findings += [*files.findings, *run_rules(files, known)]
        if files.task is None:
            whole = False
        else:
            named |= named_targets(files, files.task)
            seen = first.setdefault(files.task.id, folder)
            if seen != folder:
                findings.append(duplicate(folder, seen))
    if whole:
        # Below a root alone is it known which pictures nobody names; a task that cannot be read may name any.
        findings += unused_targets(Path(path), named)
    return sorted(findings)


def _folders(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    if _looks_like_task(path):
        return [path]
    # A root, a suite or a domain: task folders lie three, two or one level below.
    below = [folder for pattern in ("*", "*/*", "*/*/*") for folder in path.glob(pattern) if _looks_like_task(folder)]
    whole = task_folders(path) if any(path.glob(f"*/*/*/{TASK_FILE}")) else ()
    return sorted({*below, *whole})


def _looks_like_task(folder: Path) -> bool:
    """Tell whether a folder is a task's, also where its ``task.yaml`` is missing."""
    return any((folder / name).exists() for name in (TASK_FILE, "inputs", "gold", "oracle.md"))
