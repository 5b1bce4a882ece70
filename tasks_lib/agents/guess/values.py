"""A value for a name: what a typical material has under a key such as ``band_gap_ev``."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from tasks_lib.agents.guess.shapes import Shape, how_many
from tasks_lib.agents.guess.textbook import MATERIALS, Material, atoms, formulas, material
from tasks_lib.records import Json

_SYMBOLS = {
    225: "Fm-3m", 227: "Fd-3m", 229: "Im-3m", 221: "Pm-3m", 216: "F-43m", 186: "P6_3mc", 194: "P6_3/mmc",
    136: "P4_2/mnm", 167: "R-3c", 166: "R-3m", 62: "Pnma", 152: "P3_121", 205: "Pa-3",
}  # fmt: skip
_UNITS = {
    "fcc": 4, "bcc": 2, "hcp": 2, "diamond": 8, "zincblende": 4, "rocksalt": 4, "cscl": 1, "wurtzite": 2, "rutile": 2,
    "fluorite": 4, "perovskite": 1, "corundum": 6, "molybdenite": 2, "delafossite": 3, "olivine": 4, "pyrite": 4,
    "spinel": 8,
}  # fmt: skip
_SYSTEMS = ((195, "cubic"), (168, "hexagonal"), (143, "trigonal"), (75, "tetragonal"), (16, "orthorhombic"))
_MASSES = {"O": 16.0, "Si": 28.086, "C": 12.011, "Fe": 55.845, "Ti": 47.867, "Al": 26.982, "N": 14.007}
_ID = re.compile(r"\b(?:mp|mvc|oqmd|matassay)-[0-9]{1,9}\b")
_MOST_LISTS = 3


@dataclass(slots=True)
class Knowledge:
    """What the instruction speaks of, and the draw among typical values.

    Attributes
    ----------
    text : str
        The instruction.
    draw : random.Random
        Decides where no textbook does.
    """

    text: str
    draw: random.Random
    named: list[Material] = field(init=False)
    ids: list[str] = field(init=False)

    def __post_init__(self) -> None:
        """Find the materials that the instruction names, and the ids: its own, then those that everybody knows."""
        self.named = [material(formula) for formula in formulas(self.text)] or [MATERIALS["Si"]]
        known = [f"mp-{entry.mp}" for entry in [*self.named, *MATERIALS.values()]]
        self.ids = list(dict.fromkeys([*_ID.findall(self.text), *known]))

    def subject(self, name: str, number: int = 0) -> Material:
        """Return the material that a key speaks of: the one in its name, else the `number`-th of the instruction."""
        own = formulas(name.replace("_", " "))
        if own:
            return material(own[0])
        if number < len(self.named):
            return self.named[number]
        return list(MATERIALS.values())[number % len(MATERIALS)]


def fill(shape: Shape, know: Knowledge, name: str = "", number: int = 0, lists: int = 0) -> Json:
    """Put typical values where a shape leaves room for them.

    Parameters
    ----------
    shape : Shape
        From the instruction.
    know : Knowledge
        What may be known.
    name : str
        The key under which the value stands.
    number : int
        Place in a list, so that its items differ.
    lists : int
        In how many lists the value stands.
    """
    if isinstance(shape, dict):
        return {key: fill(value, know, key, number, lists) for key, value in shape.items()}
    if isinstance(shape, list):
        if lists >= _MOST_LISTS:
            return []
        least = min(max(len(shape), 3), 20)
        count = least if lists else how_many(know.text, least)
        return [fill(shape[0] if shape else name, know, name, at, lists + 1) for at in range(count)]
    return _placed(shape, know, name, number)


def _placed(word: str, know: Knowledge, name: str, number: int) -> Json:
    folded = word.casefold()
    if re.search(r"\b(?:true|false|bool|boolean|yes)\b", folded):
        return _truth(name, know, number)
    if "symbol" in folded and "group" in name.casefold():
        return _SYMBOLS.get(know.subject(name, number).group, "Fm-3m")
    value = guess(name or word, know, number)
    if re.search(r"\bids?\b", folded) and re.search(r"\bwhole numbers?\b|\bintegers?\b", know.text):
        return _whole(know, number)
    if _ID.search(folded) or re.search(r"\bids?\b|^(?:mp|matassay)-", folded):
        return know.ids[number % len(know.ids)]
    if re.search(r"\b(?:text|string|str|formula|symbol|name)\b", folded) and not isinstance(value, str):
        return know.subject(name, number).formula
    if re.search(r"\b(?:int|integer|whole|count)\b", folded) and not isinstance(value, int):
        return round(value) if isinstance(value, float) else _whole(know, number)
    if re.search(r"\b(?:number|float)\b", folded) and not isinstance(value, int | float):
        return typical(word + " " + name, know.subject(name, number), know.draw)
    return value


def _whole(know: Knowledge, number: int) -> int:
    """Return an id as a whole number, as databases with numbered entries have it."""
    return int(know.ids[number % len(know.ids)].rpartition("-")[2])


def _truth(name: str, know: Knowledge, number: int) -> bool:
    words = _words(name)
    if "metal" in words or "magnetic" in words:
        return know.subject(name, number).gap == 0
    return True


def guess(name: str, know: Knowledge, number: int = 0) -> Json:
    """Return a value for a key: an id, a formula, a symbol, a truth value, else a number."""
    words = _words(name)
    subject = know.subject(name, number)
    if words & {"id", "ids", "identifier", "identifiers"} or ("material" in words and "id" in name):
        return know.ids[number % len(know.ids)]
    if words & {"formula", "formulas", "compound", "composition", "material", "pretty", "phase", "phases"}:
        return subject.formula
    if words & {"elements", "chemsys", "system"} and "crystal" not in words:
        symbols = sorted(atoms(subject.formula))
        return "-".join(symbols) if words & {"chemsys", "system"} else list(symbols)
    if words & {"element", "species", "anion", "cation", "metal"}:
        return next(iter(atoms(subject.formula)), "Si")
    if "crystal" in words:
        return next((system for least, system in _SYSTEMS if subject.group >= least), "monoclinic")
    if "symbol" in words or ("spacegroup" in words and "symbol" in name):
        return _SYMBOLS.get(subject.group, "Fm-3m")
    if words & {"ordering", "magnetic"}:
        return "FM" if "Fe" in subject.formula else "NM"
    if words & {"provider", "database"}:
        return know.draw.choice(("mp", "oqmd", "crystals"))
    if words & {"prototype", "structure"} and "number" not in words:
        return subject.prototype
    if words & {"stable", "is", "has", "direct"}:
        return True
    return typical(name, subject, know.draw)


def typical(name: str, subject: Material, draw: random.Random) -> float | int:
    """Return a number for a key by the words in it; 1.0 or its like where none is known."""
    words = _words(name)
    n_atoms = max(1, sum(atoms(subject.formula).values()))
    mass = sum(_MASSES.get(symbol, 60.0) * count for symbol, count in atoms(subject.formula).items())
    unit_volume = mass / (0.6022 * subject.density)
    table: tuple[tuple[set[str], float | int], ...] = (
        ({"gap", "bandgap", "vbm", "cbm"}, subject.gap),
        ({"hull", "above"}, draw.choice((0.0, 0.0, 0.025))),
        ({"formation", "form", "delta", "enthalpy", "stability"}, subject.formation),
        ({"shear", "g"}, round(subject.bulk * 0.6, 1)),
        ({"bulk", "vrh", "modulus"}, subject.bulk),
        ({"young", "youngs", "e"}, round(subject.bulk * 1.5, 1)),
        ({"poisson"}, 0.3),
        ({"density", "rho"}, subject.density),
        ({"group", "spacegroup", "sg"}, subject.group),
        ({"volume", "vol"}, round(unit_volume / (n_atoms if "atom" in words else 1) * _units_of(subject), 2)),
        ({"alpha", "beta"}, 90.0),
        ({"gamma"}, 120.0 if subject.group in (186, 194, 167, 166) else 90.0),
        ({"angle", "theta"}, draw.choice((28.44, 90.0, 109.47))),
        ({"c"}, subject.c),
        ({"a", "b", "lattice", "edge", "length", "constant"}, subject.a),
        ({"bond", "distance", "shortest", "mean", "longest", "nearest"}, round(subject.a * 0.433, 3)),
        ({"coordination", "cn", "neighbours", "neighbors", "bonds"}, draw.choice((4, 6, 12))),
        ({"magnetization", "magnetisation", "moment", "mu"}, 2.2 if "Fe" in subject.formula else 0.0),
        ({"charge", "oxidation", "valence"}, 2),
        ({"wavelength"}, 1.5406),
        ({"temperature"}, 300.0),
        ({"h", "k"}, 1),
        ({"l"}, draw.choice((0, 1))),
        ({"nelements", "species"}, len(atoms(subject.formula)) or 1),
        ({"sites", "nsites", "natoms", "atoms", "atom"}, n_atoms * _units_of(subject)),
        ({"voltage"}, draw.choice((3.0, 3.4, 3.7))),
        ({"reaction", "cost", "step"}, draw.choice((-0.3, -0.5, 0.1))),
        ({"capacity"}, 170.0),
        ({"ratio", "share", "fraction"}, draw.choice((0.5, 1.0, 1.633))),
        ({"energy"}, draw.choice((-5.0, -5.42, -8.3))),
        ({"entries", "number", "count", "total", "n", "matches", "polymorphs"}, draw.choice((1, 2, 3, 5, 10))),
    )  # fmt: skip
    value = next((value for known, value in table if known & words), draw.choice((1.0, 0.0, 0.5, 2.0)))
    return value * 1000 if "mev" in words else value


def _units_of(subject: Material) -> int:
    """Return the formula units in the conventional cell."""
    return _UNITS.get(subject.prototype, 1)


def _words(name: str) -> set[str]:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return set(re.findall(r"[a-z]+", spaced.casefold()))
