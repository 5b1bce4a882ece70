"""Inputs and gold of the XPS tasks (``taskdefs/mattoolbench/xps``), with the truth that the gold is taken from."""

from __future__ import annotations

from infra.inputs.spectra import Line, axis, count, profile, shirley, two_columns

Span = tuple[float, float, float]  # first, last and step of the energy axis, eV

# Plasma-treated polyethylene: the hydrocarbon line, and carbon with one bond to oxygen.
POLYMER_C1S = (Line(284.80, 8200.0, 1.25), Line(286.42, 3100.0, 1.35))

# An insulating oxide film that charges up: true positions, and by how much the analyser shows them too high.
CHARGE_SHIFT = 1.74
CARBON_C1S = (Line(284.80, 7400.0, 1.30), Line(286.35, 2300.0, 1.40))
OXIDE_O1S = (Line(530.12, 9000.0, 1.25), Line(531.78, 3600.0, 1.55))

# Thermal oxide on silicon: the 2p doublet of the element (areas 2 : 1) and the oxide's line, unresolved.
SILICON_SPLITTING = 0.61
SILICON_SI2P = (Line(99.36, 6400.0, 0.52), Line(99.36 + SILICON_SPLITTING, 3200.0, 0.52), Line(103.42, 1850.0, 1.46))


def region(lines: tuple[Line, ...], span: Span, ends: tuple[float, float], seed: int, header: tuple[str, ...]) -> bytes:
    """Return a region with a Shirley background between `ends`, counts, as text of two columns."""
    x = axis(*span)
    signal = profile(x, lines)
    return two_columns(x, count(signal + shirley(x, signal, *ends), seed), header)


def _charged(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    return tuple(Line(line.centre + CHARGE_SHIFT, line.height, line.fwhm) for line in lines)


def oxygen(*, corrected: bool) -> bytes:
    """Return the O 1s region as measured, or the same counts on the true energy axis (gold)."""
    text = region(
        _charged(OXIDE_O1S),
        (526.0, 540.0, 0.1),
        (900.0, 2750.0),
        20260103,
        ("region O 1s, as measured, same sample and same flood-gun settings", "binding energy (eV)  counts"),
    ).decode("utf-8")
    if not corrected:
        return text.encode("utf-8")
    rows = [row.split("\t") for row in text.splitlines() if not row.startswith("#")]
    return "".join(f"{float(energy) - CHARGE_SHIFT:.2f} {counts}\n" for energy, counts in rows).encode("utf-8")


def files() -> dict[str, bytes]:
    """Return inputs and gold: path below ``taskdefs/mattoolbench/xps`` -> content."""
    return {
        "c1s-two-components/inputs/c1s_polymer.xy": region(
            POLYMER_C1S,
            (279.0, 293.0, 0.1),
            (620.0, 1980.0),
            20260101,
            ("region C 1s, Al K-alpha, pass energy 20 eV, 8 sweeps", "binding energy (eV)  counts"),
        ),
        "charge-correction/inputs/c1s.xy": region(
            _charged(CARBON_C1S),
            (281.0, 294.0, 0.1),
            (520.0, 1310.0),
            20260102,
            ("region C 1s, as measured", "binding energy (eV)  counts"),
        ),
        "charge-correction/inputs/o1s.xy": oxygen(corrected=False),
        "charge-correction/gold/o1s_true.xy": oxygen(corrected=True),
        "si2p-doublet/inputs/si2p.xy": region(
            SILICON_SI2P,
            (96.0, 107.5, 0.05),
            (260.0, 700.0),
            20260104,
            ("region Si 2p, thermal oxide on Si(100), pass energy 10 eV", "binding energy (eV)  counts"),
        ),
    }
