"""The query parameters of the Materials Project's routes: read, checked, and turned into conditions on documents."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks_lib.databases.identifiers import mp_number
from tasks_lib.databases.servers._mp_documents import HAS_PROPS, Doc

Condition = Callable[[Doc], bool]
Reader = Callable[[str, str], Condition]

DEFAULT_LIMIT = 100
LARGEST_LIMIT = 1_000
LONGEST_LIST = 2_000
MOST_SORT_FIELDS = 10
LARGEST_SKIP = 10**9
_PAGING = ("_limit", "_skip", "_page", "_per_page", "_sort_fields", "_fields", "_all_fields")
_SYMBOL = re.compile(r"[A-Z][a-z]?")
_CRYSTAL_SYSTEMS = ("Triclinic", "Monoclinic", "Orthorhombic", "Tetragonal", "Trigonal", "Hexagonal", "Cubic")
_ORDERINGS = ("FM", "AFM", "FiM", "NM", "Unknown")
_DUMMIES = "AEGJLMQRXZ"
_MODULI = {
    f"{letter}_{mean}": (kind, mean)
    for letter, kind in (("k", "bulk_modulus"), ("g", "shear_modulus"))
    for mean in ("voigt", "reuss", "vrh")
}


class BadRequestError(Exception):
    """A query that the real service answers with 400: the message is its ``detail``."""


class UnprocessableError(Exception):
    """A parameter of the wrong type: 422, with the place in ``loc``.

    Parameters
    ----------
    name, message : str
        The parameter and what it should be.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.detail = [{"type": "value_error", "loc": ["query", name], "msg": message}]


@dataclass(frozen=True)
class Query:
    """A whole query.

    Attributes
    ----------
    conditions : tuple
        All must hold.
    fields : tuple of str or None
        Fields to return, with dots for nested ones; None for all.
    sort : tuple
        (field, descending) pairs.
    skip, limit : int
        The page.
    ids : tuple of int
        Ids in the order asked for; the summary answers in that order where no other is wanted.
    """

    conditions: tuple[Condition, ...]
    fields: tuple[str, ...] | None
    sort: tuple[tuple[str, bool], ...]
    skip: int
    limit: int
    ids: tuple[int, ...] = ()


def read(pairs: Iterable[tuple[str, str]], readers: Mapping[str, Reader], default_fields: tuple[str, ...]) -> Query:
    """Read the query of a search.

    Parameters
    ----------
    pairs : iterable of (str, str)
        As they stand in the URL, decoded.
    readers : mapping
        Parameters that the route knows; see `readers_for`.
    default_fields : tuple of str
        Returned where the query names none.

    Raises
    ------
    BadRequestError
        If a parameter is unknown, a page too large, a formula unreadable.
    UnprocessableError
        If a number, truth value or choice is none.
    """
    asked = dict(pairs)
    unknown = [name for name in asked if name not in readers and name not in _PAGING]
    if {"limit", "skip"} & set(unknown):
        msg = "'limit' and 'skip' parameters have been renamed: use '_limit' and '_skip'"
        raise BadRequestError(msg)
    if unknown:
        msg = (
            f"Request contains query parameters which cannot be used: {', '.join(unknown)[:500]}. "
            f"Usable are: {', '.join(sorted(readers))}"
        )
        raise BadRequestError(msg)
    conditions = tuple(readers[name](name, value) for name, value in asked.items() if name in readers and value)
    skip, limit = _page(asked)
    fields: tuple[str, ...] | None = default_fields
    if asked.get("_fields"):
        fields = tuple(field.strip() for field in asked["_fields"].split(","))
    elif _truth("_all_fields", asked.get("_all_fields") or "false"):
        fields = None
    sort = tuple(
        (field.strip().removeprefix("-"), field.strip().startswith("-"))
        for field in (asked.get("_sort_fields") or "").split(",")
        if field.strip()
    )
    if len(sort) > MOST_SORT_FIELDS:
        msg = f"'_sort_fields' has at most {MOST_SORT_FIELDS} fields, got {len(sort)}"
        raise BadRequestError(msg)
    ids = tuple(_ids("material_ids", asked["material_ids"])) if asked.get("material_ids") else ()
    return Query(conditions, fields, sort, skip, limit, ids)


def answer(query: Query, docs: Sequence[Doc], *, keep_order_of_ids: bool) -> tuple[list[Doc], int]:
    """Return the page of a query and the count of all documents that fit it."""
    found = [doc for doc in docs if all(holds(doc) for holds in query.conditions)]
    if query.sort:
        for field, descending in reversed(query.sort):
            found.sort(key=lambda doc, field=field: _sort_key(_inside(doc, field)), reverse=descending)  # type: ignore[misc]
    elif query.ids and keep_order_of_ids:
        position = {number: index for index, number in reversed(list(enumerate(query.ids)))}
        found.sort(key=lambda doc: position.get(mp_number(doc["material_id"]), len(position)))
    page = found[query.skip : query.skip + query.limit]
    return [project(doc, query.fields) for doc in page], len(found)


def project(doc: Doc, fields: tuple[str, ...] | None) -> Doc:
    """Return the chosen fields of a document; a dotted name keeps its nesting, an unknown one is left out."""
    if fields is None:
        return doc
    chosen: Doc = {}
    for field in fields:
        into, source = chosen, doc
        *parents, last = field.split(".")[:8]
        for parent in parents:
            inner = source.get(parent)
            if not isinstance(inner, dict):
                break
            source, into = inner, into.setdefault(parent, {})
        else:
            if last in source and isinstance(into, dict):
                into[last] = source[last]
    return chosen


def readers_for(names: Iterable[str], numeric: Iterable[str]) -> dict[str, Reader]:
    """Return the parameters of a route: the named ones, and minima and maxima of numeric fields.

    Parameters
    ----------
    names : iterable of str
        Keys of the table of special parameters.
    numeric : iterable of str
        Fields with ``_min`` and ``_max``, and equality for plain ones.
    """
    made = {name: _SPECIAL[name] for name in names}
    for field in numeric:
        path = ".".join(_MODULI.get(field, (_ALIASES.get(field, field),)))
        made[f"{field}_min"] = _bound(path, lambda value, limit: value >= limit)
        made[f"{field}_max"] = _bound(path, lambda value, limit: value <= limit)
        made[field] = _bound(path, lambda value, limit: value == limit)
        made[f"{field}_not_eq"] = _bound(path, lambda value, limit: value != limit)
    return made


# Names of the elasticity route for fields of its documents.
_ALIASES = {"elastic_anisotropy": "universal_anisotropy", "poisson": "homogeneous_poisson"}


def _page(asked: Mapping[str, str]) -> tuple[int, int]:
    limit = _whole("_limit", asked.get("_limit") or str(DEFAULT_LIMIT))
    per_page = _whole("_per_page", asked.get("_per_page") or str(DEFAULT_LIMIT))
    skip = _whole("_skip", asked.get("_skip") or "0")
    if limit > LARGEST_LIMIT or per_page > LARGEST_LIMIT:
        msg = f"Requested more data per query than allowed by this endpoint. The max limit is {LARGEST_LIMIT} entries"
        raise BadRequestError(msg)
    if not asked.get("_page"):
        return skip, limit
    page = _whole("_page", asked["_page"])
    if skip or page < 1:
        msg = "Use '_page', counted from 1, or '_skip', not both"
        raise BadRequestError(msg)
    return min((page - 1) * per_page, LARGEST_SKIP), per_page


def _bound(path: str, compare: Callable[[float, float], bool]) -> Reader:
    def read_bound(name: str, text: str) -> Condition:
        limit = _float(name, text)

        def holds(doc: Doc) -> bool:
            value = _inside(doc, path)
            return isinstance(value, int | float) and compare(value, limit)

        return holds

    return read_bound


def _inside(doc: Any, path: str) -> Any:
    for part in path.split(".")[:8]:
        doc = doc.get(part) if isinstance(doc, dict) else None
    return doc


def _sort_key(value: Any) -> tuple[int, Any]:
    """Order as the real database does: missing values first, then numbers, texts and truth values."""
    if value is None:
        return (0, 0)
    if isinstance(value, bool):
        return (4, value)
    if isinstance(value, int | float):
        return (1, value)
    return (2, value) if isinstance(value, str) else (3, str(value))


def _float(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise UnprocessableError(name, f"Input should be a valid number, got {text[:40]!r}") from None
    if not math.isfinite(value):
        raise UnprocessableError(name, f"Input should be a finite number, got {text[:40]!r}")
    return value


def _whole(name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise UnprocessableError(
            name, f"Input should be a whole number from 0 to {LARGEST_SKIP - 1}, got {text[:40]!r}"
        )
    return int(text)


def _truth(name: str, text: str) -> bool:
    if text.lower() in ("true", "1", "yes", "on", "t", "y"):
        return True
    if text.lower() in ("false", "0", "no", "off", "f", "n"):
        return False
    raise UnprocessableError(name, f"Input should be a valid boolean, got {text[:40]!r}")


def _list(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > LONGEST_LIST:
        msg = f"a list has at most {LONGEST_LIST} values, got {len(parts)}: ask in parts"
        raise BadRequestError(msg)
    return parts


def _ids(name: str, text: str) -> list[int]:
    # An id of another kind fits no document, as in the real database; it is no error.
    return [mp_number(one) if re.fullmatch(r"mp-(\d{1,15}|[a-z]{1,15})", one) else -1 for one in _list(text)]


def _material_ids(name: str, text: str) -> Condition:
    wanted = frozenset(_ids(name, text))
    return lambda doc: mp_number(doc["material_id"]) in wanted


def _elements_in(name: str, text: str) -> Condition:
    symbols = _symbols(text)
    return lambda doc: symbols.issubset(doc["elements"])


def _elements_out(name: str, text: str) -> Condition:
    symbols = _symbols(text)
    return lambda doc: symbols.isdisjoint(doc["elements"])


def _symbols(text: str) -> frozenset[str]:
    from pymatgen.core.periodic_table import Element

    symbols = _list(text)
    if not all(_SYMBOL.fullmatch(symbol) and Element.is_valid_symbol(symbol) for symbol in symbols):
        msg = f"Please provide a comma-separated list of elements, got {text[:80]!r}"
        raise BadRequestError(msg)
    return frozenset(symbols)


def _chemsys(name: str, text: str) -> Condition:
    systems = _list(text)
    if "*" not in text:
        wanted = frozenset("-".join(sorted(system.split("-"))) for system in systems)
        return lambda doc: doc["chemsys"] in wanted
    if len(systems) > 1:
        msg = "Wild cards only supported for single chemsys queries."
        raise BadRequestError(msg)
    parts = systems[0].split("-")
    named = frozenset(part for part in parts if part != "*")
    return lambda doc: doc["nelements"] == len(parts) and named.issubset(doc["elements"])


def _formula(name: str, text: str) -> Condition:
    formulas = _list(text)
    if "*" in text:
        if len(formulas) > 1:
            msg = "Wild cards only supported for single formula queries."
            raise BadRequestError(msg)
        return _wild_formula(formulas[0])
    compositions = [_composition(formula) for formula in formulas]
    if any(_has_dummy(one) for one in compositions):
        anonymous = frozenset(one.anonymized_formula for one in compositions)
        return lambda doc: doc["formula_anonymous"] in anonymous
    wanted = frozenset(one.reduced_formula for one in compositions)
    return lambda doc: doc["formula_pretty"] in wanted


def _wild_formula(formula: str) -> Condition:
    stars = formula.count("*")
    if stars > len(_DUMMIES):
        msg = f"a formula has at most {len(_DUMMIES)} wild cards, got {stars}"
        raise BadRequestError(msg)
    for dummy in _DUMMIES[:stars]:
        formula = formula.replace("*", dummy, 1)
    composition = _composition(formula).reduced_composition
    anonymous = composition.anonymized_formula
    amounts = {
        element.symbol: amount for element, amount in composition.items() if type(element).__name__ != "DummySpecies"
    }
    return lambda doc: (
        doc["formula_anonymous"] == anonymous
        and all(doc["composition_reduced"].get(symbol) == amount for symbol, amount in amounts.items())
    )


def _composition(formula: str) -> Any:
    from pymatgen.core.composition import Composition

    try:
        return Composition(formula[:200])
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        msg = f"Problem processing one or more provided formulas: {formula[:40]!r}."
        raise BadRequestError(msg) from error


def _has_dummy(composition: Any) -> bool:
    return any(type(element).__name__ == "DummySpecies" for element in composition)


def _choice(path: str, choices: Sequence[str]) -> Reader:
    def read_choice(name: str, text: str) -> Condition:
        by_lower = {choice.lower(): choice for choice in choices}
        if any(one.lower() not in by_lower for one in _list(text)):
            raise UnprocessableError(name, f"Input should be {', '.join(choices)}, got {text[:40]!r}")
        wanted = frozenset(by_lower[one.lower()] for one in _list(text))
        return lambda doc: _inside(doc, path) in wanted

    return read_choice


def _flag(name: str, text: str) -> Condition:
    wanted = _truth(name, text)
    return lambda doc: doc.get(name) is wanted


def _space_group(name: str, text: str) -> Condition:
    wanted = frozenset(_whole(name, one) for one in _list(text))
    return lambda doc: doc["symmetry"]["number"] in wanted


def _space_group_symbol(name: str, text: str) -> Condition:
    wanted = frozenset(_list(text))
    return lambda doc: doc["symmetry"]["symbol"] in wanted


def _has_props(name: str, text: str) -> Condition:
    wanted = _list(text)
    if any(one not in HAS_PROPS for one in wanted):
        raise UnprocessableError(name, f"Input should be of {', '.join(HAS_PROPS)}, got {text[:80]!r}")
    return lambda doc: all(doc["has_props"][one] for one in wanted)


def _one_of(field: str) -> Reader:
    def read_list(name: str, text: str) -> Condition:
        wanted = frozenset(_list(text))
        return lambda doc: doc.get(field) in wanted

    return read_list


def _never(name: str, text: str) -> Condition:
    """Ask for a batch, license or species that no entry of a snapshot carries."""
    return lambda doc: False


def _always(name: str, text: str) -> Condition:
    return lambda doc: True


_SPECIAL: dict[str, Reader] = {
    "material_ids": _material_ids,
    "task_ids": _never,
    "formula": _formula,
    "chemsys": _chemsys,
    "elements": _elements_in,
    "exclude_elements": _elements_out,
    "possible_species": _never,
    "crystal_system": _choice("symmetry.crystal_system", _CRYSTAL_SYSTEMS),
    "spacegroup_number": _space_group,
    "spacegroup_symbol": _space_group_symbol,
    "deprecated": _flag,
    "is_stable": _flag,
    "theoretical": _flag,
    "is_gap_direct": _flag,
    "is_metal": _flag,
    "has_reconstructed": _flag,
    "ordering": _choice("ordering", _ORDERINGS),
    "magnetic_ordering": _choice("magnetic_ordering", _ORDERINGS),
    "has_props": _has_props,
    "thermo_types": _one_of("thermo_type"),
    "thermo_ids": _one_of("thermo_id"),
    "batch_id": _never,
    "batch_id_eq_any": _never,
    "batch_id_not_eq": _always,
    "batch_id_neq_any": _always,
    "license": _never,
}
