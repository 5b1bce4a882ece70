"""The micrographs: their files, their truth, and that the tasks ask for what follows from it by another way."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image
from scipy import ndimage
from skimage.metrics import structural_similarity

from infra.inputs import microscopy, microscopy_particles
from infra.inputs.__main__ import ROOT
from infra.inputs.micrographs import Disc, discs, fringes, gsf, levels, noise, pixels, scattered, tiff

NM = 1e-9


def _wanted(task: str, criterion: str) -> Any:
    text = (ROOT / "microscopy" / task / "task.yaml").read_text(encoding="utf-8")
    rows = {row["id"]: row["compares"]["want"] for row in yaml.safe_load(text)["criteria"] if "want" in row["compares"]}
    return rows[criterion]


def _gsf(data: bytes) -> tuple[dict[str, str], np.ndarray]:
    """Read a simple field as its description says, without the generator."""
    end = data.index(b"\0")
    head = dict(line.split(" = ") for line in data[:end].decode().splitlines()[1:])
    start = end + 4 - end % 4
    shape = int(head["YRes"]), int(head["XRes"])
    return head, np.frombuffer(data, "<f4", offset=start).reshape(shape).astype(float)


def _map(path: str) -> np.ndarray:
    return _gsf(microscopy.files()[path])[1]


def _picture(path: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(microscopy.files()[path]))).astype(float)


def _particles(path: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(microscopy_particles.files()[path]))).astype(float)


def _level(field: np.ndarray) -> np.ndarray:
    x, y = pixels(field.shape[1], field.shape[0])
    basis = np.stack([x.ravel(), y.ravel(), np.ones(x.size)], axis=1)
    left: np.ndarray = field.ravel() - basis @ np.linalg.lstsq(basis, field.ravel(), rcond=None)[0]
    return left.reshape(field.shape)


def test_fringes_have_the_period_that_was_asked_for() -> None:
    power = np.abs(np.fft.rfft(fringes(240, 4, 12.0, 0.0, 5.0)[0]))
    assert int(np.argmax(power)) == 20


def test_the_noise_has_the_deviation_asked_for_smoothed_or_not() -> None:
    for smooth in (0.0, 3.0):
        assert noise(64, 48, 2.5, 7, smooth=smooth).std() == pytest.approx(2.5)
    assert np.array_equal(noise(16, 16, 1.0, 3), noise(16, 16, 1.0, 3))


def test_a_pixel_belongs_to_a_disc_where_its_middle_does() -> None:
    assert discs(7, 7, (Disc(3.0, 3.0, 1.0, 2.0),)).sum() == 5 * 2.0


def test_scattered_discs_touch_neither_each_other_nor_the_edge() -> None:
    found = scattered(12, 128, (4.0, 8.0), 1.0, 5, gap=3.0)
    for at, one in enumerate(found):
        assert min(one.x, one.y, 127 - one.x, 127 - one.y) >= one.radius + 3.0
        for other in found[:at]:
            assert np.hypot(one.x - other.x, one.y - other.y) > one.radius + other.radius + 3.0


def test_grey_levels_are_cut_at_the_ends_of_the_type() -> None:
    assert levels(np.array([[-3.0, 1.4, 999.0]]), np.uint8).tolist() == [[0, 1, 255]]


@pytest.mark.parametrize("title", ["a", "ab", "abc", "abcd"])
def test_a_simple_field_is_read_as_its_description_says(title: str) -> None:
    head, field = _gsf(gsf(np.arange(12.0).reshape(3, 4), 2e-9, title))
    assert (head["Title"], float(head["XReal"]), float(head["YReal"])) == (title, 8e-9, 6e-9)
    assert field.tolist() == np.arange(12.0).reshape(3, 4).tolist()


def test_a_tiff_holds_its_scale_as_imagej_writes_it() -> None:
    tifffile = pytest.importorskip("tifffile")
    data = tiff(np.zeros((4, 4), np.uint8), 0.025, "nm", (3.0, 9.0))
    with tifffile.TiffFile(io.BytesIO(data)) as file:
        assert file.imagej_metadata == {"ImageJ": "1.53t", "unit": "nm", "min": 3.0, "max": 9.0}
        above, below = file.pages[0].tags["XResolution"].value
    assert above / below == pytest.approx(40.0)


def test_levelling_the_tilted_film_gives_what_the_task_wants() -> None:
    film = _map("tilted-film/inputs/film.gsf")
    left = _level(film)
    assert left.std() / NM == pytest.approx(_wanted("tilted-film", "plane-removed"), abs=0.001)
    assert np.ptp(left) / NM == pytest.approx(_wanted("tilted-film", "heights-kept"), abs=0.002)
    assert film.std() > 4.0 * left.std()


def test_the_pixels_of_the_planes_are_a_fortieth_of_a_nanometre() -> None:
    assert _wanted("scale-bar", "pixel-size") == microscopy.PLANES_PIXEL
    assert _wanted("scale-bar", "bar-length") == [round(1.5 / microscopy.PLANES_PIXEL)]


def test_dust_stands_above_the_range_of_the_film() -> None:
    film = _map("dusty-film/inputs/polymer.gsf")
    assert film.max() / NM == pytest.approx(_wanted("dusty-film", "heights-kept"), abs=0.001)
    low, high = _wanted("dusty-film", "fixed-range")
    assert np.mean((film > low * NM) & (film < high * NM)) > 0.98


def test_the_piece_of_the_flakes_is_told_from_its_neighbours() -> None:
    flakes = _map("flake-cut-out/inputs/flakes.gsf")
    wanted = _wanted("flake-cut-out", "right-piece")
    assert flakes[20:84, 48:144].mean() / NM == pytest.approx(wanted, abs=0.0005)
    for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        assert abs(flakes[20 + dy : 84 + dy, 48 + dx : 144 + dx].mean() / NM - wanted) > 0.02
    head, _ = _gsf(microscopy.files()["flake-cut-out/inputs/flakes.gsf"])
    pixel = float(head["XReal"]) / 192 / NM
    assert (96 * pixel, 20 * pixel) == pytest.approx(
        (_wanted("flake-cut-out", "size"), _wanted("flake-cut-out", "place-kept"))
    )


def test_the_grating_is_corrected_by_size_and_factor() -> None:
    grating = _map("grating-calibration/inputs/grating.gsf")
    assert grating.std() * 0.88 / NM == pytest.approx(_wanted("grating-calibration", "depth"), abs=0.001)
    assert _wanted("grating-calibration", "width") * NM == pytest.approx(microscopy.GRATING_TRUE)


def test_the_region_of_the_flat_field_has_the_noise_of_one_amplifier() -> None:
    flat = _picture("camera-noise/inputs/flat.tif")
    region = flat[40:120, 110:150]
    assert [region.mean()] == pytest.approx(_wanted("camera-noise", "mean"), abs=0.001)
    assert [region.std(ddof=1)] == pytest.approx(_wanted("camera-noise", "standard-deviation"), abs=0.001)
    assert [region.size] == _wanted("camera-noise", "area")
    for moved in (flat[40:120, 111:151], flat[40:120, 109:149], flat[41:121, 110:150], flat[39:119, 110:150]):
        assert abs(moved.mean() - region.mean()) > 0.004 or abs(moved.std() - region.std()) > 0.004


def test_the_beam_needs_sixteen_bits() -> None:
    pattern = _picture("diffraction-range/inputs/pattern.tif")
    assert pattern.std() == pytest.approx(_wanted("diffraction-range", "counts-kept"), abs=0.01)
    assert pattern.max() > 50_000


@pytest.mark.parametrize("threshold", [90, 100, 110])
def test_the_particles_are_found_again_by_labelling(threshold: int) -> None:
    picture = _picture("particle-count/inputs/darkfield.tif")
    labels, count = ndimage.label(picture >= threshold, np.ones((3, 3)))
    edge = {*labels[0], *labels[-1], *labels[:, 0], *labels[:, -1]}
    areas = {at: (labels == at).sum() * microscopy.PARTICLE_PIXEL**2 for at in range(1, count + 1) if at not in edge}
    kept = sorted(area for area in areas.values() if area >= 40.0)
    assert len(kept) == _wanted("particle-count", "count")
    gold = microscopy.particle_table().decode().splitlines()[1:]
    assert kept == pytest.approx([float(row) for row in gold], abs=0.65)
    assert len(areas) - len(kept) == len(microscopy.SPECKS)


def test_the_smoothed_planes_are_what_another_library_smooths() -> None:
    planes = _picture("smoothed-planes/inputs/planes.tif")
    wanted = _wanted("smoothed-planes", "smoothed")
    inside = slice(32, 224)

    def contrast(sigma: float) -> float:
        return float(np.rint(ndimage.gaussian_filter(planes, sigma, mode="nearest"))[inside, inside].std())

    assert contrast(3.0) == pytest.approx(wanted, abs=0.02)
    assert all(abs(contrast(sigma) - wanted) > 2.0 for sigma in (2.0, 2.5, 3.5))


def test_the_piece_of_the_planes_keeps_mean_and_contrast_when_pixels_are_copied() -> None:
    piece = _picture("enlarged-piece/inputs/planes.tif")[70:118, 100:164]
    copied = np.kron(piece, np.ones((3, 3)))
    assert copied.mean() == pytest.approx(_wanted("enlarged-piece", "right-piece"), abs=0.001)
    assert copied.std() == pytest.approx(_wanted("enlarged-piece", "no-interpolation"), abs=0.001)
    wanted = _wanted("enlarged-piece", "calibration-followed")
    assert wanted == pytest.approx(microscopy.PLANES_PIXEL / 3, abs=1e-6)


def test_the_box_holds_the_hole() -> None:
    (box,) = _wanted("marked-hole", "box")
    hole = microscopy.HOLE
    assert box["x"] < hole.x - hole.radius < hole.x + hole.radius < box["x"] + box["width"]
    assert box["y"] < hole.y - hole.radius < hole.y + hole.radius < box["y"] + box["height"]


def test_the_islands_are_counted_on_the_level_map() -> None:
    level = _level(_map("catalyst-islands/inputs/islands.gsf"))
    level -= level.min()
    assert np.median(level) / NM == pytest.approx(_wanted("catalyst-islands", "level"), abs=0.002)
    labels, count = ndimage.label(level >= 9 * NM)
    sizes = ndimage.sum_labels(np.ones_like(level), labels, range(1, count + 1))
    kept = sizes[sizes >= 40]
    assert (len(kept), count) == (_wanted("catalyst-islands", "islands-marked"), len(kept) + len(microscopy.CRUMBS))
    assert kept.sum() / level.size == pytest.approx(_wanted("catalyst-islands", "area-marked"), abs=1e-5)
    pixel = (microscopy.ISLAND_PIXEL / NM) ** 2
    assert kept.mean() * pixel == pytest.approx(_wanted("catalyst-islands", "mean-area-reported"), abs=0.1)
    assert kept.sum() == discs(192, 192, microscopy.TALL_ISLANDS).astype(bool).sum()


def test_the_profile_is_that_of_its_strip_alone() -> None:
    picture = _picture("fringe-profile/inputs/gold.tif")
    gold = np.loadtxt(io.BytesIO(microscopy.gold_profile()), delimiter=",", skiprows=1)
    x, y, width, height = microscopy.PROFILE
    assert gold[:, 1] == pytest.approx(picture[y : y + height, x : x + width].mean(axis=0), abs=1e-4)
    assert gold[3, 1] == pytest.approx(_wanted("fringe-profile", "first-fringe"), abs=0.01)
    assert (len(gold), gold[1, 0]) == (200, microscopy.GOLD_PIXEL)
    power = np.abs(np.fft.rfft(gold[:, 1] - gold[:, 1].mean()))
    assert width * microscopy.GOLD_PIXEL / int(np.argmax(power)) == pytest.approx(microscopy.GOLD_111, abs=0.01)
    moved = picture[y + 1 : y + 1 + height, x : x + width].mean(axis=0)
    assert np.abs(moved - gold[:, 1]).max() > 1.0
    strip = np.asarray(Image.open(io.BytesIO(microscopy.files()["fringe-profile/gold/strip.png"])))
    assert np.array_equal(strip, picture[y : y + height, x : x + width])
    lower = structural_similarity(strip.astype(float), picture[y + 1 : y + 1 + height, x : x + width], data_range=255)
    assert lower == pytest.approx(0.5, abs=0.05)


def test_the_spots_of_the_planes_lie_two_over_d_apart() -> None:
    planes = _map("fft-spots/inputs/planes.gsf")
    power = np.abs(np.fft.fftshift(np.fft.fft2(planes - planes.mean())))
    row, column = np.unravel_index(int(np.argmax(power)), power.shape)
    apart = 2.0 * np.hypot(int(row) - 128, int(column) - 128)  # pixels of the transform, 1 / 6.4 nm each
    wanted = _wanted("fft-spots", "spot-distance")
    assert wanted == pytest.approx(2e3 / microscopy.SILICON_111, abs=1.0)
    assert apart * 1e3 / (256 * microscopy.PLANES_PIXEL) == pytest.approx(wanted, abs=200.0)
    down = np.degrees(np.arctan2(int(row) - 128, int(column) - 128))  # Gwyddion counts angles upwards
    assert any(-down == pytest.approx(angle, abs=3.0) for angle in _wanted("fft-spots", "spot-direction"))


def test_lines_aligned_by_medians_differ_from_lines_aligned_by_means() -> None:
    lines = _map("jumping-lines/inputs/lines.gsf")
    aligned = lines - np.median(lines, axis=1, keepdims=True)
    assert aligned.std() / NM == pytest.approx(_wanted("jumping-lines", "lines-aligned"), abs=0.002)
    assert np.ptp(aligned) / NM == pytest.approx(_wanted("jumping-lines", "heights-kept"), abs=0.01)
    means = lines - lines.mean(axis=1, keepdims=True)
    assert abs(means.std() - aligned.std()) > 0.05 * NM
    assert lines.std() > 3.0 * aligned.std()


def test_the_terraces_are_steps_of_one_height_before_they_were_tilted() -> None:
    flat = microscopy.flat_terraces()
    flat = (flat - flat.min()) / NM
    second, top = flat[10:180, 54:86].mean(), flat[10:180, 160:188].mean()
    assert second == pytest.approx(_wanted("stepped-crystal", "second-terrace"), abs=0.001)
    assert top == pytest.approx(_wanted("stepped-crystal", "top-terrace"), abs=0.001)
    assert top - second == pytest.approx(2.0 * microscopy.TERRACE_STEP / NM, abs=0.001)
    plane = _level(_map("stepped-crystal/inputs/terraces.gsf")) / NM
    plane -= plane.min()
    assert abs(plane[10:180, 160:188].mean() - top) > 0.1
    allowed = 0.0003  # rise over run
    along = np.arange(28) * microscopy.TERRACE_PIXEL / NM
    slopes = [np.polyfit(along, field[10:180, 160:188].mean(axis=0), 1)[0] for field in (flat, plane)]
    assert abs(slopes[0] - _wanted("stepped-crystal", "terraces-flat")) < allowed / 10
    assert abs(slopes[1]) > 4 * allowed


def test_touching_pairs_hide_particles_from_a_count() -> None:
    picture = _particles("touching-particles/inputs/pairs.tif")
    _, count = ndimage.label(picture >= 100, np.ones((3, 3)))
    alone, paired = len(microscopy_particles.SINGLES), len(microscopy_particles.PAIRS)
    assert (count, alone + paired) == (alone + paired // 2, _wanted("touching-particles", "count"))
    gold = np.loadtxt(io.BytesIO(microscopy_particles.touching_table()), skiprows=1)
    whole = float((picture >= 100).sum()) * microscopy_particles.TOUCHING_PIXEL**2
    assert (len(gold), gold.sum()) == (24, pytest.approx(whole, rel=1e-6))


def test_the_detail_is_that_of_the_picture_turned_to_the_right() -> None:
    lying = _particles("turned-detail/inputs/lying.tif")
    x, y, width, height = microscopy_particles.DETAIL
    detail = np.rot90(lying, -1)[y : y + height, x : x + width]
    assert detail.mean() == pytest.approx(_wanted("turned-detail", "right-detail"), abs=0.001)
    assert detail.shape[1] == _wanted("turned-detail", "width")
    rise = np.polyfit(np.arange(height), detail.mean(axis=1), 1)[0]
    assert rise == pytest.approx(_wanted("turned-detail", "upright"), abs=0.05)
    for other in (np.rot90(lying, 1), lying):
        assert abs(other[y : y + height, x : x + width].mean() - detail.mean()) > 5.0
