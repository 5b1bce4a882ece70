"""One entry of a snapshot: a crystal, what is known of it, and how each value came to be known."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from tasks_lib.databases.identifiers import FIRST_NUMBER, mp_alpha_id, mp_id
from tasks_lib.databases.vocabulary import PROPERTIES
from tasks_lib.records import Record

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure

Vector = tuple[float, float, float]
Value = (
    StrictBool
    | StrictInt
    | StrictFloat
    | StrictStr
    | tuple[tuple[float, ...], ...]
    | tuple[float, ...]
    | dict[str, float]
)


class Provenance(StrEnum):
    """How a value came to be known."""

    COMPUTED = "computed"
    LITERATURE = "literature"
    MISSING = "missing"


class Property(Record):
    """A value with its unit and its origin; a missing one says so and holds nothing."""

    provenance: Provenance
    value: Value | None = None
    unit: str | None = None
    method: str | None = Field(default=None, description="how it was computed or measured, with the settings")
    version: str | None = Field(default=None, description="version of the program or potential, for computed values")
    source: str | None = Field(default=None, description="where it is published, for values of the literature")

    @model_validator(mode="after")
    def _origin_is_told(self) -> Property:
        said = {
            Provenance.COMPUTED: self.value is not None and bool(self.method) and bool(self.version),
            Provenance.LITERATURE: self.value is not None and bool(self.source),
            Provenance.MISSING: (self.value, self.unit, self.method, self.version, self.source) == (None,) * 5,
        }
        if not said[self.provenance]:
            msg = (
                f"a computed value names method and version, one of the literature its source, a missing one nothing; "
                f"got {self!r}: add what is absent, or mark the value as missing"
            )
            raise ValueError(msg)
        return self


MISSING = Property(provenance=Provenance.MISSING)


class Crystal(Record):
    """An ordered periodic structure: lattice vectors in rows (Å), one element symbol and one position a site."""

    lattice: tuple[Vector, Vector, Vector] = Field(description="rows are the lattice vectors, Å, Cartesian")
    species: tuple[str, ...] = Field(min_length=1, description="element symbol of each site")
    positions: tuple[Vector, ...] = Field(description="fractional coordinates of each site, in [0, 1)")

    @model_validator(mode="after")
    def _one_position_a_site(self) -> Crystal:
        if len(self.species) != len(self.positions):
            msg = f"{len(self.species)} species and {len(self.positions)} positions: give one position for each site"
            raise ValueError(msg)
        return self

    def to_pymatgen(self) -> Structure:
        """Return the structure as pymatgen's object, sites in the stored order."""
        from pymatgen.core.structure import Structure

        return Structure(self.lattice, list(self.species), [list(position) for position in self.positions])


class Entry(Record):
    """A crystal with its properties; every property of the vocabulary is there, the unknown ones as missing."""

    number: int = Field(ge=FIRST_NUMBER, lt=FIRST_NUMBER + 1_000_000, description="the one number behind every id")
    name: str | None = Field(default=None, description="mineral or common name")
    prototype: str | None = Field(default=None, description="AFLOW label of the structure type it was made from")
    strukturbericht: str | None = None
    origin: str = Field(min_length=1, description="where the starting structure came from and what was done to it")
    relaxation: Literal["cell and positions", "volume", "none"] = Field(description="what the builder let move")
    formula: str = Field(description="reduced formula, electronegativity order (pymatgen)")
    anonymous_formula: str = Field(description="e.g. AB2")
    elements: tuple[str, ...] = Field(min_length=1, description="symbols, sorted")
    structure: Crystal
    properties: dict[str, Property]

    @model_validator(mode="after")
    def _fits_the_vocabulary(self) -> Entry:
        if set(self.properties) != set(PROPERTIES):
            odd = sorted(set(self.properties) ^ set(PROPERTIES))
            msg = f"{self.id} carries exactly the properties of the vocabulary, differs in {odd}: give each, or MISSING"
            raise ValueError(msg)
        for name, found in self.properties.items():
            if found.provenance is not Provenance.MISSING and found.unit != PROPERTIES[name].unit:
                msg = f"{self.id}: {name} is in {PROPERTIES[name].unit!r}, got {found.unit!r}: convert the value"
                raise ValueError(msg)
        if set(self.structure.species) != set(self.elements) or tuple(sorted(self.elements)) != self.elements:
            msg = f"{self.id}: elements are those of the structure, sorted, got {self.elements}: write them anew"
            raise ValueError(msg)
        return self

    @property
    def id(self) -> str:
        """The snapshot's own id, e.g. ``matassay-9000001``; also the OPTIMADE id."""
        return f"matassay-{self.number}"

    @property
    def mp_id(self) -> str:
        """The Materials Project spelling with digits, e.g. ``mp-9000001``."""
        return mp_id(self.number)

    @property
    def mp_alpha_id(self) -> str:
        """The Materials Project spelling with letters, as its client sends and shows it, e.g. ``mp-tsbpx``."""
        return mp_alpha_id(self.number)

    @property
    def oqmd_entry_id(self) -> int:
        """OQMD's integer ``entry_id``."""
        return self.number

    @property
    def oqmd_calculation_id(self) -> int:
        """OQMD's integer ``calculation_id``; another range, so that the two cannot be mistaken for one another."""
        return self.number + 10_000_000

    @property
    def chemical_system(self) -> str:
        """Sorted symbols joined by hyphens, e.g. ``Fe-O``."""
        return "-".join(self.elements)

    @property
    def nsites(self) -> int:
        """Count of sites of the stored cell."""
        return len(self.structure.species)

    def value(self, name: str) -> Value | None:
        """Return a property's value, None where it is missing.

        Raises
        ------
        KeyError
            If the vocabulary has no such property.
        """
        return self.properties[name].value
