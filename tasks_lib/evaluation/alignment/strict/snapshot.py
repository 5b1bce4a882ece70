"""Which tools there were and what they took: a frozen ``tools/list``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from tasks_lib.records import Document, Json, Record, load_json
from tasks_lib.records.errors import ConfigurationError


class Tool(Record):
    """One tool; `name` is qualified by its server: ``wiki/summary``."""

    name: str = Field(min_length=1)
    description: str = ""
    input_schema: dict[str, Any] = Field(default_factory=dict, description="JSON Schema of the arguments")


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


def read_snapshot(path: Path) -> ToolSnapshot:
    """Read a snapshot.

    Parameters
    ----------
    path : Path
        JSON: the answer to ``tools/list`` (``{"tools": […]}`` or the list), with qualified names; or an object of such
        answers by server, whose names are then qualified here. Schemas stand in ``inputSchema`` or ``input_schema``.

    Returns
    -------
    ToolSnapshot
        The tools, sorted by name.

    Raises
    ------
    ConfigurationError
        If the file is no such answer, or a name comes twice.
    OSError
        If the file cannot be read.
    """
    try:
        root = load_json(path.read_bytes())
        tools = sorted(_tools(root), key=lambda tool: tool.name)
        return ToolSnapshot(source=path.name, tools=tuple(tools))
    except ValueError as error:
        msg = f"{path}: a snapshot of tools is an answer to tools/list: {error}"
        raise ConfigurationError(msg) from error


def _tools(root: Json) -> Iterator[Tool]:
    if isinstance(root, dict) and not isinstance(root.get("tools"), list):
        for server, answer in root.items():
            yield from (_tool(item, f"{server}/") for item in _listed(answer))
    else:
        yield from (_tool(item, "") for item in _listed(root))


def _listed(answer: Json) -> list[Json]:
    found = answer.get("tools") if isinstance(answer, dict) else answer
    if not isinstance(found, list):
        msg = f"a list of tools is wanted, got {type(found).__name__}"
        raise ValueError(msg)
    return found


def _tool(item: Json, server: str) -> Tool:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        msg = f"a tool is an object with a name, got {str(item)[:80]!r}"
        raise ValueError(msg)
    schema = item.get("inputSchema", item.get("input_schema"))
    return Tool(
        name=server + item["name"].removeprefix(server),
        description=item.get("description") or "",
        input_schema={} if schema is None else schema,
    )
