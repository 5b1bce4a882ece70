"""The filter language of OQMD's ``/formationenergy``: parsed with a bounded grammar, evaluated in three-valued logic.

Comparisons are ``name`` ``operator`` ``value``; they are joined by ``AND``, ``OR``, ``NOT`` (or ``&``, ``|``, ``~``)
and parentheses. ``element_set`` has a small language of its own: ``,`` is and, ``-`` is or, ``~`` is not.
A missing value makes a comparison neither true nor false, as in SQL: the entry is not found by it, nor by its negation.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from lark import Lark, Transformer
from lark.exceptions import LarkError, UnexpectedInput, VisitError

NUMBERS = ("ntypes", "natoms", "volume", "delta_e", "stability", "band_gap")
TEXTS = ("element", "spacegroup", "prototype", "generic")
LONGEST_FILTER = 8_000
DEEPEST_FILTER = 50
MOST_COMPARISONS = 500

_GRAMMAR = r"""
?start: either
?either: both (("OR" | "|") both)*          -> any_of
?both: one (("AND" | "&") one)*             -> all_of
?one: ("NOT" | "~") one                     -> negate
    | "(" either ")"
    | NUMBER_NAME OPERATOR NUMBER           -> number
    | TEXT_NAME EQUALITY (QUOTED | WORD)    -> text
    | "element_set" "=" set_either          -> element_set

?set_either: set_both ("-" set_both)*       -> any_of
?set_both: set_one ("," set_one)*           -> all_of
?set_one: "~" set_one                       -> negate
    | "(" set_either ")"
    | ELEMENT                               -> element

NUMBER_NAME.2: /(ntypes|natoms|volume|delta_e|stability|band_gap)(?![A-Za-z0-9_])/
TEXT_NAME.2: /(element|spacegroup|prototype|generic)(?![A-Za-z0-9_])/
EQUALITY: "!=" | "="
OPERATOR: "<=" | ">=" | "!=" | "=" | "<" | ">"
NUMBER: /[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,3})?/
ELEMENT: /[A-Z][a-z]?/
QUOTED: /"[^"]{0,80}"|'[^']{0,80}'/
WORD: /[A-Za-z0-9][A-Za-z0-9_\/:.+-]{0,79}/
%ignore /[ \t]+/
"""

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Row = Mapping[str, Any]
Truth = bool | None


class OqmdFilterError(ValueError):
    """A filter that cannot be read; the message says where and what is possible."""


@dataclass(frozen=True)
class Filter:
    """A parsed filter.

    Attributes
    ----------
    holds : callable
        Row to true, false or, where a missing value decides, None.
    depth : int
        Levels of nesting.
    comparisons : int
        Count of comparisons in it.
    """

    holds: Callable[[Row], Truth]
    depth: int = 1
    comparisons: int = 1

    def matches(self, row: Row) -> bool:
        """Whether the filter is true of a row; rows carry the fields of the reply and ``elements``."""
        return self.holds(row) is True


def parse(text: str) -> Filter:
    """Read a filter.

    Parameters
    ----------
    text : str
        As it stands in the URL, decoded.

    Returns
    -------
    Filter
        Ready to be asked about rows.

    Raises
    ------
    OqmdFilterError
        If the text is no filter, is longer than 8 000 characters, nests deeper than 50 levels or has more than 500
        comparisons.
    """
    if len(text) > LONGEST_FILTER:
        msg = f"a filter has at most {LONGEST_FILTER} characters, got {len(text)}: split the query"
        raise OqmdFilterError(msg)
    try:
        found = _parser().parse(text)
    except VisitError as error:
        raise OqmdFilterError(str(error.orig_exc)) from error
    except UnexpectedInput as error:
        column = max(getattr(error, "column", 0) or 0, 0)
        msg = (
            f"cannot read the filter at character {column} ({text[max(column - 1, 0) :][:20]!r}): write comparisons of "
            f"{', '.join((*TEXTS, *NUMBERS, 'element_set'))} joined by AND, OR, NOT and parentheses"
        )
        raise OqmdFilterError(msg) from error
    except LarkError as error:
        msg = f"cannot read the filter: {str(error)[:200]}"
        raise OqmdFilterError(msg) from error
    if not isinstance(found, Filter):
        msg = "the filter is empty: leave it away or write a comparison"
        raise OqmdFilterError(msg)
    return found


class _Build(Transformer[Any, Filter]):
    """Builds while the parser reduces, so that no recursion over the tree is needed and limits hold early."""

    def number(self, items: list[Any]) -> Filter:
        name, sign, wanted = str(items[0]), str(items[1]), float(items[2])
        if name == "stability" and sign == "=" and wanted == 0:
            sign = "<="  # the real service reads it so: all stable phases
        compare = _OPERATORS[sign]

        def holds(row: Row) -> Truth:
            value = row.get(name)
            return None if value is None else compare(value, wanted)

        return Filter(holds)

    def text(self, items: list[Any]) -> Filter:
        name, sign, wanted = str(items[0]), str(items[1]), str(items[2]).strip("\"'")
        if name == "element":
            return _negated(_has(wanted)) if sign == "!=" else _has(wanted)
        compare = _OPERATORS[sign]
        fields = {"generic": ("composition_generic",), "prototype": ("prototype", "strukturbericht")}.get(name, (name,))

        def holds(row: Row) -> Truth:
            values = [row[field] for field in fields if row.get(field) is not None]
            if not values:
                return None
            return all(compare(v, wanted) for v in values) if sign == "!=" else any(v == wanted for v in values)

        return Filter(holds)

    def element(self, items: list[Any]) -> Filter:
        return _has(str(items[0]))

    def element_set(self, items: list[Filter]) -> Filter:
        return items[0]

    def negate(self, items: list[Filter]) -> Filter:
        return _bounded(_negated(items[0]), [items[0]])

    def all_of(self, items: list[Filter]) -> Filter:
        if len(items) == 1:
            return items[0]
        parts = tuple(item.holds for item in items)

        def holds(row: Row) -> Truth:
            truths = [part(row) for part in parts]
            return False if False in truths else None if None in truths else True

        return _bounded(Filter(holds), items)

    def any_of(self, items: list[Filter]) -> Filter:
        if len(items) == 1:
            return items[0]
        parts = tuple(item.holds for item in items)

        def holds(row: Row) -> Truth:
            truths = [part(row) for part in parts]
            return True if True in truths else None if None in truths else False

        return _bounded(Filter(holds), items)


def _has(symbol: str) -> Filter:
    return Filter(lambda row: symbol in row["elements"])


def _negated(inner: Filter) -> Filter:
    def holds(row: Row) -> Truth:
        truth = inner.holds(row)
        return None if truth is None else not truth

    return Filter(holds, inner.depth, inner.comparisons)


def _bounded(made: Filter, parts: list[Filter]) -> Filter:
    depth = 1 + max(part.depth for part in parts)
    comparisons = sum(part.comparisons for part in parts)
    if depth > DEEPEST_FILTER:
        msg = f"a filter nests at most {DEEPEST_FILTER} levels deep: flatten it"
        raise OqmdFilterError(msg)
    if comparisons > MOST_COMPARISONS:
        msg = f"a filter has at most {MOST_COMPARISONS} comparisons: split the query"
        raise OqmdFilterError(msg)
    return Filter(made.holds, depth, comparisons)


@cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", transformer=_Build(), maybe_placeholders=False)


__all__ = ["DEEPEST_FILTER", "LONGEST_FILTER", "MOST_COMPARISONS", "Filter", "OqmdFilterError", "parse"]
