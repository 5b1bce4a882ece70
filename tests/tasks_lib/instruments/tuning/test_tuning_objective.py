"""What a search maximises: tracking is told from lag and from ringing, also where the similarity alone is fooled."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pytest

from tasks_lib.instruments.frame import AMPLITUDE, DEFLECTION, Z_AXIS, Channel, Direction, Frame, Gains, ScanSettings
from tasks_lib.instruments.tuning.objective import Objective, Tracking, tracking
from tasks_lib.instruments.tuning.scenes import SCENES, scene
from tasks_lib.records.errors import ConfigurationError

LINES, POINTS, SETPOINT = 12, 64, 0.2


def surface() -> np.ndarray:
    chance = np.random.default_rng(3)
    return np.cumsum(chance.normal(0, 1e-9, (LINES, POINTS)), axis=1)


def frame(ringing: float = 0.0, lag: int = 0, signal: str = DEFLECTION, **changes) -> Frame:
    """A loop whose error is proportional to its motion, with a part that is not."""
    chance, channels = np.random.default_rng(1), {}
    for way, shift in ((Direction.FORWARD, lag), (Direction.BACKWARD, -lag)):
        z = np.roll(surface(), shift, axis=1)
        run = z if way is Direction.FORWARD else z[:, ::-1]
        error = np.gradient(run, axis=1) / 1e-9 * 0.02 * SETPOINT + ringing * SETPOINT * chance.normal(0, 1, z.shape)
        data = SETPOINT + (error if way is Direction.FORWARD else error[:, ::-1])
        channels[Z_AXIS, way] = Channel(Z_AXIS, way, "m", z)
        channels[signal, way] = Channel(signal, way, "V", data)
    whole = {
        "channels": MappingProxyType(channels), "setpoint": SETPOINT, "gains": Gains(p=1, i=1), "mode": "Lateral Force",
        "scan": ScanSettings(width_m=1e-6, height_m=1e-7, points=POINTS, lines=LINES, time_per_line_s=0.1),
        "lever": "ContAl-G", "lines_done": LINES, "engaged": True,
    }  # fmt: skip
    return Frame(**(whole | changes))


def test_a_good_loop_has_a_high_score() -> None:
    found = tracking(frame())
    assert found.ssim_levelled > 0.99
    assert found.explained > 0.6
    assert found.ringing < 0.005
    assert found.score(Objective.TRACKING) > 0.9
    assert found.score(Objective.SSIM) == found.ssim_raw


def test_lag_lowers_the_similarity_and_ringing_the_score() -> None:
    good, late, rings = (tracking(one) for one in (frame(), frame(lag=2), frame(ringing=0.3)))
    assert late.score(Objective.TRACKING) < good.score(Objective.TRACKING) - 0.2
    # The images are alike to the last bit, and the loop is not to be had.
    assert rings.score(Objective.SSIM) == good.score(Objective.SSIM)
    assert rings.ringing > 0.1
    assert rings.score(Objective.TRACKING) < good.score(Objective.TRACKING) - 1


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"engaged": False}, "not engaged"),
        ({"lines_done": 5}, "not scanned"),
        ({"setpoint": 0.0}, "the setpoint is 0"),
        (
            {"channels": MappingProxyType({("Z-Axis", w): Channel("Z-Axis", w, "m", surface()) for w in Direction})},
            "Amp",
        ),
    ],
)
def test_a_frame_that_says_nothing_has_no_score(changes: dict, word: str) -> None:
    found = tracking(frame(**changes))
    assert [found.score(one) for one in Objective] == [None, None]
    assert word in " ".join(found.problems)


def test_a_frame_of_few_lines_has_no_similarity() -> None:
    scan = ScanSettings(width_m=1e-6, height_m=1e-7, points=POINTS, lines=4, time_per_line_s=0.1)
    channels = {key: Channel(one.name, one.direction, one.unit, one.data[:4]) for key, one in frame().channels.items()}
    assert tracking(frame(channels=channels, scan=scan, lines_done=4)).problems


def test_an_amplitude_is_judged_by_its_mean() -> None:
    found = tracking(frame(signal=AMPLITUDE, setpoint=60.0))
    assert found.error_share == pytest.approx(tracking(frame()).error_share, rel=0.05)


def test_a_tracking_is_stored_as_it_is() -> None:
    found = tracking(frame())
    assert Tracking.model_validate_json(found.model_dump_json()) == found


@pytest.mark.parametrize("name", sorted(SCENES))
def test_on_every_scene_the_score_prefers_the_stable_loop(name: str) -> None:
    place = scene(name)
    microscope = place.microscope(1)
    calm, wild = Gains(p=50, i=4000, d=50), Gains(p=300, i=9000, d=0)
    assert (place.stable(calm), place.stable(wild)) == (True, False)
    first, second = (tracking(place.probe(microscope, one)) for one in (calm, wild))
    assert first.ringing < 0.02 < second.ringing
    assert first.score(Objective.TRACKING) > second.score(Objective.TRACKING)


def test_an_unknown_scene_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigurationError, match="grid, hopg"):
        scene("moon")


def _changed(name: str, *, unit: str = "V", data: np.ndarray | None = None) -> Frame:
    """A good frame with one channel of another unit or with other samples, or without it where these are None."""
    good = frame()
    kept = {key: one for key, one in good.channels.items() if key[0] != name}
    if data is not None:
        kept |= {(name, way): Channel(name, way, unit, data) for way in Direction}
    return frame(channels=MappingProxyType(kept))


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (_changed(Z_AXIS), "no channel Z-Axis"),
        (_changed(DEFLECTION), "no channel Amplitude"),
        (_changed(DEFLECTION, data=np.full((LINES, POINTS), np.nan)), "Deflection forward has missing samples"),
        (_changed(DEFLECTION, data=np.full((3, POINTS), 0.2)), "Deflection forward has missing samples"),
        (_changed(DEFLECTION, unit="N", data=surface()), "Deflection is in 'N' and the setpoint in volts"),
        (frame(setpoint=float("inf")), "the setpoint is inf"),
    ],
)
def test_a_frame_that_lacks_what_is_judged_has_a_problem_and_no_score(bad: Frame, problem: str) -> None:
    found = tracking(bad)
    assert problem in found.problems[0]
    assert found.score(Objective.TRACKING) is None
    assert found.score(Objective.SSIM) is None
