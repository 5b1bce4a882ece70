"""Fityk 1.3 files: the saved session (a script of Fityk's own commands) and the exported table of peaks."""

from __future__ import annotations

import re
from typing import Any

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.evaluation.readers._fityk_peaks import shape_of
from tasks_lib.evaluation.readers._fityk_variables import Variables
from tasks_lib.evaluation.readers.text import decode
from tasks_lib.evaluation.units import parse_number
from tasks_lib.records import Json

MOST_POINTS = 2_000_000
"""A session with more is not read, points."""

_POINT = re.compile(r"X\[(\d+)\]=([^,\s]+), Y\[\1\]=([^,\s]+), S\[\1\]=([^,\s]+), A\[\1\]=([01])")
_FUNCTION = re.compile(r"%(\w+)\s*=\s*(\w+)\s*\((.*)\)\s*$")
_MODEL = re.compile(r"@(\d+)\s*[:.]\s*([FZ])\s*=\s*(.*)$")
_VIEW = re.compile(r"plot \[([^:\]]+):([^\]]+)\] \[([^:\]]+):([^\]]+)\]$")
_DEFINE = re.compile(r"#?\s*define\s+(\w+)\(([^)]*)\)")


def read_session(data: bytes) -> dict[str, Json]:
    """Read a session as Fityk saves it (``Session > Save``, or ``info state > 'file.fit'``).

    Returns
    -------
    dict
        ``version``; ``datasets``: list of ``{"title", "x", "y", "sigma", "active"}``; ``variables``: name ->
        ``{"value", "free", "depends", "text"}``; ``functions``: list of ``{"name", "type", "parameters", "free",
        "tied", "bound"}``; ``models``: list of ``{"F": [names], "Z": [names]}``, one a dataset; ``view``: what the
        plot shows, ``[left, right, bottom, top]``, null where the session does not say it; ``commands``: other lines.

    Raises
    ------
    Unreadable
        If the file is no saved session or is truncated.
    """
    text = decode(data)
    version = re.search(r"^# Fityk script\. Fityk version: (\S+?)\.? ", text[:1000], flags=re.MULTILINE)
    if version is None:
        msg = "the file is no saved Fityk session: its first line does not say 'Fityk script. Fityk version'"
        raise Unreadable(msg)
    if "# ------------  models  ------------" not in text or not re.search(r"^set verbosity = ", text[-400:], re.M):
        msg = "the Fityk session is truncated: its models or its last line are missing"
        raise Unreadable(msg)
    session = _Session(version[1])
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            session.take(line.strip())
        except (ValueError, IndexError) as error:
            msg = f"line {number} of the Fityk session cannot be read: {line.strip()[:60]!r}"
            raise Unreadable(msg) from error
    return session.result()


class _Session:
    """The state that the lines of a session build up."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.datasets: list[dict[str, Any]] = []
        self.variables = Variables()
        self.functions: dict[str, tuple[str, list[str]]] = {}
        self.models: dict[int, dict[str, list[str]]] = {}
        self.signatures: dict[str, list[str]] = {}
        self.view: list[Json] | None = None
        self.commands: list[str] = []
        self.points = 0
        self.expected: dict[int, int] = {}
        self.current = 0

    def take(self, line: str) -> None:
        if match := _POINT.match(line):
            self._point(match)
        elif match := _DEFINE.match(line):
            names = [part.split("=")[0].strip() for part in match[2].split(",")]
            self.signatures[match[1]] = [name for name in names if name]
        elif match := _VIEW.match(line):
            self.view = [parse_number(text) for text in match.groups()]
        elif not line or line.startswith(("#", "set ", "reset", "plot ", "X=", "@+")):
            return
        elif match := re.match(r"use @(\d+)$", line):
            self.current = int(match[1])
            if self.current > 1000:
                raise ValueError(line)
        elif match := re.match(r"title = '(.*)'$", line):
            self._dataset()["title"] = match[1]
        elif match := re.match(r"M\s*=\s*(\d+)$", line):
            self.expected[self.current] = int(match[1])
            self._dataset()
        elif match := re.match(r"\$(\w+)\s*=\s*(.*)$", line):
            self.variables.add(match[1], match[2])
        elif match := _FUNCTION.match(line):
            self.functions[match[1]] = (match[2], [part.strip() for part in match[3].split(",")])
        elif match := _MODEL.match(line):
            model = self.models.setdefault(int(match[1]), {"F": [], "Z": []})
            model[match[2]] = re.findall(r"%(\w+)", match[3])
        else:
            self.commands.append(line[:400])

    def _dataset(self) -> dict[str, Any]:
        while len(self.datasets) <= self.current:
            self.datasets.append({"title": "", "x": [], "y": [], "sigma": [], "active": []})
        return self.datasets[self.current]

    def _point(self, match: re.Match[str]) -> None:
        dataset = self._dataset()
        self.points += 1
        if int(match[1]) != len(dataset["x"]) or self.points > MOST_POINTS:
            raise ValueError(match[0])
        for key, text in zip(("x", "y", "sigma"), match.groups()[1:4], strict=True):
            dataset[key].append(parse_number(text))
        dataset["active"].append(match[5] == "1")

    def result(self) -> dict[str, Json]:
        for at, dataset in enumerate(self.datasets):
            wanted = self.expected.get(at, 0)
            if len(dataset["x"]) != wanted:
                msg = f"dataset @{at} of the Fityk session says M={wanted} but has {len(dataset['x'])} points"
                raise Unreadable(msg)
        functions = [self._function(name, *row) for name, row in self.functions.items()]
        _bind(functions)
        known = {function["name"] for function in functions}
        models = [self.models.get(at, {"F": [], "Z": []}) for at in range(len(self.datasets))]
        for model in models:
            for name in (*model["F"], *model["Z"]):
                if name not in known:
                    msg = f"a model of the Fityk session names %{name}, which the session does not define"
                    raise Unreadable(msg)
        return {
            "version": self.version,
            "datasets": self.datasets,
            "variables": self.variables.describe(),
            "functions": functions,
            "models": models,
            "view": self.view,
            "commands": self.commands,
        }

    def _function(self, name: str, kind: str, arguments: list[str]) -> dict[str, Any]:
        names = self.signatures.get(kind, [])
        parameters: dict[str, Json] = {}
        tied: dict[str, str] = {}
        free: list[str] = []
        sources: dict[str, list[str]] = {}
        for at, argument in enumerate(arguments):
            key = names[at] if at < len(names) else str(at)
            parameters[key] = self.variables.evaluate(argument)
            sources[key] = self.variables.roots(argument)
            if self.variables.is_free(argument):
                free.append(key)
            elif (text := self.variables.tie(argument)) is not None:
                tied[key] = text
        return {
            "name": name,
            "type": kind,
            "parameters": parameters,
            "free": free,
            "tied": tied,
            "sources": sources,
            **shape_of(kind, parameters),
        }


def _bind(functions: list[dict[str, Any]]) -> None:
    """Tell each function which of its parameters hang on what another function's parameters hang on.

    Fityk writes ``%_2.hwhm = %_1.hwhm`` as one variable of two functions, and nothing of it looks tied.
    """
    for function in functions:
        elsewhere = {
            root
            for other in functions
            if other is not function
            for roots in other["sources"].values()
            for root in roots
        }
        function["bound"] = [key for key, roots in function["sources"].items() if elsewhere & set(roots)]


def read_peaks(data: bytes) -> list[dict[str, Json]]:
    """Read a table of peaks as Fityk exports it (``Fit > Export peak parameters``, or ``info peaks > 'file'``).

    Returns
    -------
    list of dict
        ``name``, ``type``, ``center``, ``height``, ``area``, ``fwhm`` (null where Fityk writes ``x``) and
        ``parameters``, a row each.

    Raises
    ------
    Unreadable
        If the file is no such table.
    """
    lines = decode(data).split("\n")
    if not lines[0].startswith("# PeakType\tCenter\tHeight\tArea\tFWHM"):
        msg = "the file is no table of peaks of Fityk: its first line is not '# PeakType Center Height Area FWHM …'"
        raise Unreadable(msg)
    rows: list[dict[str, Json]] = []
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        head = re.fullmatch(r"\s*%(\w+)\s+(\w+)\s*", cells[0])
        values = [None if cell.strip() == "x" else parse_number(cell) for cell in cells[1:5]]
        broken = any(value is None and cell.strip() != "x" for value, cell in zip(values, cells[1:5], strict=True))
        if head is None or len(values) != 4 or broken:
            msg = f"line {number} of the table of peaks cannot be read: {line.strip()[:60]!r}"
            raise Unreadable(msg)
        words = re.sub(r"\+/-\s+\S+", "", cells[5] if len(cells) > 5 else "").split()
        rows.append(
            {
                "name": head[1],
                "type": head[2],
                **dict(zip(("center", "height", "area", "fwhm"), values, strict=True)),
                "parameters": [parse_number(word) for word in words],
            }
        )
    return rows
