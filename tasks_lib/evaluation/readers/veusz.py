"""Veusz documents: a script of plain calls, read with `ast` into a tree of settings and never run."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from tasks_lib.evaluation._registry import Unreadable
from tasks_lib.evaluation.readers.text import decode
from tasks_lib.evaluation.units import is_missing, parse_number
from tasks_lib.records import Json, clean_json

LARGEST_DOCUMENT = 16 * 1024 * 1024
"""A larger document is not read, bytes."""


@dataclass
class _Document:
    """Settings, widgets, data and imports, gathered call by call."""

    here: tuple[str, ...] = ()
    settings: dict[str, Json] = field(default_factory=dict)
    widgets: dict[str, str] = field(default_factory=lambda: {"/": "document"})
    datasets: dict[str, dict[str, Json]] = field(default_factory=dict)
    imports: list[dict[str, Json]] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def path(self, name: str) -> str:
        """Return the absolute path of `name` seen from where the document stands."""
        parts = [] if name.startswith("/") else list(self.here)
        for part in name.split("/"):
            if part == "..":
                del parts[-1:]
            elif part not in ("", "."):
                parts.append(part)
        return "/" + "/".join(parts)


def read_veusz(data: bytes) -> dict[str, Json]:
    """Read a Veusz document as Veusz saves it.

    Returns
    -------
    dict
        ``settings`` (absolute path -> value), ``widgets`` (absolute path -> type, in document order), ``datasets``
        (name -> ``{"kind", "values", ...}``), ``imports`` (list of ``{"command", "file", ...}``).

    Raises
    ------
    Unreadable
        If the file is no Veusz document, or does more than call Veusz's commands.
    """
    if len(data) > LARGEST_DOCUMENT:
        msg = f"the document has {len(data)} bytes, more than the {LARGEST_DOCUMENT} that are read"
        raise Unreadable(msg)
    text = decode(data)
    try:
        tree = ast.parse(text)
    except (RecursionError, MemoryError) as error:  # CPython's parser raises the second for too deep a nesting
        msg = "the document is nested too deeply, or has too many commands, to be parsed"
        raise Unreadable(msg) from error
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        msg = (
            f"the file is no Veusz document: line {line} is not a command" if line else "the file is no Veusz document"
        )
        raise Unreadable(msg) from error
    document = _Document()
    for statement in tree.body:
        _run(document, statement)
    if len(document.widgets) == 1:
        msg = "the file is no Veusz document: it adds no page, graph or plot"
        raise Unreadable(msg)
    return {
        "settings": document.settings,
        "widgets": document.widgets,
        "datasets": document.datasets,
        "imports": document.imports,
    }


def _run(document: _Document, statement: ast.stmt) -> None:
    if isinstance(statement, ast.Import | ast.ImportFrom) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    ):
        return
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
        target = statement.targets[0]
        if len(statement.targets) == 1 and isinstance(target, ast.Name) and _name(statement.value) == "Add":
            document.names[target.id] = _call(document, statement.value)
            return
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        _call(document, statement.value)
        return
    msg = (
        f"line {statement.lineno} of the document is no plain command but {type(statement).__name__}: "
        "only a document as Veusz saves it can be read"
    )
    raise Unreadable(msg)


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _literal(document: _Document, node: ast.expr) -> Any:
    if isinstance(node, ast.Name) and node.id in document.names:
        return document.names[node.id]
    if isinstance(node, ast.Call) and _name(node) == "Add":
        return _call(document, node)
    try:
        return clean_json(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        msg = f"line {node.lineno} of the document has an argument that is no plain value"
        raise Unreadable(msg) from error


def _call(document: _Document, call: ast.Call) -> str:
    name = _name(call)
    if not name:
        msg = f"line {call.lineno} of the document calls something that is no command"
        raise Unreadable(msg)
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(k.arg is None for k in call.keywords):
        msg = f"line {call.lineno} of the document unpacks arguments: only a document as Veusz saves it can be read"
        raise Unreadable(msg)
    given = [_literal(document, argument) for argument in call.args]
    named = {str(keyword.arg): _literal(document, keyword.value) for keyword in call.keywords}
    try:
        return _command(document, name, given, named)
    except (IndexError, KeyError, TypeError, AttributeError, ValueError) as error:
        msg = f"line {call.lineno} of the document calls {name} with wrong arguments"
        raise Unreadable(msg) from error


def _command(document: _Document, name: str, given: list[Any], named: dict[str, Any]) -> str:
    if name == "To":
        document.here = tuple(part for part in document.path(given[0]).split("/") if part)
    elif name == "Add":
        return _add(document, str(given[0]), named)
    elif name in ("Set", "SetToReference"):
        document.settings[document.path(given[0])] = given[1] if name == "Set" else {"reference": given[1]}
    elif name == "Remove":
        gone = document.path(given[0])
        for table in (document.settings, document.widgets):
            for path in [p for p in table if p == gone or p.startswith(gone + "/")]:
                del table[path]
    elif name == "Rename":
        old = document.path(given[0])
        new = f"{old.rpartition('/')[0]}/{given[1]}"
        for table in (document.settings, document.widgets):
            renamed = {new + p[len(old) :] if p == old or p.startswith(old + "/") else p: v for p, v in table.items()}
            table.clear()
            table.update(renamed)
    elif name in ("ImportString", "SetData", "SetDataText", "SetDataExpression", "SetDataRange", "SetDataDateTime"):
        _dataset(document, name, given, named)
    elif name.startswith("ImportFile") or name in ("ImportFITSFile", "ImportFilePlugin"):
        file = named.pop("filename", None) or next(item for item in given if isinstance(item, str))
        rest = [item for item in given if item != file]
        document.imports.append({"command": name, "file": file, "arguments": rest, **named})
    return ""


def _add(document: _Document, kind: str, named: dict[str, Any]) -> str:
    parent = document.path("")
    name = named.pop("name", None)
    if not name:
        # Veusz takes the first free number behind the type.
        number = 1
        while f"{parent.rstrip('/')}/{kind}{number}" in document.widgets:
            number += 1
        name = f"{kind}{number}"
    path = document.path(str(name))
    automatic = named.pop("autoadd", True)
    document.widgets[path] = kind
    if kind == "graph" and automatic:
        document.widgets |= {f"{path}/x": "axis", f"{path}/y": "axis"}
        document.settings[f"{path}/y/direction"] = "vertical"
    for key, value in named.items():
        document.settings[f"{path}/{key.replace('__', '/')}"] = value
    return str(name)


def _dataset(document: _Document, command: str, given: list[Any], named: dict[str, Any]) -> None:
    if command != "ImportString":
        kinds = {"SetDataExpression": "expression", "SetDataRange": "range", "SetDataText": "text"}
        values = given[1] if len(given) > 1 else next((v for k, v in named.items() if k in ("val", "expr")), None)
        document.datasets[str(given[0])] = {"kind": kinds.get(command, "values"), "values": values, **named}
        return
    # A descriptor such as "x(numeric),+- y,+,-": a name starts a dataset, the signs are its error columns.
    columns: list[tuple[str, str]] = []
    for word in re.findall(r"\+-|[^\s,]+", str(given[0]).replace(",", " ")):
        if word in ("+-", "+", "-"):
            columns.append((columns[-1][0], word))
        else:
            columns.append((word.partition("(")[0], "values"))
    rows = [line.split() for line in str(given[1]).strip().split("\n") if line.strip()]
    for at, (name, part) in enumerate(columns):
        values = [_number(row[at]) if at < len(row) else None for row in rows]
        entry: dict[str, Json] = dict(document.datasets.get(name, {})) if part != "values" else {}
        entry["kind"] = "values"
        entry["values" if part == "values" else f"error {part}"] = values
        document.datasets[name] = entry


def _number(text: str) -> Json:
    number = parse_number(text)
    return None if number is None and is_missing(text) else (text if number is None else number)
