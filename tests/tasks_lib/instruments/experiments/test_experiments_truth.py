"""Each experiment against the truth of the twin, over seeds: right answers, and uncertainties that are kept."""

from __future__ import annotations

import numpy as np
import pytest

from tasks_lib.instruments.experiments import Verdict

SEEDS = {"step-edge": 12, "friction-load": 12, "graphene-layers": 9, "indenter": 10}


@pytest.mark.parametrize("name", sorted(SEEDS))
def test_stated_uncertainties_cover_the_truth(reports, name):
    errors: dict[str, list[float]] = {}
    for report in reports(name, SEEDS[name]):
        for one in report.quantities:
            if one.truth is not None:
                errors.setdefault(one.name, []).append((one.value - one.truth) / one.expanded)
    assert errors
    for quantity, found in errors.items():
        # 95 % are to lie within 1; of 12, three outside have a chance of 2 %.
        assert np.count_nonzero(np.abs(found) > 1) <= 2, quantity
        assert np.max(np.abs(found)) < 3, quantity


@pytest.mark.parametrize("name", sorted(SEEDS))
def test_answers_without_uncertainty_are_right(reports, name):
    for report in reports(name, SEEDS[name]):
        assert all(one.verdict is not Verdict.DISAGREES for one in report.findings)


def test_uncertainties_are_small_enough_to_answer(reports):
    for report in reports("step-edge", SEEDS["step-edge"]):
        assert report.quantity("layer height").expanded < 0.1e-9
        assert report.finding("layers").margin > 0.3
    for report in reports("graphene-layers", SEEDS["graphene-layers"]):
        assert report.quantity("thickness").expanded < 0.335e-9 / 2
        assert report.quantity("center x").expanded < 0.15e-6
    for report in reports("friction-load", SEEDS["friction-load"]):
        assert report.quantity("slope").uncertainty < 0.01 * report.quantity("slope").value
        assert report.quantity("adhesion").uncertainty < 5e-9
    for report in reports("indenter", SEEDS["indenter"]):
        assert report.finding("indenter").margin > 6
        assert report.quantity("depth").expanded < 0.5 * report.quantity("depth").value


def test_a_calibration_finds_better_gains_and_says_how_good_they_are(reports):
    (report,) = reports("pid-calibration", 1)
    after, before = report.quantity("similarity after"), report.quantity("similarity before")
    assert after.value - after.expanded > before.value + before.expanded
    assert report.quantity("error after").verdict is Verdict.AGREES
    assert after.value == pytest.approx(after.truth, abs=0.01)
    assert report.finding("stable loop").verdict is Verdict.AGREES
    assert report.finding("threshold reached").verdict is Verdict.AGREES


def test_the_thinnest_flake_is_chosen_whatever_offset_and_rotation_the_frame_has(reports):
    for report in reports("graphene-layers", SEEDS["graphene-layers"]):
        overview, first, *_ = report.frames
        assert overview.scan.rotation_deg != 0
        assert first.scan.rotation_deg == overview.scan.rotation_deg
        assert first.scan.width_m < 0.6 * overview.scan.width_m
        x, y = report.quantity("center x"), report.quantity("center y")
        assert abs(first.scan.center_x_m - x.truth) < first.scan.width_m / 8
        assert abs(first.scan.center_y_m - y.truth) < first.scan.height_m / 8


def test_the_fine_frame_crosses_the_edge_at_a_right_angle(reports):
    for report in reports("step-edge", SEEDS["step-edge"]):
        assert report.frames[1].scan.width_m < 0.5 * report.frames[0].scan.width_m
        assert report.quantity("step height").value > 0
