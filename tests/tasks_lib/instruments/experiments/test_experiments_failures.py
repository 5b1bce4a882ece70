"""An experiment that has no answer says which frame is why, and leaves the instrument as it was."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest

from tasks_lib.instruments.experiments import (
    ExperimentError,
    FrictionAgainstLoad,
    IndenterIdentity,
    StepEdge,
    perform,
    run,
)
from tasks_lib.instruments.experiments.scenes import EXPERIMENTS, experiment_scene
from tasks_lib.instruments.frame import Channel, Gains, ScanSettings
from tasks_lib.instruments.protocol import Instrument, InstrumentError, LineReport, RefusedError
from tasks_lib.instruments.twin import DRIVE, Microscope, TwinBackEnd, samples
from tasks_lib.records.errors import ConfigurationError

SCAN = ScanSettings(width_m=1e-6, height_m=1e-6, points=48, lines=48, time_per_line_s=0.05)


def microscope(sample=None):
    return Microscope(sample or samples.hopg_steps(layers=(2,)), DRIVE, "Multi75Al-G", seed=0)


def constant(frame):
    channels = {
        key: Channel(one.name, one.direction, one.unit, np.full_like(one.data, -5e-6) if one.unit == "m" else one.data)
        for key, one in frame.channels.items()
    }
    return replace(frame, channels=MappingProxyType(channels))


def clipped(frame):
    channels = {
        key: Channel(one.name, one.direction, one.unit, np.minimum(one.data, np.quantile(one.data, 0.9)))
        for key, one in frame.channels.items()
    }
    return replace(frame, channels=MappingProxyType(channels))


def incomplete(frame):
    return replace(frame, lines_done=frame.lines_done - 3)


def withdrawn(frame):
    return replace(frame, engaged=False)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (constant, "is constant"),
        (clipped, "ran into a limit"),
        (incomplete, "3 of 48 lines are not scanned"),
        (withdrawn, "was not engaged"),
    ],
)
@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_a_frame_that_is_not_valid_ends_every_experiment(name, spoil, why):
    experiment = experiment_scene(name, points=64).experiment
    good = microscope().scan(SCAN, Gains(p=100, i=6000), 0.2)
    first = experiment.plan()[0].name
    with pytest.raises(ExperimentError, match=rf"frame {first} .*{why}"):
        perform(experiment, lambda _: spoil(good))


def test_a_later_frame_is_checked_too():
    good = microscope().scan(SCAN, Gains(p=100, i=6000), 0.2)
    frames = iter([good, incomplete(good)])
    with pytest.raises(ExperimentError, match=r"frame load-2 .*not scanned"):
        perform(FrictionAgainstLoad((0.2, 0.4)), lambda _: next(frames))


def test_a_stopped_scan_puts_the_setpoint_back():
    back_end = TwinBackEnd(microscope(), SCAN, Gains(p=100, i=6000), 0.3)
    instrument = Instrument(back_end, client="test")
    instrument.approach()
    before = instrument.snapshot().values()
    served = back_end.scan

    def stops_the_second(name, on_line):
        def each(line: LineReport) -> bool:
            return on_line(line) and (name == "load-1" or line.index < 5)

        return served(name, each)

    back_end.scan = stops_the_second  # type: ignore[method-assign]
    with pytest.raises(ExperimentError, match=r"frame load-2 .*42 of 48 lines are not scanned"):
        run(FrictionAgainstLoad((0.2, 0.6)), instrument)
    assert instrument.snapshot().values() == before


def test_an_instrument_that_cannot_be_put_back_does_not_hide_what_failed_first():
    back_end = TwinBackEnd(microscope(), SCAN, Gains(p=100, i=6000), 0.3)
    instrument = Instrument(back_end, client="test")
    instrument.approach()
    write = back_end.write

    def sticks(values):
        if values.get("setpoint") == 0.3:
            raise InstrumentError("the setpoint sticks")
        write(values)

    back_end.write = sticks  # type: ignore[method-assign]

    def breaks(order, frame):
        raise ExperimentError("the film broke")

    with pytest.raises(ExperimentError, match="the film broke") as caught:
        run(FrictionAgainstLoad((0.2, 0.6)), instrument, breaks)
    assert "not put back" in caught.value.__notes__[0]


def test_without_contact_nothing_is_scanned(engaged):
    scene = experiment_scene("step-edge", points=64)
    instrument = Instrument(scene.back_end, client="test")
    with pytest.raises(RefusedError, match="approach first"):
        run(scene.experiment, instrument)
    assert scene.back_end.microscope.progress.scans == 0


@pytest.mark.parametrize("name", sorted(set(EXPERIMENTS) - {"pid-calibration"}))
def test_the_settings_of_before_come_back(name, engaged):
    scene = experiment_scene(name, seed=1, points=64)
    instrument = engaged(scene)
    before = instrument.snapshot().values()
    frames = []
    report = run(scene.experiment, instrument, lambda order, frame: frames.append((order.name, frame)))
    assert instrument.snapshot().values() == before
    assert [one.name for one in report.frames] == [name for name, _ in frames]
    assert len({name for name, _ in frames}) == len(frames)


def test_a_flat_surface_has_no_edge_and_no_imprint():
    flat = microscope(samples.rough_surface(size_m=3e-6, rms_m=0.2e-9, correlation_m=30e-9))
    frame = flat.scan(SCAN, Gains(p=100, i=6000), 0.2)
    with pytest.raises(ExperimentError, match="overview"):
        perform(IndenterIdentity(), lambda _: frame)
    still = microscope(samples.rough_surface(size_m=3e-6, rms_m=1e-13, correlation_m=30e-9))
    frame = still.scan(SCAN, Gains(p=100, i=6000), 0.2)
    with pytest.raises(ExperimentError, match="no clear step"):
        perform(StepEdge(), lambda _: frame)


@pytest.mark.parametrize("setpoints", [(), (0.2,), (0.2, 0.2)])
def test_a_sweep_needs_two_setpoints(setpoints):
    with pytest.raises(ExperimentError, match="two setpoints"):
        perform(FrictionAgainstLoad(setpoints), lambda _: pytest.fail("a frame was ordered"))


def test_a_frame_without_a_friction_signal_is_named():
    frame = microscope().scan(SCAN, Gains(p=100, i=6000), 0.2, "Static Force")
    with pytest.raises(ExperimentError, match=r"frame load-1 .*no channel Friction force"):
        perform(FrictionAgainstLoad(), lambda _: frame)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"name": "nothing"}, "no experiment 'nothing'"),
        ({"name": "indenter", "points": 8}, "32 to 1024"),
        ({"name": "indenter", "seed": -1}, "not negative"),
    ],
)
def test_scenes_refuse_what_is_none(asked, why):
    with pytest.raises(ConfigurationError, match=why):
        experiment_scene(**asked)
