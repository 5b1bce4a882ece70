"""The form in which authors write a task, and how it becomes a `Task`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tasks_lib.records import (
    Artifact,
    Budget,
    Criterion,
    Deliverable,
    GetterCall,
    InputFile,
    Keys,
    Launch,
    MetricCall,
    Modality,
    NearMiss,
    SetupStep,
    Stage,
    Task,
)
from tasks_lib.taskdefs._yaml import Path
from tasks_lib.taskdefs.findings import shown

_STAGE_KEYS = (
    "instruction",
    "hints",
    "inputs",
    "setup",
    "deliverables",
    "hands_over",
    "budget",
    "endpoints",
    "environment",
)
_TASK_HEADER = ("title", "modality", "difficulty", "difficulty_why", "tags")
_TASK_KEYS = ("task", *_TASK_HEADER, "points", "criteria", "near_misses")
_METRIC_KEYS = frozenset(MetricCall.model_fields) - {"arguments"}
# "0.1 eV": a number, white space, a unit. The unit is free text: fields disagree on spelling, readers do not.
_QUANTITY = re.compile(r"^([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*)$")

_ModelT = TypeVar("_ModelT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class FormProblem:
    """A part of the form that does not fit: where, what, and the fix."""

    path: Path
    value: str
    fix: str


@dataclass(frozen=True, slots=True)
class Form:
    """What the author wrote, as far as it could be read.

    ``task`` is None when ``problems`` is not empty.
    """

    name: str
    points: int | None
    task: Task | None
    problems: tuple[FormProblem, ...]


def read_form(value: Any) -> Form:
    """Turn the value of a ``task.yaml`` into a task.

    Every problem is collected, so that an author mends a file in one go.

    Parameters
    ----------
    value
        The document as plain Python values.

    Returns
    -------
    Form
        The task, or the problems.
    """
    return _Reader().read(value)


@dataclass(slots=True)
class _Reader:
    problems: list[FormProblem] = field(default_factory=list)

    def read(self, value: Any) -> Form:
        form = self.mapping(value, ())
        mixed = form.get("modality") == Modality.MIXED
        self.only(form, (*_TASK_KEYS, *(("stages",) if mixed else _STAGE_KEYS)), ())
        name, stated = self.header(form)
        if mixed:
            stages = [self.stage(item, path, None) for item, path in self.items(form, "stages", ())]
        else:
            stages = [self.stage({key: form[key] for key in _STAGE_KEYS if key in form}, (), form.get("modality"))]
        criteria = [self.criterion(item, path) for item, path in self.items(form, "criteria", ())]
        near = [self.model(NearMiss, item, path) for item, path in self.items(form, "near_misses", ())]
        task = None
        if not self.problems:
            parts = name.split("/")
            task = self.model(
                Task,
                {
                    "suite": parts[0],
                    "domain": parts[1],
                    "id": parts[2],
                    **{key: form[key] for key in _TASK_HEADER if key in form},
                    "stages": stages,
                    "criteria": criteria,
                    "near_misses": near,
                },
                (),
            )
        return Form(name, stated, task, tuple(self.problems))

    def header(self, form: Mapping[str, Any]) -> tuple[str, int | None]:
        name = form.get("task")
        if not isinstance(name, str) or not re.fullmatch(r"[^/]+/[^/]+/[^/]+", name):
            self.problem(("task",), f"task is {name!r}", "write `task: suite/domain/id`, the names of its folders")
            name = ""
        stated = form.get("points")
        if stated is not None and (isinstance(stated, bool) or not isinstance(stated, int)):
            self.problem(("points",), f"points is {stated!r}", "write the sum of the criteria's points")
            stated = None
        return name, stated

    def stage(self, value: Any, path: Path, modality: Any) -> Stage | None:
        form = self.mapping(value, path)
        if modality is None:
            self.only(form, ("id", "modality", *_STAGE_KEYS), path)
        whole: dict[str, Any] = {"id": "main", "modality": modality} if modality is not None else {}
        plain = ("id", "modality", "instruction", "hints", "endpoints", "environment")
        whole |= {key: form[key] for key in plain if key in form}
        whole["inputs"] = [
            self.model(InputFile, {"path": key, "source": f"inputs/{key}", "sha256": digest}, (*path, "inputs", key))
            for key, digest in self.pairs(form, "inputs", path)
        ]
        whole["setup"] = [self.setup(item, at) for item, at in self.items(form, "setup", path)]
        whole["deliverables"] = [
            self.model(Deliverable, {"path": key, "what": what}, (*path, "deliverables", key))
            for key, what in self.pairs(form, "deliverables", path)
        ]
        whole["hands_over"] = [
            self.model(Artifact, {"path": key, "as_path": other}, (*path, "hands_over", key))
            for key, other in self.pairs(form, "hands_over", path)
        ]
        if "budget" in form:
            whole["budget"] = self.model(Budget, form["budget"], (*path, "budget"))
        return self.model(Stage, whole, path)

    def setup(self, value: Any, path: Path) -> SetupStep | None:
        form = self.mapping(value, path)
        if ("launch" in form) == ("keys" in form):
            self.problem(
                path, f"a set-up step with {sorted(form)}", "write either `launch: …, window: …` or `keys: […]`"
            )
            return None
        return self.model(Launch, form, path) if "launch" in form else self.model(Keys, form, path)

    def criterion(self, value: Any, path: Path) -> Criterion | None:
        form = self.mapping(value, path)
        reads = self.mapping(form.get("reads", {}), (*path, "reads"))
        compares = self.mapping(form.get("compares", {}), (*path, "compares"))
        whole = dict(form)
        whole["reads"] = self.model(GetterCall, _with_arguments(reads, frozenset({"getter", "path"})), (*path, "reads"))
        whole["compares"] = self.model(
            MetricCall, _with_arguments(self.quantity(compares, (*path, "compares")), _METRIC_KEYS), (*path, "compares")
        )
        return self.model(Criterion, whole, path)

    def quantity(self, compares: dict[str, Any], path: Path) -> dict[str, Any]:
        """Split ``tolerance: 0.1 eV`` into number and unit."""
        tolerance = compares.get("tolerance")
        if tolerance is None:
            return compares
        found = _QUANTITY.match(str(tolerance)) if not isinstance(tolerance, bool) else None
        if found is None:
            self.problem((*path, "tolerance"), f"tolerance is {tolerance!r}", "write a number and its unit: `0.1 eV`")
            return {key: item for key, item in compares.items() if key != "tolerance"}
        if "unit" in compares:
            fix = "write the unit behind the tolerance (`tolerance: 0.1 eV`) and leave `unit` out"
            self.problem((*path, "unit"), f"unit is {compares['unit']!r} beside a tolerance", fix)
        return {**compares, "tolerance": float(found.group(1)), "unit": found.group(2).strip() or None}

    # -- the reader's small tools ------------------------------------------------------------------------------------

    def problem(self, path: Path, value: str, fix: str) -> None:
        self.problems.append(FormProblem(path, value, fix))

    def mapping(self, value: Any, path: Path) -> dict[str, Any]:
        if isinstance(value, dict):
            wrong = [key for key in value if not isinstance(key, str)]
            for key in wrong:
                self.problem(path, f"key {key!r}", "put the key in quotes")
            return {key: item for key, item in value.items() if isinstance(key, str)}
        self.problem(path, f"{_dotted(path)} is {shown(value)}", "write a mapping of `name: value` lines")
        return {}

    def pairs(self, form: Mapping[str, Any], key: str, path: Path) -> list[tuple[str, Any]]:
        return list(self.mapping(form[key], (*path, key)).items()) if key in form else []

    def items(self, form: Mapping[str, Any], key: str, path: Path) -> list[tuple[Any, Path]]:
        value = form.get(key, [])
        if not isinstance(value, list):
            self.problem((*path, key), f"{key} is {shown(value)}", "write a list, each item behind a dash")
            return []
        return [(item, (*path, key, index)) for index, item in enumerate(value)]

    def only(self, form: Mapping[str, Any], allowed: Iterable[str], path: Path) -> None:
        known = tuple(allowed)
        for key in form:
            if key not in known:
                self.problem((*path, key), f"unknown field {key!r}", f"use one of {', '.join(known)}")

    def model(self, kind: type[_ModelT], value: Any, path: Path) -> _ModelT | None:
        """Validate one part; what its own parts already complained about is not said again."""
        known = list(self.problems)
        try:
            return kind.model_validate(value)
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                at = (*path, *(part for part in detail["loc"] if isinstance(part, str | int)))
                around = at[: len(path) + 1]
                if len(around) > len(path) and any(old.path[: len(around)] == around for old in known):
                    continue
                got = "missing" if detail["type"] == "missing" else shown(detail["input"])
                self.problem(at, f"{_dotted(at)} is {got}", detail["msg"].removeprefix("Value error, "))
            return None


def _with_arguments(form: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Take every key that the call does not know as an argument of the getter or metric."""
    arguments = {key: item for key, item in form.items() if key not in known}
    whole = {key: item for key, item in form.items() if key in known}
    return {**whole, "arguments": arguments} if arguments else whole


def _dotted(path: Path) -> str:
    return ".".join(str(part) for part in path) or "the document"
