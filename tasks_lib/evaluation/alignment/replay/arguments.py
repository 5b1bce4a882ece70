"""Whether the arguments of a call fit the schema of its tool."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

import re2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from tasks_lib.evaluation.alignment.strict import Tool
from tasks_lib.models.dialects.calls import read_call
from tasks_lib.models.dialects.reply import one_line
from tasks_lib.records import Json

# Old drafts lack the keyword; it says the same there.
_UNEVALUATED = Draft202012Validator.VALIDATORS["unevaluatedProperties"]
# Keywords that name properties; a schema with none of them says nothing of names.
_NAMING = frozenset({"properties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf", "if"})
_TOLD = 3
_LONGEST = 200


class ArgumentChecker:
    """Validates arguments against JSON Schemas, one validator a tool.

    The top level is closed: a name that the schema does not know is a problem, also where the schema says nothing of
    further names, since some servers drop them in silence and others refuse them. References are followed within the
    schema alone, nothing is fetched; patterns are matched in linear time.
    """

    def __init__(self) -> None:
        self._validators: dict[str, Validator | str] = {}

    def problems(self, tool: Tool, arguments: Json) -> tuple[str, ...]:
        """Say what is wrong with arguments.

        Parameters
        ----------
        tool : Tool
            Of the snapshot.
        arguments
            As the call has them: an object, a text that holds one, or null for none.

        Returns
        -------
        tuple of str
            The first few problems in the order of their places; empty where there is none, or where the schema itself
            is unusable (see `unusable`).
        """
        if isinstance(arguments, str):
            read = read_call(None, tool.name, arguments, 0)
            if read.arguments is None:
                return (one_line(read.problem, _LONGEST),)
            arguments = read.arguments
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, Mapping):
            return (f"the arguments are a JSON {type(arguments).__name__}, not an object",)
        found = self._validator(tool)
        if isinstance(found, str):
            return ()
        try:
            errors = sorted(found.iter_errors(arguments), key=lambda one: [*map(str, one.absolute_path)])
        except RecursionError:
            return ("the arguments are nested too deeply",)
        except Unresolvable as error:
            self._validators[tool.name] = f"a reference leads nowhere: {one_line(str(error), _LONGEST)}"
            return ()
        return tuple(itertools.islice(dict.fromkeys(map(_told, errors)), _TOLD))

    def unusable(self) -> Iterator[str]:
        """Give the tools met so far whose schema is none, with the reason; their arguments were not checked."""
        for name, found in sorted(self._validators.items()):
            if isinstance(found, str):
                yield f"{name}: its arguments are not checked, the schema is unusable: {found}"

    def _validator(self, tool: Tool) -> Validator | str:
        if tool.name not in self._validators:
            self._validators[tool.name] = _made(tool.input_schema)
        return self._validators[tool.name]


def _made(schema: Mapping[str, Any]) -> Validator | str:
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(dict(schema))
    except (SchemaError, RecursionError) as error:
        return one_line(str(error).splitlines()[0], _LONGEST)
    # What properties, $ref and the like name is evaluated, and everything where additionalProperties is given.
    closed = {**schema, "unevaluatedProperties": False} if _NAMING & schema.keys() else schema
    make: Any = extend
    bounded = make(kind, {"pattern": _pattern, "uniqueItems": _unique, "unevaluatedProperties": _UNEVALUATED})
    # An empty registry: the default one would fetch remote references.
    validator: Validator = bounded(closed, registry=Registry())
    return validator


def _pattern(_: Validator, pattern: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
    if not isinstance(instance, str):
        return
    try:
        found = re2.search(pattern, instance)
    except re2.error:
        return  # look-ahead and the like: what cannot be matched in linear time is not checked
    if not found:
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _unique(_: Validator, wanted: Any, instance: Any, __: Any) -> Iterator[ValidationError]:
    # The library compares all pairs of what cannot be sorted.
    if wanted and isinstance(instance, list) and len(set(map(_text, instance))) < len(instance):
        yield ValidationError(f"{instance!r} has non-unique elements")


def _text(value: Json) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True)


def _told(error: ValidationError) -> str:
    place = "/".join(map(str, error.absolute_path))
    message = error.message
    if len(message) > _LONGEST:
        # The value stands at the beginning and the rule at the end.
        message = f"{message[: _LONGEST // 2]} … {message[-_LONGEST // 2 :]}"
    return one_line(f"{place}: {message}" if place else message, 2 * _LONGEST)
