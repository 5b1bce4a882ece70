"""Inputs of the XPS tasks about fits: goodness of fit, a constrained doublet, quantification."""

from __future__ import annotations

import numpy as np
from scipy.optimize import curve_fit

from infra.inputs.spectra import Curve, Line, axis, count, profile, two_columns
from infra.inputs.xps import Span, region
from infra.inputs.xps_regions import columns

# Oxygen of a hydroxylated oxide on a flat background: one line does not describe it, two do.
COMPARED_SPAN: Span = (525.0, 539.0, 0.1)
COMPARED_FLAT = 300.0
COMPARED_O1S = (Line(530.20, 3900.0, 1.30), Line(531.65, 1700.0, 1.60))

# Titanium dioxide: 2p1/2 stands 5.70 eV above 2p3/2, has half of its area and, by its shorter life, more than twice its
# width.
TITANIUM_SPAN: Span = (453.0, 471.0, 0.1)
TITANIUM_SPLITTING = 5.70
TITANIUM_3_2 = Line(458.62, 8600.0, 1.06)
TITANIUM_1_2 = Line(458.62 + TITANIUM_SPLITTING, 8600.0 * 1.06 / 2.30 / 2.0, 2.30)

# A nylon film: area of each line is sensitivity times amount.
FACTORS = {"c1s": 1.00, "n1s": 1.80, "o1s": 2.93}
PERCENT = {"c1s": 71.0, "n1s": 12.5, "o1s": 16.5}
NYLON_CENTRE = {"c1s": 284.80, "n1s": 399.90, "o1s": 531.60}
NYLON_FWHM = {"c1s": 1.45, "n1s": 1.50, "o1s": 1.70}
NYLON_SPANS: dict[str, Span] = {"c1s": (279.0, 291.0, 0.1), "n1s": (394.0, 406.0, 0.1), "o1s": (526.0, 538.0, 0.1)}
NYLON_ENDS = {"c1s": (500.0, 1400.0), "n1s": (950.0, 1350.0), "o1s": (1400.0, 2700.0)}
NYLON_AREA = 220.0
"""Area, counts times eV, of one percent at a sensitivity of one."""


def nylon(region_name: str) -> Line:
    """Return the line of one region, of the area that its amount gives."""
    fwhm = NYLON_FWHM[region_name]
    area = NYLON_AREA * PERCENT[region_name] * FACTORS[region_name]
    return Line(NYLON_CENTRE[region_name], area / Line(0.0, 1.0, fwhm).area, fwhm)


def weighted_residual(data: bytes, start: tuple[Line, ...]) -> tuple[float, int]:
    """Return the weighted sum of squared residuals of the best constant and Gaussians, and its degrees of freedom.

    Weights are those of counts, 1 / max(counts, 1), as Fityk takes them; SciPy finds the minimum, not Fityk.
    """
    x, y = columns(data)

    def model(x: Curve, *values: float) -> Curve:
        lines = [Line(*values[at : at + 3]) for at in range(1, len(values), 3)]
        return values[0] + profile(x, lines)

    sigma = np.sqrt(np.maximum(y, 1.0))
    first = [COMPARED_FLAT, *(value for line in start for value in (line.centre, line.height, line.fwhm))]
    best, _ = curve_fit(model, x, y, p0=first, sigma=sigma, xtol=1e-12, ftol=1e-12)
    return float((((y - model(x, *best)) / sigma) ** 2).sum()), len(x) - len(first)


def compared() -> bytes:
    """Return the oxygen region of the comparison of fits."""
    x = axis(*COMPARED_SPAN)
    header = ("region O 1s, flat background", "binding energy (eV)  counts")
    return two_columns(x, count(profile(x, COMPARED_O1S) + COMPARED_FLAT, 20260301), header)


def files() -> dict[str, bytes]:
    """Return inputs: path below ``taskdefs/mattoolbench/xps`` -> content."""
    head = "binding energy (eV)  counts"
    found = {
        f"atomic-percent/inputs/{name}.xy": region(
            (nylon(name),), NYLON_SPANS[name], NYLON_ENDS[name], seed, (f"region {name}, nylon film", head)
        )
        for seed, name in enumerate(FACTORS, start=20260310)
    }
    return found | {
        "one-or-two-components/inputs/o1s.xy": compared(),
        "ti2p-constrained/inputs/ti2p.xy": region(
            (TITANIUM_3_2, TITANIUM_1_2), TITANIUM_SPAN, (700.0, 1500.0), 20260302, ("region Ti 2p, rutile", head)
        ),
    }
