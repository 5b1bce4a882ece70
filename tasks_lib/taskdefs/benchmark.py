"""Benchmarks: named choices of tasks, agents and trials, one YAML file each."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from tasks_lib.records import Modality, Record
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.records.identifiers import Slug
from tasks_lib.taskdefs._yaml import YamlProblem, read_yaml
from tasks_lib.taskdefs.findings import Finding, TaskFileError, shown
from tasks_lib.taskdefs.taskset import BENCHMARKS, TaskSet, find_root

MOST_NAMES_SAID = 20
"""A message names all that there are up to this number."""


class Select(Record):
    """Which tasks: those that are in every list given; an empty list leaves its field free."""

    suites: tuple[Slug, ...] = ()
    domains: tuple[Slug, ...] = ()
    modalities: tuple[Modality, ...] = ()
    tasks: tuple[Slug, ...] = ()

    @classmethod
    def of(cls, suites: Iterable[str], domains: Iterable[str], tasks: Iterable[str]) -> Select:
        """Make a selection from what a person wrote.

        Raises
        ------
        ConfigurationError
            If one of them cannot be a name, such as a path in the place of a task's id.
        """
        try:
            return cls(suites=tuple(suites), domains=tuple(domains), tasks=tuple(tasks))
        except ValidationError as error:
            detail = error.errors(include_url=False)[0]
            value = str(detail["input"])
            fix = "write lower case letters, digits, '-' and '.'"
            if value.count("/") == 2:
                fix = f"a task is named by its id alone, {value.rpartition('/')[2]!r}"
            msg = f"{value!r} in {detail['loc'][0]} is no name: {fix}"
            raise ConfigurationError(msg) from error

    def takes(self, *, suite: str, domain: str, task_id: str, modality: Modality | None) -> bool:
        """Tell whether a task is chosen; a task that could not be loaded has no modality and passes that list."""
        return (
            (not self.suites or suite in self.suites)
            and (not self.domains or domain in self.domains)
            and (not self.modalities or modality is None or modality in self.modalities)
            and (not self.tasks or task_id in self.tasks)
        )


class Benchmark(Record):
    """``taskdefs/benchmarks/<name>.yaml``: which tasks, played by which agents, how often."""

    name: Slug
    what: str = Field(min_length=10, description="what the benchmark is for, in one sentence")
    select: Select = Select()
    agents: tuple[Slug, ...] = Field(min_length=1)
    trials: int = Field(default=1, ge=1, le=1000)

    def choose(self, tasks: TaskSet) -> TaskSet:
        """Return the part of a task set that this benchmark plays, its problems included.

        Parameters
        ----------
        tasks : TaskSet
            As `load_all` returns it.

        Returns
        -------
        TaskSet
            Chosen tasks and problems, with a digest of their own.

        Raises
        ------
        ConfigurationError
            If nothing is chosen, or a task, suite or domain that the benchmark names does not exist.
        """
        return choose(tasks, self.select, what=f"benchmark {self.name}")


def choose(tasks: TaskSet, select: Select, *, what: str = "the selection") -> TaskSet:
    """Return the part of a task set that a selection takes.

    Raises
    ------
    ConfigurationError
        If nothing is chosen, or a name in the selection is nobody's.
    """
    for field, wanted, there in (
        ("suite", select.suites, tasks.names("suite")),
        ("domain", select.domains, tasks.names("domain")),
        ("task", select.tasks, tasks.names("id")),
    ):
        for name in wanted:
            if name not in there:
                msg = f"{what} names {field} {name!r}, which is not there: {_instead(name, sorted(there))}"
                raise ConfigurationError(msg)
    chosen = tasks.only(select.takes)
    if not chosen.tasks and not chosen.problems:
        msg = f"{what} chooses no task: loosen its suites, domains, modalities or tasks"
        raise ConfigurationError(msg)
    return chosen


def load_benchmark(name: str, root: str | Path | None = None) -> Benchmark:
    """Load a benchmark by its name, or from the path of its file.

    Parameters
    ----------
    name : str
        Such as ``smoke``; a text that ends in ``.yaml`` is a path.
    root : str or Path, optional
        Root of the task definitions, see `find_root`.

    Raises
    ------
    ConfigurationError
        If there is no such benchmark; the message lists those there are.
    TaskFileError
        If its file is broken; it names file, line, value and fix.
    """
    folder = Path() if name.endswith(".yaml") else find_root(root) / BENCHMARKS
    file = folder / (name if name.endswith(".yaml") else f"{name}.yaml")
    try:
        data = file.read_bytes()
    except OSError as error:
        there = ", ".join(sorted(path.stem for path in folder.glob("*.yaml"))) or "none"
        msg = f"no benchmark {name!r} at {file} ({error.strerror}): there are {there}"
        raise ConfigurationError(msg) from error
    try:
        document = read_yaml(data)
    except YamlProblem as problem:
        raise TaskFileError([Finding(str(file), problem.line, "yaml", problem.value, problem.fix)]) from problem
    try:
        benchmark = Benchmark.model_validate(document.value)
    except ValidationError as error:
        raise TaskFileError(
            Finding(str(file), document.line(detail["loc"]), "form", _value(detail), detail["msg"])
            for detail in error.errors(include_url=False)
        ) from error
    if benchmark.name != file.stem:
        value = f"name is {benchmark.name}, the file is {file.name}"
        raise TaskFileError([Finding(str(file), document.line(("name",)), "folder-name", value, "rename one of them")])
    return benchmark


def _value(detail: Any) -> str:
    where = ".".join(str(part) for part in detail["loc"]) or "the document"
    return f"{where} is {'missing' if detail['type'] == 'missing' else shown(detail['input'])}"


def _instead(name: str, there: list[str]) -> str:
    """Say what there is: all of a few names, of many those that are alike."""
    if len(there) <= MOST_NAMES_SAID:
        return f"use one of {', '.join(there)}"
    alike = difflib.get_close_matches(name, there, n=3)
    return f"the most alike are {', '.join(alike)}" if alike else "`matassay tasks list` has all"
