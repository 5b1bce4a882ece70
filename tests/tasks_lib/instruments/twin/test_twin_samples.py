"""Samples: their truth is what their height says, and what cannot be is refused."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.twin import TwinError, samples

INDENTERS = {"Vickers": 24.504, "Berkovich": 24.494, "Knoop": 65.44, "cube corner": 2.598}


def mesh(size: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    along = ((np.arange(count) + 0.5) / count - 0.5) * size
    return np.meshgrid(along, along)


class TestGrid:
    def test_pitch_depth_and_side_of_a_pit_are_the_truth(self):
        grid = samples.calibration_grid(roughness_m=0.0, duty=0.4)
        x = np.linspace(-50e-6, 50e-6, 100_001)
        z = grid.height(x, 0.0)
        inside = z < -grid.truth["depth_m"] / 2
        falls = x[1:][np.diff(inside.astype(int)) == 1]
        rises = x[1:][np.diff(inside.astype(int)) == -1]
        assert np.diff(falls) == pytest.approx(grid.truth["pitch_m"], rel=1e-3)
        assert (rises[1:] - falls[:-1])[:-1] == pytest.approx(grid.truth["pit_side_m"], rel=1e-3)
        assert z.min() == pytest.approx(-80e-9, rel=1e-6)
        assert grid.height(0.0, 5e-6) == pytest.approx(0.0, abs=1e-12)

    def test_a_turned_grid_is_the_grid_at_turned_places(self):
        straight, turned = (samples.calibration_grid(roughness_m=0.0, rotation_deg=angle) for angle in (0, 30))
        x, y = mesh(40e-6, 50)
        c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
        assert turned.height(c * x - s * y, s * x + c * y) == pytest.approx(straight.height(x, y), abs=1e-15)


class TestLayers:
    def test_each_step_is_as_high_as_its_layers(self):
        stair = samples.hopg_steps(layers=(1, -2, 3), roughness_m=0.0, width_m=1e-9)
        for number, layers in enumerate((1, -2, 3), 1):
            at, turn = stair.truth[f"step_{number}_at_m"], np.radians(stair.truth[f"step_{number}_direction_deg"])
            places = at + np.array([-1, 1]) * 15e-9
            z = stair.height(places * np.cos(turn), places * np.sin(turn))
            assert z[1] - z[0] == pytest.approx(layers * samples.LAYER_M, rel=1e-6)
            assert stair.truth[f"step_{number}_height_m"] == pytest.approx(layers * 0.335e-9)

    def test_flakes_lie_where_the_truth_says_and_nowhere_else(self):
        flakes = samples.graphene_flakes(layers=(1, 2, 5, 10), roughness_m=0.0, seed=6)
        truth = flakes.truth
        assert (truth["flakes"], truth["thinnest_layers"]) == (4, 1)
        assert truth[f"flake_{truth['thinnest_flake']}_layers"] == 1
        for number, layers in enumerate((1, 2, 5, 10), 1):
            x, y = truth[f"flake_{number}_center_x_m"], truth[f"flake_{number}_center_y_m"]
            assert flakes.height(x, y) == pytest.approx(layers * 0.335e-9, rel=1e-6)
            assert flakes.friction(x, y) == pytest.approx(0.02)
            ring = np.linspace(0, 2 * np.pi, 60)
            near = truth[f"flake_{number}_inner_radius_m"] - 30e-9
            z = flakes.height(x + near * np.cos(ring), y + near * np.sin(ring))
            assert z == pytest.approx(layers * 0.335e-9, rel=1e-3)
        z = flakes.height(*mesh(12e-6, 300)) / 0.335e-9
        assert {0, 1, 2, 5, 10} <= set(np.round(z[np.abs(z - np.round(z)) < 1e-3]).astype(int)) <= {0, 1, 2, 5, 10}
        assert (z < 0.5).mean() > 0.5

    @pytest.mark.parametrize("layers", [(), (0,), (2000,)])
    def test_steps_and_flakes_that_cannot_be(self, layers):
        with pytest.raises(TwinError, match="layers must list"):
            samples.hopg_steps(layers=layers)
        with pytest.raises(TwinError, match="layers must list"):
            samples.graphene_flakes(layers=layers)


class TestParticles:
    def test_number_and_height_are_the_truth(self):
        from scipy.ndimage import label, maximum

        some = samples.nanoparticles(count=40, roughness_m=0.0, seed=8)
        z = some.height(*mesh(5.5e-6, 1100))
        found, count = label(z > 1e-9)
        assert count == some.truth["particles"] == 40
        tops = maximum(z, found, range(1, count + 1))
        assert np.mean(tops) == pytest.approx(some.truth["mean_height_m"], rel=0.01)
        assert np.std(tops) == pytest.approx(some.truth["std_height_m"], rel=0.03)

    def test_too_many_have_no_room(self):
        with pytest.raises(TwinError, match="no room for 900 particles"):
            samples.nanoparticles(size_m=1e-6, count=900, radius_m=(40e-9, 50e-9))
        with pytest.raises(TwinError, match="radius_m must rise"):
            samples.nanoparticles(radius_m=(60e-9, 25e-9))


class TestRoughSurface:
    @pytest.mark.parametrize("hurst", [0.5, 0.7, 0.9])
    def test_rms_and_hurst_exponent_are_the_truth(self, hurst):
        surface = samples.rough_surface(size_m=10e-6, rms_m=5e-9, correlation_m=1e-6, hurst=hurst, seed=1)
        pixel = surface.truth["tile_pixel_m"]
        along = np.arange(1024) * pixel - 5e-6
        x, y = np.meshgrid(along, along)
        z = surface.height(x, y)
        assert z.std() == pytest.approx(5e-9, rel=1e-6)
        # Above the correlation length's wave number, the power of an area falls as q^-2(1 + H).
        q = np.hypot(*np.meshgrid(np.fft.fftfreq(1024), np.fft.fftfreq(1024)))
        power = np.abs(np.fft.fft2(z)) ** 2
        ring = (q > 0.03) & (q < 0.3)
        slope = np.polyfit(np.log(q[ring]), np.log(power[ring]), 1)[0]
        assert slope == pytest.approx(-2 * (1 + hurst), abs=0.1)

    def test_it_repeats_beyond_its_edge(self):
        surface = samples.rough_surface(size_m=10e-6)
        assert surface.height(1e-6, 2e-6) == pytest.approx(surface.height(11e-6, -8e-6))

    @pytest.mark.parametrize(
        "change", [{"rms_m": 0.0}, {"rms_m": float("nan")}, {"hurst": 1.1}, {"correlation_m": 5e-6}, {"size_m": -1.0}]
    )
    def test_surfaces_that_cannot_be(self, change):
        with pytest.raises(TwinError):
            samples.rough_surface(**change)


class TestIndents:
    @pytest.mark.parametrize("kind", sorted(INDENTERS))
    def test_area_by_depth_squared_is_the_indenters(self, kind):
        print_ = samples.indent(kind, depth_m=1e-6, roughness_m=0.0)
        x, y = mesh(36e-6, 1800)
        z = print_.height(x, y)
        area = (z < 0).sum() * (36e-6 / 1800) ** 2
        assert z.min() == pytest.approx(-1e-6, rel=0.03)
        assert area / 1e-12 == pytest.approx(INDENTERS[kind], rel=0.02)
        assert print_.truth["area_by_depth_squared"] == pytest.approx(INDENTERS[kind], rel=1e-3)

    def test_a_ball_leaves_a_cap(self):
        cap = samples.indent("sphere", depth_m=1e-6, ball_radius_m=10e-6, roughness_m=0.0)
        assert cap.truth["projected_area_m2"] == pytest.approx(np.pi * (2 * 10e-6 * 1e-6 - 1e-12))
        edge = np.sqrt(cap.truth["projected_area_m2"] / np.pi)
        assert cap.height(edge * 0.99, 0.0) < 0 == cap.height(edge * 1.01, 0.0)

    def test_recovery_lifts_the_depth_and_leaves_the_outline(self):
        loaded = samples.indent("Vickers", depth_m=3e-6, roughness_m=0.0)
        left = samples.indent("Vickers", depth_m=2.1e-6, recovery=0.3, blunting_m=200e-9, roughness_m=0.0)
        x, y = mesh(30e-6, 600)
        assert ((left.height(x, y) < 0) == (loaded.height(x, y) < 0)).all()
        assert left.truth["projected_area_m2"] == pytest.approx(loaded.truth["projected_area_m2"])
        assert left.truth["area_by_depth_squared"] == pytest.approx(24.504 / 0.7**2, rel=1e-3)
        assert left.height(0.0, 0.0) == pytest.approx(-2.1e-6)

    def test_blunting_rounds_the_apex(self):
        sharp, blunt = (samples.indent("Vickers", roughness_m=0.0, blunting_m=size) for size in (0.0, 300e-9))
        near = 0.1e-6
        rise = [one.height(near, 0.0) - one.height(0.0, 0.0) for one in (sharp, blunt)]
        assert rise[1] < 0.3 * rise[0]

    def test_a_rim_stands_as_high_as_the_truth_says(self):
        rimmed = samples.indent("Vickers", pile_up=0.1, roughness_m=0.0)
        z = rimmed.height(*mesh(40e-6, 400))
        assert z.max() == pytest.approx(rimmed.truth["pile_up_m"], rel=0.01)
        assert rimmed.height(34e-6, 34e-6) == pytest.approx(0.0, abs=1e-9)

    @pytest.mark.parametrize(
        ("kind", "change", "match"),
        [
            ("Rockwell", {}, "there is no indenter 'Rockwell'; there are: Vickers, Berkovich"),
            ("sphere", {"depth_m": 6e-6, "ball_radius_m": 5e-6}, "take a larger ball"),
            ("Knoop", {"depth_m": 3e-6}, "no room"),
            ("Vickers", {"recovery": 0.95}, "recovery must lie in"),
            ("Vickers", {"depth_m": float("nan")}, "depth_m must be a finite number"),
            ("Vickers", {"center_m": (30e-6, 0.0)}, "no room"),
        ],
    )
    def test_prints_that_cannot_be(self, kind, change, match):
        with pytest.raises(TwinError, match=match):
            samples.indent(kind, **change)


@functools.cache
def shallow(kind: str) -> samples.Sample:
    return samples.indent(kind, depth_m=0.5e-6)


MAKERS = {
    "grid": samples.calibration_grid,
    "steps": samples.hopg_steps,
    "flakes": samples.graphene_flakes,
    "particles": samples.nanoparticles,
    "rough": samples.rough_surface,
    "indent": lambda **more: samples.indent("Berkovich", **more),
}


class TestEverySample:
    @pytest.mark.parametrize("name", sorted(MAKERS))
    def test_seeds_bounds_and_truth(self, name):
        make = MAKERS[name]
        one, same, other = make(seed=3), make(seed=3), make(seed=4)
        x, y = mesh(one.size_m[0], 200)
        assert one.height(x, y).tobytes() == same.height(x, y).tobytes()
        assert one.height(x, y).tobytes() != other.height(x, y).tobytes()
        assert dict(one.truth) == dict(same.truth)
        assert np.ptp(one.height(x, y)) <= one.relief_m * 1.0001
        slope = np.abs(np.diff(one.height(x, y), axis=1)).max() / (one.size_m[0] / 200)
        assert slope <= one.steepest * 1.0001
        assert all(isinstance(value, float | int | str) for value in one.truth.values())
        assert one.friction(x, y).shape == x.shape
        with pytest.raises(TypeError):
            one.truth["kind"] = "another"

    @given(x=st.floats(-1e-5, 1e-5), y=st.floats(-1e-5, 1e-5), kind=st.sampled_from(sorted(INDENTERS)))
    @settings(max_examples=50, deadline=None)
    def test_a_height_is_the_same_alone_and_in_an_array(self, x, y, kind):
        sample = shallow(kind)
        assert sample.height(x, y) == sample.height([x, 0.0], [y, 0.0])[0]
        assert sample.height(x, y).shape == ()

    def test_how_it_is_mounted(self):
        base = samples.hopg_steps()
        tilted = base.mounted(tilt_x_deg=1.0, adhesion_n=5e-9)
        assert (tilted.tilt_deg, tilted.adhesion_n, base.tilt_deg) == ((1.0, 0.0), 5e-9, (0.0, 0.0))
        assert tilted.height(1e-7, 0.0) == base.height(1e-7, 0.0)
        for wrong in ({"tilt_x_deg": 45.0}, {"tilt_y_deg": float("nan")}, {"adhesion_n": -1e-9}):
            with pytest.raises(TwinError):
                base.mounted(**wrong)


class TestMeasuredSurface:
    def test_it_is_the_image_with_straight_lines_between(self):
        image = np.random.default_rng(0).normal(size=(5, 7)) * 1e-9
        surface = samples.measured_surface(image, (2e-9, 3e-9))
        x = (np.arange(7) - 3) * 2e-9
        y = (np.arange(5) - 2) * 3e-9
        assert surface.height(*np.meshgrid(x, y)) == pytest.approx(image, abs=1e-14)
        assert surface.height(1e-9, 0.0) == pytest.approx((image[2, 3] + image[2, 4]) / 2, abs=1e-18)
        assert surface.height(1.0, 1.0) == pytest.approx(image[-1, -1], abs=1e-14)

    @pytest.mark.parametrize("image", [np.zeros((1, 9)), np.full((3, 3), np.nan), np.zeros(9)])
    def test_what_is_no_image(self, image):
        with pytest.raises(TwinError, match="image of 2 × 2 finite heights"):
            samples.measured_surface(image, (1e-9, 1e-9))
