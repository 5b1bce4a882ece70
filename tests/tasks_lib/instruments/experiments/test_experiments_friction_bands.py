"""The bands of the friction sweep: how often the interval of the slope holds the truth, and bands without terrace."""

from __future__ import annotations

import numpy as np

from tasks_lib.instruments.experiments.friction_load import load_point, terrace_mask
from tasks_lib.instruments.experiments.regression import line_by_bands, line_by_bands_or_pairs
from tasks_lib.instruments.experiments.scenes import experiment_scene
from tasks_lib.instruments.frame import FRICTION


def test_the_interval_of_the_slope_holds_the_truth_as_often_as_it_says() -> None:
    """500 sweeps over a terrace with the twin's own noise: 15 µV in each direction at 64 points, white from line on."""
    chance = np.random.default_rng(20261130)
    volts = np.array([0.2, 0.4, 0.6, 0.8, 1.0])
    held = []
    for _ in range(500):
        # What a place resists is the same at every load, and skewed as the square of a slope is.
        place = 1 + 4e-3 * chance.chisquare(1, (32, 64))
        slope, free = 4e-4 * place, -0.394
        maps = [slope * (volt - free) + chance.normal(0, 15e-6 / np.sqrt(2), place.shape) for volt in volts]
        masked = [np.where(terrace_mask(one), one, np.nan) for one in maps]
        bands = [[np.nanmean(part) for part in np.array_split(one, 16)] for one in masked]
        line = line_by_bands_or_pairs(volts, bands)
        held.append(abs(line.slope - slope.mean()) <= line.coverage * line.slope_error)
    # The wider of two intervals holds it a little more often than 95 %.
    assert 0.93 <= np.mean(held) <= 0.99


def test_an_edge_along_the_lines_takes_bands_away_and_no_answer(engaged) -> None:
    scene = experiment_scene("friction-load", points=64)
    frame = engaged(scene).scan("a")
    for channel in frame.channels.values():
        if channel.name == FRICTION:
            sign = 1 if channel.direction == "forward" else -1
            channel.data[20:29] += sign * 20 * np.abs(channel.data).mean()
    point = load_point(frame, "a")
    assert 1 <= np.isnan(point.bands_v).sum() <= 4
    assert np.isfinite([point.terrace_v, point.terrace_error_v, point.mean_error_v]).all()


def test_bands_that_are_alike_count_as_pairs() -> None:
    chance = np.random.default_rng(5)
    volts = np.array([0.2, 0.4, 0.6])
    alone = 1 + 0.1 * chance.standard_normal(16)
    pairs = 1 + 0.1 * np.repeat(chance.standard_normal(8), 2)
    noise = 1e-3 * chance.standard_normal((3, 16))
    independent, alike = (volts[:, None] * one + noise for one in (alone, pairs))
    found = line_by_bands_or_pairs(volts, alike)
    assert found.slope_error > 1.3 * line_by_bands(volts, alike).slope_error
    assert found.coverage > line_by_bands(volts, alike).coverage
    assert line_by_bands_or_pairs(volts, independent[:, :8]) == line_by_bands(volts, independent[:, :8])
