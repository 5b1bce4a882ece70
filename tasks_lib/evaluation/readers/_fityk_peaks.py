"""Centre, height, area and full width at half maximum of Fityk's peak functions, from their parameters.

The definitions are those that Fityk prints itself (``info types``, and the comments of a saved session); the area and
the width of the Voigt function follow from the plasma-dispersion function and from Olivero and Longbothum,
J. Quant. Spectrosc. Radiat. Transfer 17, 233 (1977).
"""

from __future__ import annotations

import math

from scipy.special import erfcx

from tasks_lib.records import Json

_GAUSS = math.sqrt(math.pi / math.log(2))


def shape_of(kind: str, parameters: dict[str, Json]) -> dict[str, float | None]:
    """Return ``center``, ``height``, ``area`` and ``fwhm`` of a function; None where it has none.

    Parameters
    ----------
    kind : str
        Fityk's name of the function type.
    parameters : dict
        Parameter name -> value.
    """
    known = {name: float(value) for name, value in parameters.items() if isinstance(value, int | float)}
    center = known.get("center")
    found: dict[str, float | None] = {"center": center, "height": None, "area": None, "fwhm": None}
    if center is None:
        return found
    try:
        if kind.startswith("Split"):
            found |= _split(kind.removeprefix("Split"), known)
        else:
            found |= _whole(kind, known)
    except (KeyError, ArithmeticError, ValueError):
        pass
    return {key: value if value is not None and math.isfinite(value) else None for key, value in found.items()}


def _split(kind: str, known: dict[str, float]) -> dict[str, float]:
    halves = []
    for side in ("1", "2"):
        shared = {name: value for name, value in known.items() if not name.endswith(("1", "2"))}
        own = {name[:-1]: value for name, value in known.items() if name.endswith(side)}
        halves.append(_whole(kind, shared | own))
    left, right = halves
    return {
        "height": left["height"],
        "area": (left["area"] + right["area"]) / 2,
        "fwhm": (left["fwhm"] + right["fwhm"]) / 2,
    }


def _whole(kind: str, known: dict[str, float]) -> dict[str, float]:
    by_area = "area" in known
    width = abs(known["gwidth"] if "gwidth" in known else known["hwhm"])
    factor, fwhm = _factor(
        kind if kind == "PseudoVoigtA" or not by_area else kind.removesuffix("A"), width, known.get("shape", 0.0)
    )
    height = known["area"] / factor if by_area else known["height"]
    return {"height": height, "area": height * factor, "fwhm": fwhm}


def _factor(kind: str, width: float, shape: float) -> tuple[float, float]:
    """Return area over height, and the full width at half maximum."""
    if kind == "Gaussian":
        return width * _GAUSS, 2 * width
    if kind == "Lorentzian":
        return width * math.pi, 2 * width
    if kind == "PseudoVoigt":
        return width * (shape * math.pi + (1 - shape) * _GAUSS), 2 * width
    if kind == "PseudoVoigtA":  # here `shape` shares the area and not the height
        return width / ((1 - shape) / _GAUSS + shape / math.pi), 2 * width
    if kind == "Pearson7":
        ratio = math.exp(math.lgamma(shape - 0.5) - math.lgamma(shape))
        return width * ratio * math.sqrt(math.pi / (2 ** (1 / shape) - 1)), 2 * width
    if kind == "Voigt":
        shape = abs(shape)
        gauss, lorentz = 2 * math.sqrt(math.log(2)) * width, 2 * width * shape
        fwhm = 0.5346 * lorentz + math.sqrt(0.2166 * lorentz**2 + gauss**2)
        return width * math.sqrt(math.pi) / float(erfcx(shape)), fwhm
    raise KeyError(kind)
