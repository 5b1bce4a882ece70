"""Conditions on documents: what each parameter of the Materials Project's routes asks of one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tasks_lib.databases.identifiers import mp_number
from tasks_lib.databases.servers._mp_documents import HAS_PROPS, Doc
from tasks_lib.databases.servers._mp_parameters import (
    BadRequestError,
    UnprocessableError,
    read_ids,
    read_list,
    read_number,
    read_truth,
    read_whole,
)

Condition = Callable[[Doc], bool]
Reader = Callable[[str, str], Condition]

_SYMBOL = re.compile(r"[A-Z][a-z]?")
_CRYSTAL_SYSTEMS = ("Triclinic", "Monoclinic", "Orthorhombic", "Tetragonal", "Trigonal", "Hexagonal", "Cubic")
_ORDERINGS = ("FM", "AFM", "FiM", "NM", "Unknown")
_DUMMIES = "AEGJLMQRXZ"
_MODULI = {
    f"{letter}_{mean}": (kind, mean)
    for letter, kind in (("k", "bulk_modulus"), ("g", "shear_modulus"))
    for mean in ("voigt", "reuss", "vrh")
}
# Names of the elasticity route for fields of its documents.
_ALIASES = {"elastic_anisotropy": "universal_anisotropy", "poisson": "homogeneous_poisson"}


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


def inside(doc: Any, path: str) -> Any:
    """Return the value under a dotted path of a document; None where there is none."""
    for part in path.split(".")[:8]:
        doc = doc.get(part) if isinstance(doc, dict) else None
    return doc


def _bound(path: str, compare: Callable[[float, float], bool]) -> Reader:
    def read_bound(name: str, text: str) -> Condition:
        limit = read_number(name, text)

        def holds(doc: Doc) -> bool:
            value = inside(doc, path)
            return isinstance(value, int | float) and compare(value, limit)

        return holds

    return read_bound


def _material_ids(name: str, text: str) -> Condition:
    wanted = frozenset(read_ids(text))
    return lambda doc: mp_number(doc["material_id"]) in wanted


def _elements_in(name: str, text: str) -> Condition:
    symbols = _symbols(text)
    return lambda doc: symbols.issubset(doc["elements"])


def _elements_out(name: str, text: str) -> Condition:
    symbols = _symbols(text)
    return lambda doc: symbols.isdisjoint(doc["elements"])


def _symbols(text: str) -> frozenset[str]:
    from pymatgen.core.periodic_table import Element

    symbols = read_list(text)
    if not all(_SYMBOL.fullmatch(symbol) and Element.is_valid_symbol(symbol) for symbol in symbols):
        msg = f"Please provide a comma-separated list of elements, got {text[:80]!r}"
        raise BadRequestError(msg)
    return frozenset(symbols)


def _chemsys(name: str, text: str) -> Condition:
    systems = read_list(text)
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
    formulas = read_list(text)
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
        if any(one.lower() not in by_lower for one in read_list(text)):
            raise UnprocessableError(name, f"Input should be {', '.join(choices)}, got {text[:40]!r}")
        wanted = frozenset(by_lower[one.lower()] for one in read_list(text))
        return lambda doc: inside(doc, path) in wanted

    return read_choice


def _flag(name: str, text: str) -> Condition:
    wanted = read_truth(name, text)
    return lambda doc: doc.get(name) is wanted


def _space_group(name: str, text: str) -> Condition:
    wanted = frozenset(read_whole(name, one) for one in read_list(text))
    return lambda doc: doc["symmetry"]["number"] in wanted


def _space_group_symbol(name: str, text: str) -> Condition:
    wanted = frozenset(read_list(text))
    return lambda doc: doc["symmetry"]["symbol"] in wanted


def _has_props(name: str, text: str) -> Condition:
    wanted = read_list(text)
    if any(one not in HAS_PROPS for one in wanted):
        raise UnprocessableError(name, f"Input should be of {', '.join(HAS_PROPS)}, got {text[:80]!r}")
    return lambda doc: all(doc["has_props"][one] for one in wanted)


def _one_of(field: str) -> Reader:
    def read_one_of(name: str, text: str) -> Condition:
        wanted = frozenset(read_list(text))
        return lambda doc: doc.get(field) in wanted

    return read_one_of


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
