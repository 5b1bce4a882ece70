"""Compare the digital twin with files of a real microscope: a table, and a figure of real frames beside simulated ones.

``python -m infra.microscope --files ../shared/data/nid --figure docs/images/twin-validation.png`` scans, with the
settings that each file states, a sample that is like the real one. The instrument's constants are those of the preset;
what was chosen to be like the real sample stands in `SCENES`. The files are not part of this repository.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tasks_lib.instruments.analysis.levelling import PLANE, ROWS, Levelling, level
from tasks_lib.instruments.analysis.shift import trace_retrace_shift
from tasks_lib.instruments.analysis.similarity import trace_retrace_similarity
from tasks_lib.instruments.frame import DEFLECTION, FRICTION, Z_AXIS, Z_SENSOR, Direction, Frame, Gains, ScanSettings
from tasks_lib.instruments.nid import read_nid
from tasks_lib.instruments.twin import DRIVE, LEVERS, Lever, Microscope, Preset, Sample, samples

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
SEED = 1
MULTI = LEVERS["Multi75Al-G"]
# The lever of the HOPG files, by their headers: 1.125 µm at 5 V.
HOPG_LEVER = replace(MULTI, spring_n_per_m=2.08)
HOPG_PRESET = replace(DRIVE, calibration_m_per_v=225e-9)
GLASS_LEVER = replace(LEVERS["ContAl-G"], spring_n_per_m=0.2547)
NEWTON_PER_VOLT = 1.01874e-7 / 5  # how the glass file scales its deflection

# Each figure may differ from the real one by this share of it, except the similarity, whose difference is absolute.
TOLERANCE: Mapping[str, float] = MappingProxyType(
    {"shift_px": 0.25, "ssim": 0.15, "sq_nm": 0.15, "error_mv": 0.35, "z_noise_pm": 0.25, "friction_mv": 0.5}
)


@dataclass(frozen=True)
class Scene:
    """A real file and the sample that stands for the real one.

    Attributes
    ----------
    file : str
        Name of the file without its suffix; empty where only published figures are at hand.
    sample : callable
        Makes the sample, given the real frame.
    checked : tuple of str
        Figures that must agree within `TOLERANCE`; the others are shown.
    rows : (int, int)
        Rows to compare, first and one past the last; the last is none for all: the grid file has rows of noise.
    shift_of : str
        Channel whose displacement counts. On a tilted flat the drive's hysteresis hides it, so there the sensor's does.
    """

    name: str
    file: str
    sample: Callable[[Frame], Sample]
    checked: tuple[str, ...]
    preset: Preset = DRIVE
    lever: Lever = MULTI
    rows: tuple[int, int | None] = (0, None)
    shift_of: str = Z_AXIS


def surface_of(frame: Frame, sensitivity_m_per_v: float = DRIVE.sensitivity_m_per_v) -> Array:
    """Estimate the surface that a frame saw, in metres: where the tip was, sensor plus deflection.

    What trace and retrace are still displaced by is the scanner's lag; each is moved back by half of it, and their mean
    is the surface.
    """
    from scipy.ndimage import shift

    seen = [frame.data(Z_SENSOR, way) + sensitivity_m_per_v * _error_v(frame, way) for way in Direction]
    lag = trace_retrace_shift(seen[0], seen[1], frame.scan.pixel_m[0]).shift_pixels
    moved = [shift(one, (0, by), order=1, mode="nearest") for one, by in zip(seen, (-lag / 2, lag / 2), strict=True)]
    mean = (moved[0] + moved[1]) / 2
    surface: Array = mean - mean.mean()
    return surface


def _measured(frame: Frame) -> Sample:
    return samples.measured_surface(surface_of(frame), frame.scan.pixel_m)


SCENES = (
    Scene(
        "glass",
        "glass_256",
        lambda _: samples.rough_surface(size_m=11e-6, rms_m=33e-9, correlation_m=400e-9, hurst=1.0, seed=2).mounted(
            tilt_x_deg=-0.15, tilt_y_deg=1.9
        ),
        ("shift_px", "ssim", "sq_nm", "error_mv", "friction_mv"),
        lever=GLASS_LEVER,
    ),
    Scene(
        "graphite flake",
        "graphite_flake_30um",
        lambda _: samples.graphene_flakes(
            size_m=42e-6, layers=(205,), edge_m=300e-9, roughness_m=1.5e-9, seed=5
        ).mounted(tilt_x_deg=0.63, tilt_y_deg=0.63),
        ("shift_px", "ssim", "sq_nm", "error_mv", "friction_mv"),
    ),
    Scene(
        "HOPG step",
        "hopg_step_setpoint_0p2V",
        lambda _: samples.hopg_steps(layers=(2,), direction_deg=10).mounted(tilt_x_deg=-1.55, tilt_y_deg=1.6),
        ("shift_px", "ssim", "sq_nm", "error_mv", "z_noise_pm", "friction_mv"),
        preset=HOPG_PRESET,
        lever=HOPG_LEVER,
        shift_of=Z_SENSOR,
    ),
    Scene(
        "grid",
        "grid_corrupt_rows",
        lambda _: samples.calibration_grid(
            size_m=104e-6, depth_m=115e-9, duty=0.48, edge_m=400e-9, roughness_m=1e-9, friction=0.6
        ).mounted(tilt_x_deg=-0.03, tilt_y_deg=0.1),
        ("shift_px", "ssim", "sq_nm", "error_mv", "friction_mv"),
        rows=(27, 234),
    ),
    Scene(
        "glass, the surface of the file",
        "glass_256",
        _measured,
        ("shift_px", "ssim", "sq_nm", "error_mv", "friction_mv"),
        lever=GLASS_LEVER,
    ),
    Scene(
        "graphite flake, the surface of the file",
        "graphite_flake_30um",
        _measured,
        ("shift_px", "ssim", "sq_nm", "error_mv", "friction_mv"),
    ),
    Scene("flake zoomed, the surface of the file", "graphite_flake_zoom_9um", _measured, ("sq_nm", "friction_mv")),
)

# The glass indent: its file is not at hand, so these figures of it stand for it.
INDENT = ScanSettings(width_m=62e-6, height_m=62e-6, points=256, lines=256, time_per_line_s=0.3)
INDENT_GAINS = Gains(p=100, i=6000, d=10)
INDENT_REAL: Mapping[str, float] = MappingProxyType({"shift_px": 1.77, "ssim": 0.906, "sq_nm": 218.0})


def _error_v(frame: Frame, way: Direction | str = Direction.FORWARD) -> Array:
    """Deflection minus setpoint in volts; the glass file states its deflection in newtons."""
    channel = frame.channels[DEFLECTION, Direction(way)]
    volts = channel.data / NEWTON_PER_VOLT if channel.unit == "N" else channel.data
    return volts - frame.setpoint


def measure(frame: Frame, rows: tuple[int, int | None] = (0, None), shift_of: str = Z_AXIS) -> dict[str, float]:
    """Return the figures of a frame that are compared.

    `shift_px`: displacement of trace against retrace. `ssim`: their similarity with lines levelled. `sq_nm`: rms height
    with lines levelled. `error_mv`: rms of deflection minus setpoint. `z_noise_pm`: deviation of neighbouring samples,
    by the median. `friction_mv`: median of half the difference of the friction signal.
    """
    some = slice(*rows)
    z, back = frame.data(Z_AXIS)[some], frame.data(Z_AXIS, "backward")[some]
    where = frame.data(shift_of)[some], frame.data(shift_of, "backward")[some]
    apart = np.diff(z, axis=1)
    spread = 1.4826 * np.median(np.abs(apart - np.median(apart))) / np.sqrt(2)
    lateral = (frame.data(FRICTION) - frame.data(FRICTION, "backward"))[some] / 2
    return {
        "shift_px": trace_retrace_shift(*where, frame.scan.pixel_m[0]).shift_pixels,
        "ssim": trace_retrace_similarity(z, back).levelled,
        "sq_nm": float(level(z, ROWS).z.std() * 1e9),
        "error_mv": float(np.sqrt(np.mean(_error_v(frame)[some] ** 2)) * 1e3),
        "z_noise_pm": float(spread * 1e12),
        "friction_mv": float(np.median(lateral) * 1e3),
    }


def scan_like(scene: Scene, real: Frame) -> Frame:
    """Scan a scene's sample with the settings of a real frame, unrotated and at the sample's centre."""
    scan = real.scan.model_copy(
        update={"center_x_m": 0.0, "center_y_m": 0.0, "rotation_deg": 0.0, "slope_x_deg": 0.0, "slope_y_deg": 0.0}
    )
    scope = Microscope(scene.sample(real), scene.preset, scene.lever, seed=SEED)
    return scope.scan(scan, real.gains, real.setpoint)


def indent_frame() -> Frame:
    """Scan a Vickers print that is as deep and as shallow-sided as the one in the glass of the public files."""
    sample = samples.indent("Vickers", size_m=64e-6, depth_m=2.17e-6, recovery=0.3, blunting_m=400e-9)
    return Microscope(sample, DRIVE, MULTI, seed=SEED).scan(INDENT, INDENT_GAINS, 0.1)


def differs(name: str, real: float, twin: float) -> bool:
    """Tell whether a figure of the twin lies beyond its tolerance."""
    room = TOLERANCE[name] if name == "ssim" else TOLERANCE[name] * abs(real)
    return abs(twin - real) > room


def table(files: Path) -> str:
    """Return the comparison as a table in Markdown; figures that are not checked stand in brackets."""
    names = list(TOLERANCE)
    heads = dict(zip(names, ("shift px", "SSIM", "Sq nm", "rms error mV", "z noise pm", "friction mV"), strict=True))
    lines = ["| scene | " + " | ".join(heads[name] for name in names) + " |", "|" + "---|" * (len(names) + 1)]
    for scene in SCENES:
        real = read_nid(files / f"{scene.file}.nid").frame()
        ours, theirs = (measure(one, scene.rows, scene.shift_of) for one in (scan_like(scene, real), real))
        cells = []
        for name in names:
            pair = f"{_three(theirs[name])} / {_three(ours[name])}"
            cells.append(pair if name in scene.checked else f"({pair})")
        lines.append(f"| {scene.name} | " + " | ".join(cells) + " |")
    ours = measure(indent_frame())
    cells = [f"{_three(INDENT_REAL[name])} / {_three(ours[name])}" if name in INDENT_REAL else "" for name in names]
    lines.append("| Vickers indent in glass, published figures | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _three(value: float) -> str:
    """Write a number with three figures or all of its whole ones."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def draw(files: Path, figure: Path) -> None:
    """Draw real frames above and simulated ones below, with a line of each."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    shown = (SCENES[4], SCENES[5], SCENES[2], SCENES[3])
    fig, axes = plt.subplots(3, len(shown), figsize=(11, 7.6), height_ratios=[1, 1, 0.7], layout="constrained")
    for column, scene in enumerate(shown):
        real = read_nid(files / f"{scene.file}.nid").frame()
        twin = scan_like(scene, real)
        levelling: Levelling = ROWS if scene.file.startswith(("hopg", "grid")) else PLANE
        images = [level(one.data(Z_AXIS)[slice(*scene.rows)], levelling).z * 1e9 for one in (real, twin)]
        low, high = np.percentile(images[0], [1, 99])
        extent = (0.0, real.scan.width_m * 1e6, 0.0, images[0].shape[0] * real.scan.pixel_m[1] * 1e6)
        for row, (image, side) in enumerate(zip(images, ("real", "twin"), strict=True)):
            ax = axes[row, column]
            ax.imshow(image, origin="lower", extent=extent, cmap="afmhot", vmin=low, vmax=high, interpolation="nearest")
            ax.set_title(f"{scene.file.split('_')[0]}: {side}", fontsize=9)
            ax.tick_params(labelsize=7)
        _draw_line(axes[2, column], scene, real, twin)
    axes[2, 0].set_ylabel("z, lines levelled (nm)", fontsize=8)
    axes[2, 1].legend(fontsize=6, loc="upper center")
    drawn = io.BytesIO()
    fig.savefig(drawn, dpi=80)
    plt.close(fig)
    figure.parent.mkdir(parents=True, exist_ok=True)
    # 96 colours are enough, and a third of the bytes.
    with Image.open(drawn) as full:
        full.convert("RGB").quantize(96, dither=Image.Dither.NONE).save(figure, optimize=True)


def _draw_line(ax: Axes, scene: Scene, real: Frame, twin: Frame) -> None:
    """Draw one line of both, trace and retrace: of the lines with more relief than most, the one in the middle.

    Where the twin scanned the surface of the file, it is the same line.
    """
    at = -1
    for frame, colours, name in ((real, ("#1f77b4", "#9ecae1"), "real"), (twin, ("#d62728", "#fcae91"), "twin")):
        flat = [level(frame.data(Z_AXIS, way)[slice(*scene.rows)], ROWS).z * 1e9 for way in Direction]
        if at < 0 or scene.sample is not _measured:
            at = int(np.argsort(np.ptp(flat[0][:, 3:-3], axis=1))[len(flat[0]) * 7 // 10])
        x = (np.arange(frame.scan.points) + 0.5) * frame.scan.pixel_m[0] * 1e6
        for way, one, colour in zip(("trace", "retrace"), flat, colours, strict=True):
            ax.plot(x, one[at], color=colour, lw=0.9, label=f"{name}, {way}")
    ax.set_xlabel("x (µm)", fontsize=8)
    ax.tick_params(labelsize=7)


def main() -> None:
    """Print the table and write the figure."""
    parser = argparse.ArgumentParser(description="Compare the digital twin with files of a real microscope.")
    parser.add_argument("--files", type=Path, default=Path("../shared/data/nid"), help="folder of the .nid files")
    parser.add_argument("--figure", type=Path, help="where to write the figure")
    given = parser.parse_args()
    print(table(given.files))
    if given.figure:
        draw(given.files, given.figure)


if __name__ == "__main__":
    main()
