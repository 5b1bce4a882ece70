"""Inputs of the XPS tasks about regions: loading, viewing, copying, backgrounds, axes, smoothing, a saved model."""

from __future__ import annotations

import numpy as np

from infra.inputs.spectra import Curve, Line, axis, count, profile, shirley, two_columns
from infra.inputs.xps import Span, region

# Carbon of a steel plate as it came and after a minute of argon sputtering, on one energy axis.
SPUTTERED_SPAN: Span = (279.0, 293.0, 0.1)
CARBON_AS_RECEIVED = (Line(284.80, 6900.0, 1.30), Line(288.60, 1300.0, 1.40))
CARBON_SPUTTERED = (Line(284.55, 1500.0, 1.25), Line(282.80, 900.0, 1.05))

# Four regions of a fluorinated polymer film; the spans tell them apart.
FOUR: dict[str, tuple[tuple[Line, ...], Span, tuple[float, float]]] = {
    "c1s": ((Line(284.80, 5200.0, 1.25), Line(291.20, 3900.0, 1.45)), (280.0, 296.0, 0.1), (420.0, 1250.0)),
    "n1s": ((Line(399.80, 1400.0, 1.50),), (394.0, 406.0, 0.1), (900.0, 1120.0)),
    "o1s": ((Line(532.20, 4100.0, 1.70),), (526.0, 540.0, 0.1), (1500.0, 2400.0)),
    "f1s": ((Line(688.70, 8800.0, 1.80),), (682.0, 696.0, 0.1), (2100.0, 3900.0)),
}

# Two surveys of a glass: kinetic losses make steps of Shirley's form under every line.
SURVEY_SPAN: Span = (0.0, 1100.0, 1.0)
SURVEY = (
    Line(102.4, 3100.0, 3.2),
    Line(153.6, 2500.0, 3.6),
    Line(284.8, 4200.0, 3.1),
    Line(347.2, 1900.0, 3.6),
    Line(531.9, 15500.0, 3.4),
    Line(978.0, 6200.0, 9.0),
    Line(1072.1, 7300.0, 3.5),
)

OFFSET = 3333.0
OFFSET_C1S = (Line(284.80, 5400.0, 1.28), Line(286.30, 1900.0, 1.35))

# Valence region near 25 eV: one shallow core line on a straight background.
LINE_SPAN: Span = (12.0, 34.0, 0.1)
LINE_PEAK = (Line(23.40, 2600.0, 1.60),)
LINE_LOW, LINE_HIGH = 900.0, 2440.0

SHIRLEY_SPAN: Span = (1014.0, 1030.0, 0.1)
SHIRLEY_ZN = (Line(1021.90, 9800.0, 1.75),)
SHIRLEY_LOW, SHIRLEY_HIGH = 4100.0, 6900.0

KNOWN_SHIFT = 0.86
SHIFTED_O1S = (Line(530.40 + KNOWN_SHIFT, 7600.0, 1.40), Line(532.10 + KNOWN_SHIFT, 2500.0, 1.70))

WINDOW = 5
"""Channels of the moving average."""

REMOVED = 150.0
"""Flat background that was taken off, counts."""

SINGLE_SPAN: Span = (1014.0, 1030.0, 0.1)
SINGLE_ZN = Line(1022.13, 5200.0, 1.72)

# Carbon with the potassium doublet of a contamination beside it.
RANGE_SPAN: Span = (280.0, 300.0, 0.1)
RANGE_LIMITS = (281.0, 290.0)
RANGE_C1S = Line(284.92, 3600.0, 1.42)
RANGE_K2P = (Line(292.90, 4200.0, 1.30), Line(295.65, 2100.0, 1.30))

REVERSED_SPAN: Span = (276.0, 296.0, 0.1)
REVERSED_C1S = (Line(284.80, 8200.0, 1.30),)

# Silicon under an oxide that grows: three spectra with flat ends 500 counts high, for a stacked view.
STACK_SPAN: Span = (94.0, 108.0, 0.1)
STACK_ELEMENT, STACK_OXIDE = 99.40, 103.50
STACK: dict[str, tuple[float, float]] = {
    "si_0min": (5200.0, 600.0),
    "si_5min": (3400.0, 2600.0),
    "si_30min": (900.0, 5600.0),
}

# Nitrogen of a polymer on two days: the model that a saved session holds, heights and widths as fitted there.
MODEL_SPAN: Span = (394.0, 406.0, 0.1)
MODEL_DAYS = {
    "n1s_day1": (Line(398.70, 2400.0, 1.30), Line(400.10, 3600.0, 1.44)),
    "n1s_day2": (Line(398.65, 1500.0, 1.30), Line(400.25, 4300.0, 1.50), Line(402.40, 700.0, 1.60)),
}


def columns(data: bytes) -> tuple[Curve, Curve]:
    """Return energy and counts of a file of two columns."""
    table = np.loadtxt(data.decode("utf-8").splitlines())
    return table[:, 0], table[:, 1]


def moving_average(y: Curve, window: int) -> Curve:
    """Return the mean of `window` channels around each; beyond an end its last value is repeated."""
    half = window // 2
    return np.convolve(np.pad(y, half, mode="edge"), np.full(window, 1.0 / window), mode="valid")


def session(title: str, x: Curve, y: Curve, lines: tuple[Line, ...]) -> bytes:
    """Return a session of Fityk 1.3 with one data set and a sum of Gaussians, in the order that Fityk writes."""
    text = ["# Fityk script. Fityk version: 1.3.2.", "", "set verbosity = -1", "set autoplot = 0", "reset"]
    text += ["# ------------  datasets ------------", "use @0", f"title = '{title}'", f"M={len(x)}", f"X={x.max():g}"]
    for at, (energy, counts) in enumerate(zip(x, y, strict=True)):
        sigma = max(float(np.sqrt(counts)), 1.0)
        text.append(f"X[{at}]={energy:.2f}, Y[{at}]={counts:g}, S[{at}]={sigma:.9g}, A[{at}]=1")
    text += ["", "# ------------  variables and functions  ------------"]
    values = [value for line in lines for value in (line.height, line.centre, line.fwhm / 2.0)]
    text += [f"$_{at} = ~{value:.9g}" for at, value in enumerate(values, start=1)]
    names = range(1, len(lines) + 1)
    text += [f"%_{at} = Gaussian($_{3 * at - 2}, $_{3 * at - 1}, $_{3 * at})" for at in names]
    text += ["", "# ------------  models  ------------", "@0: F = " + " + ".join(f"%_{at}" for at in names), ""]
    text += [f"plot [{x.min():g}:{x.max():g}] [:]", "use @0", "set autoplot = 1", "set verbosity = 0"]
    return ("\n".join(text) + "\n").encode("utf-8")


def _plain(lines: tuple[Line, ...], span: Span, seed: int, header: str, base: Curve | float = 0.0) -> bytes:
    x = axis(*span)
    return two_columns(x, count(profile(x, lines) + base, seed), (header, "binding energy (eV)  counts"))


def _flat_removed(lines: tuple[Line, ...], span: Span, seed: int, header: str) -> bytes:
    """Return lines from which a flat background was taken off: its mean is gone, its noise is left."""
    x = axis(*span)
    counts = count(profile(x, lines) + REMOVED, seed) - int(REMOVED)
    return two_columns(x, counts, (header, "binding energy (eV)  counts"))


def _table(x: Curve, y: Curve) -> bytes:
    return "".join(f"{energy:.2f} {value:.6f}\n" for energy, value in zip(x, y, strict=True)).encode("utf-8")


def survey(seed: int, header: str) -> bytes:
    """Return a survey; two of them differ in their counting noise alone."""
    return region(SURVEY, SURVEY_SPAN, (2600.0, 19000.0), seed, (header, "binding energy (eV)  counts"))


def _sputtered() -> dict[str, bytes]:
    head = ("region C 1s, steel plate", "binding energy (eV)  counts")
    return {
        "c1s_received.xy": region(CARBON_AS_RECEIVED, SPUTTERED_SPAN, (600.0, 1500.0), 20260201, head),
        "c1s_sputtered.xy": region(CARBON_SPUTTERED, SPUTTERED_SPAN, (480.0, 760.0), 20260202, head),
    }


def _line() -> bytes:
    x = axis(*LINE_SPAN)
    return _plain(LINE_PEAK, LINE_SPAN, 20260207, "shallow core line", np.linspace(LINE_LOW, LINE_HIGH, len(x)))


def _models() -> dict[str, bytes]:
    found = {}
    for seed, (name, lines) in enumerate(MODEL_DAYS.items(), start=20260215):
        x = axis(*MODEL_SPAN)
        found[f"{name}.fit"] = session(name, x, count(profile(x, lines), seed).astype(float), lines)
    return found


def files() -> dict[str, bytes]:
    """Return inputs and gold: path below ``taskdefs/mattoolbench/xps`` -> content."""
    head = ("binding energy (eV)  counts",)
    offset = region(OFFSET_C1S, (279.0, 292.0, 0.1), (480.0, 1320.0), 20260205, ("region C 1s", *head))
    smooth = survey(20260211, "survey of soda-lime glass")
    x, y = columns(offset)
    energy, counts = columns(smooth)
    charged = region(SHIFTED_O1S, (526.0, 540.0, 0.1), (900.0, 2300.0), 20260209, ("region O 1s, as measured", *head))
    shifted, unchanged = columns(charged)
    zinc = axis(*SHIRLEY_SPAN)
    model_x = axis(*MODEL_SPAN)
    found = {f"import-region/inputs/{name}": data for name, data in _sputtered().items()}
    for seed, (name, (lines, span, ends)) in enumerate(FOUR.items(), start=20260220):
        found[f"import-four-regions/inputs/{name}.xy"] = region(lines, span, ends, seed, (f"region {name}", *head))
    for seed, (name, (element, oxide)) in enumerate(STACK.items(), start=20260230):
        lines = (Line(STACK_ELEMENT, element, 0.90), Line(STACK_OXIDE, oxide, 1.40))
        found[f"stacked-oxide-growth/inputs/{name}.xy"] = _plain(
            lines, STACK_SPAN, seed, f"region Si 2p, {name}", 500.0
        )
    found |= {f"report-of-session/inputs/{name}": data for name, data in _models().items()}
    return found | {
        "zoom-and-restore/inputs/c1s.xy": region(
            CARBON_AS_RECEIVED, SPUTTERED_SPAN, (600.0, 1500.0), 20260203, ("region C 1s", *head)
        ),
        "duplicate-survey/inputs/survey.xy": survey(20260204, "survey of soda-lime glass, spot 1"),
        "duplicate-survey/inputs/survey_spot2.xy": survey(20260206, "survey of soda-lime glass, spot 2"),
        "offset-copy/inputs/c1s.xy": offset,
        "offset-copy/gold/c1s_raised.xy": _table(x, y + OFFSET),
        "linear-background/inputs/shallow.xy": _line(),
        "shirley-in-own-slot/inputs/zn2p.xy": region(
            SHIRLEY_ZN, SHIRLEY_SPAN, (SHIRLEY_LOW, SHIRLEY_HIGH), 20260208, ("region Zn 2p3/2", *head)
        ),
        "known-charge-shift/inputs/o1s.xy": charged,
        "known-charge-shift/gold/o1s_shifted.xy": _table(shifted - KNOWN_SHIFT, unchanged),
        "shirley-in-own-slot/gold/zn2p_bg.xy": _table(
            zinc, shirley(zinc, profile(zinc, SHIRLEY_ZN), SHIRLEY_LOW, SHIRLEY_HIGH)
        ),
        "smooth-survey/inputs/survey.xy": smooth,
        "smooth-survey/gold/survey_smooth.xy": _table(energy, moving_average(counts, WINDOW)),
        "automatic-peak/inputs/zn2p.xy": _flat_removed(
            (SINGLE_ZN,), SINGLE_SPAN, 20260212, "Zn 2p3/2, background removed"
        ),
        "active-range/inputs/c1s_k2p.xy": _flat_removed(
            (RANGE_C1S, *RANGE_K2P), RANGE_SPAN, 20260213, "C 1s and K 2p, background removed"
        ),
        "reversed-energy-axis/inputs/c1s.xy": region(
            REVERSED_C1S, REVERSED_SPAN, (600.0, 1900.0), 20260214, ("region C 1s, graphite", *head)
        ),
        "report-of-session/gold/n1s_model.xy": _table(model_x, profile(model_x, MODEL_DAYS["n1s_day2"])),
    }
