"""Pictures of a tuning, as PNG: a scan, the search so far, trace over retrace, before beside after."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tasks_lib.instruments.analysis import ROWS, AnalysisError, level
from tasks_lib.instruments.frame import Z_AXIS, Direction, Frame, Samples
from tasks_lib.instruments.tuning.objective import Tracking
from tasks_lib.instruments.tuning.session_records import Role, ScanRecord

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

# Colours of Okabe and Ito, which colour-blind readers tell apart.
_TRACE, _RETRACE, _BEST, _BEFORE, _VOID = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#777777"
_DPI = 80
# A loop that rings scores -10 and hides what the others differ by.
_LOWEST = -1.0


def scan_picture(frame: Frame, found: Tracking, title: str) -> bytes:
    """Return the levelled heights forward and backward, side by side, over a line of both."""
    figure = _figure(7.2, 4.2)
    images = {way: _levelled(frame, way) for way in Direction}
    span = _span(images.values())
    top, scale, bottom = _places(figure, 1)
    for axes, way in zip(top, Direction, strict=True):
        shown = _image(axes, frame, images[way], span, way.value)
    figure.colorbar(shown, cax=scale, label="z / nm")
    _profile(bottom[0], frame, images)
    figure.suptitle(f"{title}: {_gains(frame)}; {_judgement(found)}", fontsize=10)
    return _png(figure)


def overlay_picture(frame: Frame, title: str) -> bytes:
    """Return trace over retrace along the middle line of a frame."""
    figure = _figure(7.2, 2.8)
    axes = figure.add_axes((0.1, 0.18, 0.87, 0.68))
    _profile(axes, frame, {way: _levelled(frame, way) for way in Direction})
    figure.suptitle(f"{title}: {_gains(frame)}", fontsize=10)
    return _png(figure)


def before_after_picture(before: Frame, after: Frame) -> bytes:
    """Return a frame with the previous gains beside one with the new ones, heights on the same scale."""
    figure = _figure(9.6, 4.2)
    images = [{way: _levelled(frame, way) for way in Direction} for frame in (before, after)]
    span = _span([image for pair in images for image in pair.values()])
    top, scale, bottom = _places(figure, 2)
    for column, (name, frame) in enumerate((("before", before), ("after", after))):
        forward = images[column][Direction.FORWARD]
        shown = _image(top[column], frame, forward, span, f"{name}: {_gains(frame)}, forward")
        _profile(bottom[column], frame, images[column])
    figure.colorbar(shown, cax=scale, label="z / nm")
    low = min(axes.get_ylim()[0] for axes in bottom)
    high = max(axes.get_ylim()[1] for axes in bottom)
    for axes in bottom:
        axes.set_ylim(low, high)
    return _png(figure)


def history_picture(records: Sequence[ScanRecord], title: str) -> bytes:
    """Return the scores of a tuning scan by scan, the best so far, and the gains that were tried."""
    from matplotlib.ticker import MaxNLocator

    figure = _figure(7.2, 4.6)
    sides = {"left": 0.1, "right": 0.98, "top": 0.92, "bottom": 0.11, "hspace": 0.08}
    scores, gains = figure.subplots(2, 1, sharex=True, height_ratios=(1.5, 1), gridspec_kw=sides)
    place = list(range(1, len(records) + 1))
    trials = [(at, one) for at, one in zip(place, records, strict=True) if one.plan.role is Role.SEARCH]
    for role, colour, name in (
        (Role.BEFORE, _BEFORE, "previous gains"),
        (Role.SEARCH, _TRACE, "search"),
        (Role.VERIFY, _RETRACE, "fresh frames of candidates"),
    ):
        known = [(at, one.score) for at, one in zip(place, records, strict=True) if one.plan.role is role]
        judged = [(at, score) for at, score in known if score is not None]
        shown = [(at, score) for at, score in judged if score >= _LOWEST]
        if shown:
            scores.plot(*zip(*shown, strict=True), "o", ms=4, color=colour, label=name)
        if below := [at for at, score in judged if score < _LOWEST]:
            name = f"below {_LOWEST:g}"
            scores.plot(below, [_LOWEST] * len(below), "v", ms=5, mfc="none", color=colour, label=name)
    best, steps = None, []
    for at, one in trials:
        if one.score is not None and (best is None or one.score > best):
            best = one.score
        steps.append((at, max(best, _LOWEST) if best is not None else np.nan))
    if best is not None:
        scores.step(*zip(*steps, strict=True), where="post", color=_BEST, lw=1.2, label="best of the search")
    for axes, where in ((scores, 0.03), (gains, 0.05)):
        voids = [at for at, one in zip(place, records, strict=True) if one.void]
        label = "void" if axes is scores else None
        if voids:
            axes.plot(voids, [where] * len(voids), "x", color=_VOID, transform=axes.get_xaxis_transform(), label=label)
        edges = [at - 0.5 for (at, one), (_, last) in zip(trials[1:], trials, strict=False)
                 if one.plan.generation != last.plan.generation]  # fmt: skip
        # Lines between generations help as long as there are few; one for each scan is only grey.
        if len(edges) < len(trials) / 2:
            for edge in edges:
                axes.axvline(edge, color="#dddddd", lw=0.8, zorder=0)
    scores.set_ylabel("score")
    if scores.get_legend_handles_labels()[0]:
        scores.legend(fontsize=8, loc="best")
    gains.semilogy(place, [max(one.plan.gains.i, 1) for one in records], "s", ms=3.5, color="#000000", label="I")
    gains.semilogy(place, [max(one.plan.gains.p, 1) for one in records], "^", ms=3.5, color=_RETRACE, label="P")
    gains.semilogy(place, [max(one.plan.gains.d, 1) for one in records], "v", ms=3.5, color=_TRACE, label="D")
    gains.set_ylim(0.5, 1e5)
    gains.legend(fontsize=8, ncols=3, loc="upper left")
    gains.set_ylabel("gains (0 drawn at 1)")
    gains.set_xlabel("scan")
    gains.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.suptitle(title, fontsize=10)
    return _png(figure)


def _figure(width: float, height: float) -> Figure:
    # The object and not pyplot: no window system, no state that threads would share.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=_DPI)


def _places(figure: Figure, below: int) -> tuple[list[Axes], Axes, list[Axes]]:
    """Return places for two images, their scale, and one or two profiles below.

    Fixed and not fitted to the labels: fitting would take twice the time of drawing, for every scan.
    """
    top = figure.add_gridspec(1, 3, left=0.09, right=0.9, top=0.85, bottom=0.55, width_ratios=(1, 1, 0.04), wspace=0.08)
    bottom = figure.add_gridspec(1, below, left=0.09, right=0.9, top=0.4, bottom=0.12, wspace=0.25)
    images = [figure.add_subplot(top[0, column]) for column in range(2)]
    images[0].set_ylabel("y / µm")
    images[1].tick_params(labelleft=False)
    return images, figure.add_subplot(top[0, 2]), [figure.add_subplot(bottom[0, column]) for column in range(below)]


def _png(figure: Figure) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _levelled(frame: Frame, way: Direction) -> Samples:
    """Return heights in nm without tilt and drift; as they are where they cannot be levelled."""
    raw = frame.data(Z_AXIS, way)
    try:
        return 1e9 * level(raw, ROWS).z
    except AnalysisError:
        return 1e9 * (raw - np.nanmean(raw))


def _span(images: Any) -> tuple[float, float]:
    """Return the scale of heights, without the thousandth at each end: a spike must not flatten the picture."""
    samples = np.concatenate([image[np.isfinite(image)] for image in images])
    if not samples.size:
        return -1.0, 1.0
    low, high = np.percentile(samples, (0.1, 99.9))
    return (float(low), float(high)) if high > low else (float(low) - 1.0, float(low) + 1.0)


def _image(axes: Axes, frame: Frame, image: Samples, span: tuple[float, float], title: str) -> AxesImage:
    width, height = 1e6 * frame.scan.width_m, 1e6 * frame.scan.height_m
    # A probe is a narrow band; drawn to scale it would be a thread.
    shown = axes.imshow(
        image, origin="lower", aspect="auto", extent=(0, width, 0, height), vmin=span[0], vmax=span[1], cmap="cividis",
        interpolation="nearest",
    )  # fmt: skip
    axes.set_title(title, fontsize=9)
    axes.set_xlabel("x / µm")
    return shown


def _profile(axes: Axes, frame: Frame, images: dict[Direction, Samples]) -> None:
    """Draw the middle one of the lines that were scanned, forward and backward."""
    whole = [row for row in range(frame.scan.lines) if all(np.isfinite(one[row]).all() for one in images.values())]
    if not whole:
        axes.set_axis_off()
        return
    row = whole[len(whole) // 2]
    x = (np.arange(frame.scan.points) + 0.5) * 1e6 * frame.scan.pixel_m[0]
    for way, colour in ((Direction.FORWARD, _TRACE), (Direction.BACKWARD, _RETRACE)):
        axes.plot(x, images[way][row], color=colour, lw=1.0, label=way.value)
    axes.set_xlim(0, 1e6 * frame.scan.width_m)
    axes.set_xlabel(f"x / µm (line {row + 1} of {frame.scan.lines})")
    axes.set_ylabel("z / nm")
    axes.legend(fontsize=8, loc="upper left", framealpha=0.5)


def _gains(frame: Frame) -> str:
    return f"P {frame.gains.p}, I {frame.gains.i}, D {frame.gains.d}"


def _judgement(found: Tracking) -> str:
    if found.problems or found.ssim_levelled is None or found.error_share is None:
        return "void"
    return f"SSIM {found.ssim_levelled:.3f}, error {found.error_share:.3f} of the setpoint"
