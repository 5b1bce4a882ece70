"""How a report is read by people: a table of values with their uncertainty and truth, and the frames it rests on."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence

import numpy as np

from tasks_lib.instruments.analysis import ROWS, AnalysisError, level
from tasks_lib.instruments.experiments.geometry import height_channel
from tasks_lib.instruments.experiments.report import Finding, Quantity, Report, Verdict
from tasks_lib.instruments.frame import Frame, Samples

HEAD = ("what", "value", "95 %", "truth", "verdict", "rests on")

_PREFIXES = {"m": ((1e-6, "µm"), (1e-9, "nm"), (1e-12, "pm")), "V": ((1.0, "V"), (1e-3, "mV"), (1e-6, "µV")),
             "N": ((1e-6, "µN"), (1e-9, "nN"), (1e-12, "pN")), "V/V": ((1.0, "V/V"), (1e-3, "mV/V"))}  # fmt: skip
_MOST_FRAMES = 8
_DPI = 80


def report_rows(report: Report) -> list[tuple[str, ...]]:
    """Return a row for each value and finding, in the columns of `HEAD`."""
    return [_quantity(one) for one in report.quantities] + [_finding(one) for one in report.findings]


def summary(report: Report) -> str:
    """Return in one line how the report stands to the truth."""
    verdicts = [one.verdict for one in report.quantities] + [one.verdict for one in report.findings]
    agree, judged = verdicts.count(Verdict.AGREES), len(verdicts) - verdicts.count(Verdict.NO_TRUTH)
    return f"{report.experiment}: {agree} of {judged} values and findings agree with the truth"


def _quantity(one: Quantity) -> tuple[str, ...]:
    scale, unit = _scale(one)
    # Two digits of the uncertainty, and the value to the same place: JCGM 100:2008, 7.2.6.
    digits = max(0, 1 - math.floor(math.log10(one.expanded / scale)))
    value, half = (f"{number / scale:.{digits}f}" for number in (one.value, one.expanded))
    truth = "-" if one.truth is None else f"{one.truth / scale:.{digits}f}"
    return (one.name, f"{value} {unit}".strip(), f"± {half}", truth, one.verdict.value, one.basis)


def _scale(one: Quantity) -> tuple[float, str]:
    if one.unit == "1":
        return 1.0, ""
    steps = _PREFIXES.get(one.unit, ((1.0, one.unit),))
    size = max(abs(one.value), one.expanded)
    return next((step for step in steps if size >= step[0]), steps[-1])


def _finding(one: Finding) -> tuple[str, ...]:
    margin = "" if one.margin is None else f"margin {one.margin:.2g}"
    truth = "-" if one.truth is None else _word(one.truth)
    return (one.name, _word(one.value), margin, truth, one.verdict.value, one.basis)


def _word(value: str | int | bool) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def frames_picture(frames: Sequence[tuple[str, Frame]], title: str) -> bytes:
    """Return the heights of the frames side by side, levelled line by line, as PNG; the first and the last of many."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = list(frames)
    if len(shown) > _MOST_FRAMES:
        half = _MOST_FRAMES // 2
        shown = [*shown[:half], *shown[-half:]]
    columns = min(4, len(shown))
    rows = math.ceil(len(shown) / columns)
    figure = Figure(figsize=(3.1 * columns, 3.0 * rows + 0.4), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (name, frame) in zip(figure.subplots(rows, columns, squeeze=False).ravel(), shown, strict=False):
        heights = _levelled(frame)
        low, high = np.nanpercentile(heights, (0.5, 99.5))
        image = axes.imshow(
            heights, origin="lower", extent=(0, 1e6 * frame.scan.width_m, 0, 1e6 * frame.scan.height_m), vmin=low,
            vmax=max(high, low + 1e-6), cmap="cividis", interpolation="nearest",
            aspect="equal" if 0.5 <= frame.scan.height_m / frame.scan.width_m <= 2 else "auto",
        )  # fmt: skip
        axes.set_title(name, fontsize=9)
        axes.set_xlabel("x / µm", fontsize=8)
        axes.tick_params(labelsize=8)
        figure.colorbar(image, ax=axes, label="z / nm", shrink=0.8)
    for axes in figure.axes:
        if not axes.has_data():
            axes.set_axis_off()
    figure.suptitle(title, fontsize=10)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _levelled(frame: Frame) -> Samples:
    """Return heights in nm; by the median slopes, which flakes and imprints bend less than a fit."""
    z = 1e9 * frame.data(height_channel(frame))
    flat = z - np.nanmedian(np.diff(z, axis=1)) * np.arange(z.shape[1])
    if flat.shape[0] > 1:
        flat = flat - np.nanmedian(np.diff(flat, axis=0)) * np.arange(z.shape[0])[:, None]
    try:
        rough = level(z, ROWS).z
    except AnalysisError:
        return np.asarray(flat - np.nanmedian(flat))
    # Lines that drifted against each other would hide what lies on them.
    return np.asarray(rough if np.nanstd(rough) < 0.3 * np.nanstd(flat) else flat - np.nanmedian(flat))
