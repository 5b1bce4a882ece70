"""The registry of lint rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tasks_lib.records import Modality, Task
from tasks_lib.taskdefs._folder import TaskFolder
from tasks_lib.taskdefs.findings import Finding, Severity


class Called(Protocol):
    """A registered getter or metric, as evaluation tells of it."""

    @property
    def takes_tolerance(self) -> bool:
        """Whether it compares within ``tolerance`` or ``relative``."""

    def check(self, arguments: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with the names of `arguments`."""


@dataclass(frozen=True, slots=True)
class Known:
    """What higher floors know of; a rule whose knowledge is None is passed over.

    Attributes
    ----------
    getters, metrics : mapping of str to Called, or collection of str, optional
        Registered names; of a mapping, the arguments are checked too.
    parse : callable, optional
        Takes a reply and a modality, returns what is wrong with the reply; an empty sequence where it can be acted on.
    endpoints : collection of str, optional
        Names of the services that a stage may ask for.
    """

    getters: Mapping[str, Called] | Collection[str] | None = None
    metrics: Mapping[str, Called] | Collection[str] | None = None
    parse: Callable[[str, Modality], Sequence[str]] | None = None
    endpoints: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """What a rule found: value, fix, and the place in ``task.yaml`` (or in `file`)."""

    value: str
    fix: str
    at: tuple[str | int, ...] = ()
    file: str | None = None
    line: int | None = None


Check = Callable[[TaskFolder, Task, Known], Iterator[Broken]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: `stops` says that a task which breaks it is not even loaded."""

    id: str
    severity: Severity
    says: str
    check: Check
    stops: bool = False


RULES: dict[str, Rule] = {}


def rule(name: str, says: str, severity: Severity = Severity.ERROR, *, stops: bool = False) -> Callable[[Check], Check]:
    """Register a check.

    Parameters
    ----------
    name : str
        The rule's id.
    says : str
        The rule, in one sentence.
    severity : Severity
        What a finding of the rule weighs.
    stops : bool
        Whether a task that breaks the rule cannot be run.

    Raises
    ------
    ValueError
        If two checks claim one id.
    """

    def register(check: Check) -> Check:
        if name in RULES:
            msg = f"rule {name} is registered twice: give the second one another name"
            raise ValueError(msg)
        RULES[name] = Rule(name, severity, says, check, stops)
        return check

    return register


def run_rules(folder: TaskFolder, known: Known, *, stopping_only: bool = False) -> list[Finding]:
    """Hold a task to the rules.

    Parameters
    ----------
    folder : TaskFolder
        The folder, read.
    known : Known
        Names of getters and metrics, the parser of replies.
    stopping_only : bool
        Run only those rules without which a task cannot be run.

    Returns
    -------
    list of Finding
        In the order of the rules.
    """
    task = folder.task
    if task is None:
        return []
    return [
        Finding(
            broken.file or folder.file,
            broken.line or (1 if broken.file else folder.line(*broken.at)),
            entry.id,
            broken.value,
            broken.fix,
            entry.severity,
        )
        for entry in RULES.values()
        if entry.stops or not stopping_only
        for broken in entry.check(folder, task, known)
    ]
