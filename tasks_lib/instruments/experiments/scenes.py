"""The twin as each experiment meets it: a sample that differs by seed, how it is mounted, and what should be found."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from tasks_lib.instruments.analysis import LateralCalibration
from tasks_lib.instruments.experiments.calibration import THRESHOLD, PidCalibration
from tasks_lib.instruments.experiments.friction_load import FrictionAgainstLoad
from tasks_lib.instruments.experiments.graphene import GrapheneLayers
from tasks_lib.instruments.experiments.indenter import IndenterIdentity
from tasks_lib.instruments.experiments.procedure import Experiment
from tasks_lib.instruments.experiments.report import Report, Truth
from tasks_lib.instruments.experiments.step_edge import StepEdge
from tasks_lib.instruments.frame import Gains, ScanSettings
from tasks_lib.instruments.tuning.objective import tracking
from tasks_lib.instruments.tuning.scenes import SCENES
from tasks_lib.instruments.twin import DRIVE, LEVERS, Microscope, Sample, TwinBackEnd, closed_loop_radius, samples
from tasks_lib.records.errors import ConfigurationError

POINTS = 128
_LEVER = LEVERS["Multi75Al-G"]
_GAINS = Gains(p=100, i=8000)
# Noise that no experiment has met, and frames enough that their mean is the expectation.
_FRESH_SEED, _FRESH_FRAMES = 900_000, 12


@dataclass(frozen=True)
class ExperimentScene:
    """An experiment before its twin.

    Attributes
    ----------
    experiment : Experiment
    back_end : TwinBackEnd
        With the settings of the first frame; not engaged.
    truth : callable
        Returns what should have been found, given what was measured: some truths depend on what was chosen.
    """

    experiment: Experiment
    back_end: TwinBackEnd
    truth: Callable[[Report], Truth]


@dataclass(frozen=True)
class _Wanted:
    seed: int
    points: int
    instrument: str | None


def experiment_scene(
    name: str, *, seed: int = 0, points: int = POINTS, instrument: str | None = None
) -> ExperimentScene:
    """Return an experiment on the twin.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    seed : int
        Of the sample, of the noise, and of a search; not negative.
    points : int
        Points and lines of each frame, 32 to 1024.
    instrument : str, optional
        Name of the twin, by which it is leased; the preset's by default.

    Raises
    ------
    ConfigurationError
        If there is no such experiment, or a number is out of its range.
    """
    if name not in EXPERIMENTS:
        msg = f"there is no experiment {name!r}; take one of {', '.join(EXPERIMENTS)}"
        raise ConfigurationError(msg)
    if seed < 0:
        msg = f"a seed is not negative; it is {seed}"
        raise ConfigurationError(msg)
    if not 32 <= points <= 1024:
        msg = f"a frame of an experiment has 32 to 1024 points; it has {points}"
        raise ConfigurationError(msg)
    return EXPERIMENTS[name](_Wanted(seed, points, instrument))


def _pid_calibration(wanted: _Wanted) -> ExperimentScene:
    seed, points = wanted.seed, wanted.points
    place = SCENES["particles"]
    scan = place.scan.model_copy(update={"points": points})
    back_end = TwinBackEnd(place.microscope(seed), scan, Gains(p=50, i=1000), place.setpoint, name=wanted.instrument)

    experiment = PidCalibration(seed=seed)

    def truth(report: Report) -> Truth:
        gains = report.frames[-1].gains
        # Where drift had carried the tip in the middle of the last frames: a few nanometres on are other particles, and
        # another similarity.
        now = back_end.microscope.progress
        middle = replace(now, clock_s=now.clock_s - (experiment.repeats + 1) / 2 * scan.frame_time_s)
        fresh = []
        for number in range(_FRESH_FRAMES):
            microscope = place.microscope(_FRESH_SEED + _FRESH_FRAMES * seed + number)
            microscope.progress = middle
            fresh.append(tracking(microscope.scan(scan, gains, place.setpoint)))
        similar = float(np.mean([one.ssim_levelled for one in fresh]))
        error = float(np.mean([one.error_share for one in fresh]))
        return {
            "similarity after": similar, "error after": error, "threshold reached": similar >= THRESHOLD,
            "stable loop": closed_loop_radius(place.preset, gains) < 1.0,
        }  # fmt: skip

    return ExperimentScene(experiment, back_end, truth)


def _step_edge(wanted: _Wanted) -> ExperimentScene:
    seed, points = wanted.seed, wanted.points
    chance = np.random.default_rng([seed, 1])
    layers = 1 + seed % 3
    direction = float(chance.uniform(-90, 90))
    sample = samples.hopg_steps(size_m=3e-6, layers=(layers,), direction_deg=direction, seed=seed)
    turn, at = math.radians(float(sample.truth["step_1_direction_deg"])), float(sample.truth["step_1_at_m"])
    scan = ScanSettings(
        width_m=1.2e-6, height_m=1.2e-6, points=points, lines=points, time_per_line_s=0.1,
        rotation_deg=float(chance.uniform(-60, 60)),
        center_x_m=at * math.cos(turn) + float(chance.uniform(-1, 1)) * 1e-7,
        center_y_m=at * math.sin(turn) + float(chance.uniform(-1, 1)) * 1e-7,
    )  # fmt: skip
    layer = float(sample.truth["layer_m"])
    truth: Truth = {"layer height": layer, "step height": layers * layer, "layers": layers}
    return _scene(StepEdge(points=points), sample, scan, 0.2, wanted, truth)


def _friction_load(wanted: _Wanted) -> ExperimentScene:
    seed, points = wanted.seed, wanted.points
    chance = np.random.default_rng([seed, 2])
    adhesion, coefficient = float(chance.uniform(20e-9, 80e-9)), float(chance.uniform(0.004, 0.008))
    sample = samples.hopg_steps(layers=(2,), friction=coefficient, seed=seed)
    scan = ScanSettings(width_m=1e-6, height_m=1e-6, points=points, lines=points, time_per_line_s=0.1)
    newton_per_volt = _LEVER.spring_n_per_m * DRIVE.sensitivity_m_per_v
    # What a terrace resists: its coefficient, and the drag of climbing its own roughness.
    total = coefficient + (DRIVE.lateral_uphill + DRIVE.lateral_downhill) / 2 * _square_slope(sample, scan)
    slope = _LEVER.lateral_v_per_n * total * newton_per_volt
    intercept = _LEVER.lateral_v_per_n * total * adhesion
    experiment = FrictionAgainstLoad(
        free_deflection_v=DRIVE.free_deflection_v,
        newton_per_volt=newton_per_volt,
        calibration=LateralCalibration(1 / _LEVER.lateral_v_per_n, 0.0, "constants of the twin"),
    )
    truth: Truth = {
        "slope": slope, "adhesion intercept": intercept,
        "friction at setpoint 0": intercept - slope * DRIVE.free_deflection_v,
        "adhesion in deflection": adhesion / newton_per_volt, "adhesion": adhesion, "coefficient of friction": total,
    }  # fmt: skip
    return _scene(experiment, sample.mounted(adhesion_n=adhesion), scan, 0.2, wanted, truth)


def _square_slope(sample: Sample, scan: ScanSettings) -> float:
    """Mean square of the slope along x, on the raster that the twin drives over, away from the edge."""
    step = scan.width_m / max(512, 4 * scan.points)
    x = np.arange(-scan.width_m / 2, scan.width_m / 2, step)
    y = (np.arange(scan.lines) + 0.5) / scan.lines * scan.height_m - scan.height_m / 2
    slope = np.diff(sample.height(x[None, :], y[:, None]), axis=1) / step
    turn, at = math.radians(float(sample.truth["step_1_direction_deg"])), float(sample.truth["step_1_at_m"])
    far = np.abs(x[:-1] * math.cos(turn) + y[:, None] * math.sin(turn) - at) > 0.03 * scan.width_m
    return float(np.mean(slope[far] ** 2))


def _graphene_layers(wanted: _Wanted) -> ExperimentScene:
    seed, points = wanted.seed, wanted.points
    chance = np.random.default_rng([seed, 3])
    thinnest = 1 + seed % 3
    sample, number = _central_flake(thinnest, seed)
    x, y = (float(sample.truth[f"flake_{number}_center_{axis}_m"]) for axis in "xy")
    scan = ScanSettings(
        width_m=9.5e-6, height_m=9.5e-6, points=points, lines=points, time_per_line_s=0.1, overscan_percent=5,
        rotation_deg=float(chance.uniform(-40, 40)), center_x_m=x + float(chance.uniform(-1, 1)) * 0.8e-6,
        center_y_m=y + float(chance.uniform(-1, 1)) * 0.8e-6,
    )  # fmt: skip
    count = int(sample.truth[f"flake_{number}_layers"])
    middle = _centroid(sample, x, y)
    truth: Truth = {
        "thickness": count * float(sample.truth["layer_m"]), "layers": count, "center x": middle[0],
        "center y": middle[1],
    }  # fmt: skip
    return _scene(GrapheneLayers(points=points), sample, scan, 0.3, wanted, truth)


def _central_flake(thinnest: int, seed: int) -> tuple[Sample, int]:
    """Return the first sample of a row whose thinnest flake leaves room for the frame round it, and its number."""
    layers = (thinnest, *(thinnest + 1 + more % 6 for more in range(13)))
    for more in range(200):
        sample = samples.graphene_flakes(size_m=22e-6, layers=layers, seed=1000 * seed + more)
        number = int(sample.truth["thinnest_flake"])
        if max(abs(float(sample.truth[f"flake_{number}_center_{axis}_m"])) for axis in "xy") < 3e-6:
            return sample, number
    msg = f"no sample of 200 has its thinnest flake near the middle with seed {seed}: take another seed"
    raise ConfigurationError(msg)


def _centroid(sample: Sample, x_m: float, y_m: float) -> tuple[float, float]:
    """Return the centre of the area of the flake at a place: it is a polygon, and that is not where it was put."""
    from scipy.ndimage import label

    along = np.linspace(-3.2e-6, 3.2e-6, 401)
    x, y = np.meshgrid(x_m + along, y_m + along)
    labels, _ = label(sample.friction(x, y) < float(sample.truth["substrate_friction"]))
    mask = labels == labels[200, 200]
    return float(x[mask].mean()), float(y[mask].mean())


_DEPTHS = MappingProxyType(
    {"Vickers": 0.8e-6, "Berkovich": 0.8e-6, "Knoop": 0.4e-6, "cube corner": 1.2e-6, "sphere": 0.8e-6}
)


def _indenter(wanted: _Wanted) -> ExperimentScene:
    seed, points = wanted.seed, wanted.points
    chance = np.random.default_rng([seed, 4])
    kind = tuple(_DEPTHS)[seed % len(_DEPTHS)]
    recovery = 0.0 if kind == "sphere" else float(chance.uniform(0, 0.15))
    blunt, depth = 20e-9, _DEPTHS[kind]
    sample = samples.indent(
        kind,  # type: ignore[arg-type]
        size_m=44e-6, depth_m=depth, recovery=recovery, blunting_m=blunt, pile_up=0.06, roughness_m=4e-9, seed=seed,
        rotation_deg=float(chance.uniform(-60, 60)),
        center_m=(float(chance.uniform(-2e-6, 2e-6)), float(chance.uniform(-2e-6, 2e-6))),
    )  # fmt: skip
    scan = ScanSettings(
        width_m=30e-6, height_m=30e-6, points=points, lines=points, time_per_line_s=0.2, overscan_percent=5,
        rotation_deg=12.0,
    )  # fmt: skip
    truth: dict[str, float | int | str | bool] = {"indenter": kind, "depth": depth}
    if kind != "sphere":
        # A rounded apex lowers the slope of the faces by as much as it takes from the depth; `indent` says how.
        full = float(sample.truth["loaded_depth_m"])
        faces = ((math.hypot(full, blunt) - blunt) / full) ** 2
        truth["area by depth squared"] = float(sample.truth["area_by_depth_squared"]) * faces
    return _scene(IndenterIdentity(points=points), sample, scan, 0.5, wanted, truth)


def _scene(
    experiment: Experiment, sample: Sample, scan: ScanSettings, setpoint: float, wanted: _Wanted, truth: Truth
) -> ExperimentScene:
    tilted = sample.mounted(tilt_x_deg=0.3, tilt_y_deg=-0.2, adhesion_n=sample.adhesion_n)
    microscope = Microscope(tilted, DRIVE, _LEVER, seed=wanted.seed)
    back_end = TwinBackEnd(microscope, scan, _GAINS, setpoint, name=wanted.instrument)
    return ExperimentScene(experiment, back_end, lambda _: truth)


EXPERIMENTS: Mapping[str, Callable[[_Wanted], ExperimentScene]] = MappingProxyType(
    {
        "pid-calibration": _pid_calibration,
        "step-edge": _step_edge,
        "friction-load": _friction_load,
        "graphene-layers": _graphene_layers,
        "indenter": _indenter,
    }
)
