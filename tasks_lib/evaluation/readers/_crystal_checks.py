"""What no crystal has: the checks that every structure meets, whatever file it comes from."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from pymatgen.core.structure import Structure

from tasks_lib.evaluation._registry import Unreadable

SHORTEST_EDGE = 0.5
"""A shorter cell edge is no crystal, Å."""
SMALLEST_ATOM = 0.5
"""A cell with less volume an atom is no crystal, Å^3; the densest solid hydrogen has about 2."""
MOST_SITES = 5000
"""A larger structure is not read, sites."""
_UNSAID = ("?", ".", "")
"""What a CIF writes where it says no value."""


def check_edges(edges: list[float]) -> None:
    """Refuse cell edges (a, b, c in Å) that are shorter than in any crystal, or no numbers."""
    for name, edge in zip("abc", edges, strict=False):
        if not edge >= SHORTEST_EDGE:  # also NaN
            msg = f"cell edge {name} is {edge:.3g} Å, shorter than the {SHORTEST_EDGE:g} Å of any crystal"
            raise Unreadable(msg)


def check_angles(angles: list[float]) -> None:
    """Refuse cell angles (alpha, beta, gamma in degrees) that span no cell, or are no numbers."""
    for name, angle in zip(("alpha", "beta", "gamma"), angles, strict=True):
        if not 0 < angle < 180:  # also NaN
            msg = f"cell angle {name} is {angle:.6g}°, it must lie between 0° and 180°"
            raise Unreadable(msg)


def check_cell(structure: Structure) -> None:
    """Refuse what no crystal has: edges or a volume of nearly nothing, and numbers that are not finite."""
    for number, place in enumerate(structure.frac_coords.tolist(), start=1):
        if not all(math.isfinite(value) for value in place):
            msg = f"atom {number} has the coordinates {', '.join(f'{value:g}' for value in place)}, which are no place"
            raise Unreadable(msg)
    check_edges([float(edge) for edge in structure.lattice.abc])
    an_atom = float(structure.volume) / max(1.0, float(structure.composition.num_atoms))
    if not SMALLEST_ATOM <= an_atom < math.inf:  # also NaN
        msg = f"the cell has {an_atom:.3g} Å^3 an atom, it is flat: less than the {SMALLEST_ATOM:g} Å^3 of any crystal"
        raise Unreadable(msg)


def to_float(text: str) -> float:
    """Return the number that a text is, or NaN."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def check_occupancies(values: list[str] | str) -> None:
    """Refuse occupancies of a CIF outside 0 to 1; 0.1 % takes the rounding of shares such as three thirds."""
    for text in [values] if isinstance(values, str) else values:
        if str(text).strip() in _UNSAID:
            continue
        value = to_float(str(text).split("(")[0])
        if not 0 <= value <= 1.0 + 1e-3:  # also NaN
            msg = f"a site has the occupancy {str(text)[:20]}, outside 0 to 1"
            raise Unreadable(msg)


def check_places(block: Mapping[str, Any]) -> None:
    """Refuse coordinates that are no finite numbers: pymatgen would take some of them for 0 or lose the atom."""
    for axis in "xyz":
        values = block.get(f"_atom_site_fract_{axis}", [])
        for number, text in enumerate([values] if isinstance(values, str) else values, start=1):
            if not math.isfinite(to_float(str(text).split("(")[0])):
                msg = (
                    f"site {number} of the CIF has the {axis} coordinate {str(text)[:20]!r}, which is no finite number"
                )
                raise Unreadable(msg)


def first_line(error: BaseException) -> str:
    """Return the kind and the first line of an error, without addresses, so that verdicts stay the same bytes."""
    line = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {re.sub(r'0x[0-9a-f]+', '0x…', line)[:200]}"
