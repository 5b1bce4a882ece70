"""What is wrong with a task file: where, against which rule, which value, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tasks_lib.records.errors import TaskError


class Severity(StrEnum):
    """An error keeps a task out of the benchmark; a warning is for the author's judgement."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One broken rule at one place.

    Attributes
    ----------
    file : str
        Path of the file as the caller named it.
    line : int
        Line in the file, counted from 1.
    rule : str
        Id of the rule.
    value : str
        What stands there.
    fix : str
        What to do next.
    severity : Severity
        Whether the task may be used all the same.
    """

    file: str
    line: int
    rule: str
    value: str
    fix: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.severity} [{self.rule}] {self.value}: {self.fix}"


def shown(value: object, most: int = 80) -> str:
    """Write a value as a finding shows it, cut where it is longer than `most` characters."""
    text = repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."


class TaskFileError(TaskError):
    """A task that cannot be used, with every finding that says why.

    Attributes
    ----------
    findings : tuple of Finding
        At least one.
    """

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in self.findings))
