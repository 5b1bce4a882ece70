"""Crystal structures, by pymatgen's StructureMatcher (Ong et al., Comput. Mater. Sci. 68, 314, 2013)."""

from __future__ import annotations

import json
from typing import Any

from tasks_lib.evaluation._cage import caged
from tasks_lib.evaluation._registry import CallError, Judgement, Seen, metric
from tasks_lib.evaluation.metrics import _say
from tasks_lib.records import Json


@metric("structure-match")
def structure_match(
    seen: Seen,
    want: Json,
    *,
    ltol: float = 0.05,
    stol: float = 0.1,
    angle_tol: float = 2.0,
    primitive: bool = False,
    scale: bool = False,
    supercell: bool = False,
    max_rms: float | None = None,
    same_sites: bool = True,
    **_: Any,
) -> Judgement:
    """Pass where the structure is the one of the gold file, whatever its origin and the order of its atoms.

    The comparison is symmetric: both orders must fit. Being alike is no equivalence: of A, B and C, A may fit both
    others though these do not fit each other, so an answer is compared with the gold alone. The RMS distance in the
    verdict is the larger of both orders, in units of the cube root of the volume per site.

    Parameters
    ----------
    ltol : float
        Fractional tolerance of the cell edges.
    stol : float
        Tolerance of the sites, a fraction of the cube root of the volume per site.
    angle_tol : float
        Tolerance of the cell angles, degrees.
    primitive : bool
        Whether both are reduced to their primitive cells first.
    scale : bool
        Whether both are scaled to one volume first.
    supercell : bool
        Whether one may be a supercell of the other.
    max_rms : float or null
        Largest RMS distance that passes.
    same_sites : bool
        Whether both must have the same number of sites; False where `primitive` or `supercell` is to ignore it.
    """
    wanted = want.get("structure") if isinstance(want, dict) else None
    if not isinstance(wanted, dict):
        msg = "structure-match wants a gold file that the getter 'structure' reads whole"
        raise CallError(msg)
    found = seen.value.get("structure") if isinstance(seen.value, dict) else None
    if not isinstance(found, dict):
        return Judgement(False, "what was read is no structure")
    said = f"{seen.value['formula']} with {seen.value['sites']} sites"
    target = f"{want['formula']} with {want['sites']} sites"
    if same_sites and not supercell and seen.value["sites"] != want["sites"]:
        return Judgement(False, f"{said} was found, {target} is wanted")
    if seen.value["reduced-formula"] != want["reduced-formula"]:
        return Judgement(False, f"{said} was found, {target} is wanted: another composition")
    result = caged(
        "structures.compare",
        json.dumps(found).encode(),
        json.dumps(wanted).encode(),
        ltol=ltol,
        stol=stol,
        angle_tol=angle_tol,
        primitive_cell=primitive,
        scale=scale,
        attempt_supercell=supercell,
    )
    room = f"ltol {_say.number(ltol)}, stol {_say.number(stol)}, {_say.number(angle_tol)} deg"
    if not result["match"]:
        return Judgement(False, f"{said} does not fit the wanted structure ({room})")
    rms = result["rms"]
    if max_rms is not None and (rms is None or rms > max_rms):
        far = "unknown" if rms is None else _say.number(rms)
        return Judgement(False, f"{said} fits but its RMS distance {far} is above {_say.number(max_rms)}")
    told = "" if rms is None else f", RMS distance {_say.number(rms)}, largest {_say.number(result['largest'])}"
    return Judgement(True, f"{said} fits the wanted structure ({room}){told}")
