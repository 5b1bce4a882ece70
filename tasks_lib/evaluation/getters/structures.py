"""Crystal structures."""

from __future__ import annotations

from pathlib import PurePosixPath

from tasks_lib.evaluation._cage import caged
from tasks_lib.evaluation._context import Context
from tasks_lib.evaluation._registry import CallError, Seen, getter

_UNITS = {
    "a": "Å",
    "b": "Å",
    "c": "Å",
    "alpha": "deg",
    "beta": "deg",
    "gamma": "deg",
    "volume": "Å^3",
    "density": "g/cm^3",
}
_PLAIN = ("formula", "reduced-formula", "elements", "sites", "ordered")
_SYMMETRY = ("space-group", "space-group-symbol")
_FORMATS = ("auto", "cif", "poscar", "cjson")


@getter("structure")
def read_structure(
    context: Context, path: str, what: str | None = None, form: str = "auto", symprec: float = 0.01
) -> Seen:
    """Read a crystal structure from a CIF, a POSCAR or Avogadro's cjson.

    The one policy for answers, gold and hand-offs: what cannot be read without a guess is refused with the reason,
    and nothing is mended silently. Refused are: no or more than one data block; occupancies outside 0 to 1;
    hydrogen that is only implied; a composition that differs from ``_chemical_formula_sum``; a POSCAR that does not
    start with a comment line and one scale factor, has no element symbols, or has something else where the flags T
    and F stand; coordinates or a cell that are not finite; angles outside 0° to 180°; a cell edge below 0.5 Å or
    less than 0.5 Å^3 an atom; more than 5000 sites. Read are: any byte-order mark, Latin-1, line ends of any
    system, a negative scale as the volume.

    Parameters
    ----------
    what : str or null
        ``formula`` (of the cell), ``reduced-formula``, ``elements``, ``sites``, ``a``, ``b``, ``c`` (Å), ``alpha``,
        ``beta``, ``gamma`` (deg), ``volume`` (Å^3), ``density`` (g/cm^3), ``ordered``, ``space-group`` (number) or
        ``space-group-symbol``; default: the whole structure, for ``structure-match``.
    form : str
        ``cif``, ``poscar``, ``cjson``, or ``auto``: by the file's name, else by its content.
    symprec : float
        Tolerance of the symmetry search, Å.
    """
    if what is not None and what not in (*_UNITS, *_PLAIN, *_SYMMETRY):
        msg = f"what is one of {', '.join((*_PLAIN, *_UNITS, *_SYMMETRY))}, got {what!r}"
        raise CallError(msg)
    if form not in _FORMATS:
        msg = f"form is one of {', '.join(_FORMATS)}, got {form!r}"
        raise CallError(msg)
    data = context.read(path)
    chosen = _form(path, data) if form == "auto" else form
    found = caged("structures.read_structure", data, form=chosen, symmetry=what in _SYMMETRY, symprec=symprec)
    if what is not None:
        return Seen(found[what], unit=_UNITS.get(what))
    return Seen(found, shown={name: value for name, value in found.items() if name != "structure"})


def _form(path: str, data: bytes) -> str:
    name = PurePosixPath(path).name.lower()
    if name.endswith(".cif"):
        return "cif"
    if name.endswith(".cjson"):
        return "cjson"
    if name.endswith((".vasp", ".poscar")) or name.startswith(("poscar", "contcar")):
        return "poscar"
    head = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"{"):
        return "cjson"
    return "cif" if b"data_" in head or b"_cell_length" in head else "poscar"
