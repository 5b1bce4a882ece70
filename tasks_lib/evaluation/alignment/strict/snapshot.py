"""Which tools there were, what they took and what they gave back: a frozen ``tools/list``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, model_validator

from tasks_lib.records import Document, Json, Record, dump_json, load_json
from tasks_lib.records.errors import ConfigurationError


class Tool(Record):
    """One tool; `name` is qualified by its server: ``wiki/summary``."""

    name: str = Field(min_length=1)
    description: str = ""
    input_schema: dict[str, Any] = Field(default_factory=dict, description="JSON Schema of the arguments")
    output_schema: dict[str, Any] | None = Field(default=None, description="JSON Schema of the structured result")


class ToolSnapshot(Document):
    """The tools that a run could call."""

    source: str
    tools: tuple[Tool, ...]

    @model_validator(mode="after")
    def _named_once(self) -> ToolSnapshot:
        names = [tool.name for tool in self.tools]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            msg = f"a tool stands once in a snapshot, {', '.join(twice)} comes twice: qualify names by their servers"
            raise ValueError(msg)
        return self

    @cached_property
    def _by_name(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self.tools}

    def tool(self, name: str) -> Tool | None:
        """Return a tool by its qualified name, None where there was no such tool."""
        return self._by_name.get(name)

    @cached_property
    def digest(self) -> str:
        """sha256 of the tools in the order of their names: what was there, not the file that said so."""
        tools = [tool.model_dump(mode="json") for _, tool in sorted(self._by_name.items())]
        return hashlib.sha256(dump_json(tools).encode("utf-8")).hexdigest()


def read_snapshot(path: Path) -> ToolSnapshot:
    """Read a snapshot.

    Parameters
    ----------
    path : Path
        JSON: the answer to ``tools/list`` (``{"tools": […]}``, the list, or the whole JSON-RPC message), with qualified
        names; or an object of such answers by server, whose names are then qualified here. Schemas stand in
        ``inputSchema`` or ``input_schema``, ``outputSchema`` or ``output_schema``.

    Returns
    -------
    ToolSnapshot
        The tools, sorted by name.

    Raises
    ------
    ConfigurationError
        If the file is no such answer or only its first page, or a name comes twice; the message has the place.
    OSError
        If the file cannot be read.
    """
    try:
        root = load_json(path.read_bytes())
        tools = sorted(_tools(root), key=lambda tool: tool.name)
        return ToolSnapshot(source=path.name, tools=tuple(tools))
    except ValueError as error:
        msg = f"{path}: a snapshot of tools is an answer to tools/list: {_what(error)}"
        raise ConfigurationError(msg) from error


def _tools(root: Json) -> Iterator[Tool]:
    if isinstance(root, dict) and "jsonrpc" in root:
        yield from _tools(root.get("result"))
    elif isinstance(root, dict) and not isinstance(root.get("tools"), list):
        for server, answer in root.items():
            yield from _listed(answer, f"[{server!r}]", f"{server}/")
    else:
        yield from _listed(root, "", "")


def _listed(answer: Json, place: str, server: str) -> Iterator[Tool]:
    found = answer
    if isinstance(answer, dict):
        found, place = answer.get("tools"), f"{place}['tools']"
        if answer.get("nextCursor") or answer.get("next_cursor"):
            msg = f"{place}: the answer has a nextCursor, so it is one page of several: list the tools to the end"
            raise ValueError(msg)
    if not isinstance(found, list):
        msg = f"{place or 'root'}: a list of tools is wanted, got {type(found).__name__}"
        raise ValueError(msg)
    for index, item in enumerate(found):
        yield _tool(item, f"{place}[{index}]", server)


def _tool(item: Json, place: str, server: str) -> Tool:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        msg = f"{place}: a tool is an object with a name, got {str(item)[:80]!r}"
        raise ValueError(msg)
    schema = item.get("inputSchema", item.get("input_schema"))
    try:
        return Tool(
            name=item["name"] and server + item["name"].removeprefix(server),
            description=item.get("description") or "",
            input_schema={} if schema is None else schema,
            output_schema=item.get("outputSchema", item.get("output_schema")),
        )
    except ValidationError as error:
        msg = f"{place} ({item['name'][:80]!r}): {_what(error)}"
        raise ValueError(msg) from error


def _what(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(
        f"{'.'.join(map(str, one['loc']))}: {one['msg']}" if one["loc"] else one["msg"].removeprefix("Value error, ")
        for one in error.errors()
    )
