"""YAML with line numbers, bounded: no anchors, no tags, no repeated keys, YAML 1.2 scalars."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

MAX_BYTES = 64 * 1024
MAX_DEPTH = 12
_MAX_NUMBER_LENGTH = 40

# Where a value stands: the keys and indices that lead to it.
Path = tuple[str | int, ...]


class YamlProblem(Exception):  # noqa: N818  a private signal, turned into a finding by the caller
    """A rule of the reader that the text breaks: line, value and fix."""

    def __init__(self, line: int, value: str, fix: str) -> None:
        super().__init__(f"line {line}: {value}: {fix}")
        self.line = line
        self.value = value
        self.fix = fix


class _CoreLoader(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2's core schema.

    YAML 1.1 reads ``no`` as false, ``1:30`` as 90 and ``1e-3`` as text; an author of tasks means none of these.
    """

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  pyyaml's own idiom


for _tag, _pattern, _first in (
    ("null", r"^(?:~|null|)$", ["~", "n", ""]),
    ("bool", r"^(?:true|false)$", ["t", "f"]),
    ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", list("-+0123456789")),
    ("float", r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$", list("-+.0123456789")),
):
    _CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _first)


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A document's value, and the line on which each part of it begins."""

    value: Any
    lines: dict[Path, int]

    def line(self, path: Path) -> int:
        """Return the line of `path`, or of the closest part around it that stands in the file."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return 1


def read_yaml(data: bytes) -> YamlDocument:
    """Read one YAML document.

    Parameters
    ----------
    data : bytes
        The file's content, UTF-8.

    Returns
    -------
    YamlDocument
        Plain dict, list, str, int, float, bool or None, with lines.

    Raises
    ------
    YamlProblem
        If the text is too large, not UTF-8, not YAML, too deep, or uses anchors, tags or a key twice.
    """
    if len(data) > MAX_BYTES:
        raise YamlProblem(
            1, f"{len(data)} bytes", f"keep the file below {MAX_BYTES} bytes; large data belong in inputs/"
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise YamlProblem(line, f"byte 0x{data[error.start]:02x}", "save the file as UTF-8") from error
    try:
        loader = _CoreLoader(text)
        _refuse_unbounded(text)
        node = loader.get_single_node()
        if node is None:
            raise YamlProblem(1, "an empty file", "write the task's fields, see docs/task-authoring.md")
        lines = dict(_lines(node, ()))
        return YamlDocument(loader.construct_document(node), lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlProblem(mark.line + 1 if mark else 1, str(error.problem or error), "mend the YAML syntax") from error
    except yaml.YAMLError as error:
        raise YamlProblem(1, str(error).splitlines()[0], "mend the YAML syntax") from error


def _refuse_unbounded(text: str) -> None:
    """Walk the event stream, which does not recurse, before anything is built from it."""
    depth = 0
    for event in yaml.parse(text, Loader=_CoreLoader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise YamlProblem(line, "an anchor or alias", "write the value out at each place")
        tag = getattr(event, "tag", None)
        if tag not in (None, "!"):
            raise YamlProblem(line, f"tag {tag}", "leave the tag out; plain text, numbers, lists and mappings do")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise YamlProblem(line, f"{depth} levels", f"nest at most {MAX_DEPTH} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif (
            isinstance(event, yaml.ScalarEvent)
            and event.implicit[0]
            and len(event.value) > _MAX_NUMBER_LENGTH
            and event.value.lstrip("+-").isdigit()
        ):
            # Python refuses to convert very long integers, with an error that names no line.
            raise YamlProblem(line, f"a number of {len(event.value)} digits", "quote it if it is text")


def _lines(node: yaml.Node, path: Path) -> Iterator[tuple[Path, int]]:
    if not path:
        yield path, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise YamlProblem(line, "a key that is a list or mapping", "use plain text as key")
            if key.value in seen:
                raise YamlProblem(line, f"key {key.value!r} stands also in line {seen[key.value]}", "keep one of them")
            seen[key.value] = line
            yield (*path, key.value), line
            yield from _lines(value, (*path, key.value))
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield (*path, index), item.start_mark.line + 1
            yield from _lines(item, (*path, index))
