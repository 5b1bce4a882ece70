"""What makes two tasks the same task, and two task sets the same set, on whatever machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from tasks_lib.records import Task

# How a task is proved changes neither what the agent meets nor how it is judged.
_PROOF: Any = {"near_misses": True, "difficulty_why": True, "criteria": {"__all__": {"given"}}}


def task_digest(task: Task, gold: Mapping[str, bytes]) -> str:
    """Return the digest of a task: its document, its inputs (by their digests, which it holds) and its gold.

    Comments, layout and line ends of the YAML do not count, nor do oracle, scripted replies and near misses. Fields
    at their default are left out, so that a new field of the record does not change the digest of old tasks.

    Parameters
    ----------
    task : Task
        The task's document.
    gold : mapping of str to bytes
        Files relative to the task's ``gold/``; line ends of text are normalised to line feeds.

    Returns
    -------
    str
        SHA-256, hexadecimal.
    """
    document = task.model_dump(mode="json", exclude_defaults=True, exclude=_PROOF)
    files = [[name, hashlib.sha256(normal_lines(gold[name])).hexdigest()] for name in sorted(gold)]
    return _of({"task": document, "gold": files})


def task_set_digest(digests: Iterable[tuple[str, str]]) -> str:
    """Return the digest of a task set from the (id, digest) pairs of its tasks, in any order."""
    return _of(sorted(list(pair) for pair in digests))


def normal_lines(data: bytes) -> bytes:
    """Return text with line feeds as line ends; binary data (with a NUL byte, or not UTF-8) as they are."""
    if b"\0" in data:
        return data
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    return data.replace(b"\r\n", b"\n")


def _of(value: object) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
