"""The generated inputs: what they hold, that they are the committed bytes, and that their truth can be found again."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import curve_fit

from infra.inputs import figures, mixed, xps
from infra.inputs.__main__ import ROOT, everything, main
from infra.inputs.spectra import Line, axis, count, profile, shirley, two_columns


def _spectrum(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.loadtxt(io.BytesIO(data), unpack=True)
    return x, y


def _without_shirley(x: np.ndarray, y: np.ndarray, passes: int = 50) -> np.ndarray:
    """Shirley's rule on measured counts, by fixed-point iteration from the mean of three channels at each end."""
    low, high = y[:3].mean(), y[-3:].mean()
    background = np.full_like(y, low)
    for _ in range(passes):
        background = shirley(x, y - background, low, high)
    return y - background


def test_a_line_has_the_area_of_its_samples() -> None:
    line = Line(50.0, 1000.0, 2.0)
    x = axis(30.0, 70.0, 0.01)
    assert np.trapezoid(profile(x, (line,)), x) == pytest.approx(line.area, rel=1e-9)


def test_half_height_lies_half_a_width_from_the_centre() -> None:
    assert profile(np.array([284.3]), (Line(284.8, 800.0, 1.0),))[0] == pytest.approx(400.0)


def test_the_shirley_background_runs_from_low_to_high_and_rises_under_the_peak_alone() -> None:
    x = axis(280.0, 290.0, 0.1)
    signal = profile(x, (Line(285.0, 1000.0, 1.0),))
    background = shirley(x, signal, 100.0, 300.0)
    assert (background[0], background[-1]) == (100.0, pytest.approx(300.0))
    assert np.all(np.diff(background) >= 0.0)
    assert background[np.searchsorted(x, 285.0)] == pytest.approx(200.0, abs=15.0)


def test_counts_repeat_with_the_seed_and_scatter_like_counts() -> None:
    expected = np.full(4000, 400.0)
    assert np.array_equal(count(expected, 5), count(expected, 5))
    assert not np.array_equal(count(expected, 5), count(expected, 6))
    assert count(expected, 5).std() == pytest.approx(20.0, rel=0.1)


def test_an_axis_prints_without_a_tail() -> None:
    text = two_columns(axis(279.0, 279.3, 0.1), np.array([1, 2, 3, 4]), ("head",)).decode()
    assert text == "# head\n279.00\t1\n279.10\t2\n279.20\t3\n279.30\t4\n"


@pytest.mark.parametrize(
    ("path", "lines", "shift"),
    [
        ("c1s-two-components/inputs/c1s_polymer.xy", xps.POLYMER_C1S, 0.0),
        ("charge-correction/inputs/c1s.xy", xps.CARBON_C1S, xps.CHARGE_SHIFT),
        ("charge-correction/inputs/o1s.xy", xps.OXIDE_O1S, xps.CHARGE_SHIFT),
    ],
)
def test_the_truth_of_a_two_line_region_is_found_again(path: str, lines: tuple[Line, ...], shift: float) -> None:
    x, y = _spectrum(xps.files()[path])
    net = _without_shirley(x, y)

    def model(energy: np.ndarray, *p: float) -> np.ndarray:
        return profile(energy, (Line(p[0], p[1], p[2]), Line(p[3], p[4], p[5])))

    start = [value for line in lines for value in (line.centre + shift + 0.05, line.height * 0.9, line.fwhm * 1.1)]
    found, _ = curve_fit(model, x, net, p0=start, sigma=np.sqrt(y))
    for line, (centre, height, fwhm) in zip(lines, found.reshape(2, 3), strict=True):
        # Half of what the tasks allow.
        assert centre - shift == pytest.approx(line.centre, abs=0.05)
        assert Line(centre, height, fwhm).area == pytest.approx(line.area, rel=0.1)


def test_the_silicon_doublet_is_one_to_two() -> None:
    strong, weak, oxide = xps.SILICON_SI2P
    assert weak.area == pytest.approx(strong.area / 2.0)
    assert weak.centre - strong.centre == pytest.approx(xps.SILICON_SPLITTING)
    assert oxide.area / (strong.area + weak.area) == pytest.approx(0.541, abs=0.001)


def test_charging_moves_both_regions_alike() -> None:
    carbon, _ = _spectrum(xps.files()["charge-correction/inputs/c1s.xy"])
    x, y = _spectrum(xps.files()["charge-correction/inputs/c1s.xy"])
    assert x[np.argmax(y)] - xps.CHARGE_SHIFT == pytest.approx(284.8, abs=0.15)
    x, y = _spectrum(xps.files()["charge-correction/inputs/o1s.xy"])
    assert x[np.argmax(y)] - xps.CHARGE_SHIFT == pytest.approx(xps.OXIDE_O1S[0].centre, abs=0.25)
    assert len(carbon) == 131


def test_the_diffractometer_writes_decimal_commas_below_a_units_row() -> None:
    rows = figures.thin_film_pattern().decode("utf-8").splitlines()
    assert rows[1:3] == ["two_theta;as_deposited;annealed", "deg;counts;counts"]
    angles = [float(row.split(";")[0].replace(",", ".")) for row in rows[3:]]
    assert (angles[0], angles[-1], len(angles)) == (20.0, 80.0, 1501)


def test_anatase_shows_after_annealing_alone() -> None:
    rows = [row.split(";") for row in figures.thin_film_pattern().decode("utf-8").splitlines()[3:]]
    near = [row for row in rows if abs(float(row[0].replace(",", ".")) - 25.28) < 0.2]
    before, after = (np.mean([float(row[column]) for row in near]) for column in (1, 2))
    assert after > 4.0 * before


def test_the_cycler_leaves_gaps_in_the_efficiency_alone() -> None:
    rows = [row.split(",") for row in figures.cycling().decode("utf-8").splitlines()]
    assert rows[1] == ["1", "mAh/g", "%"]
    assert [int(row[0]) for row in rows[2:] if row[2] == ""] == list(figures.LOST_CYCLES)
    assert all(140.0 < float(row[1]) < 165.0 for row in rows[2:])


@pytest.mark.parametrize(
    ("cif", "a", "c", "seen"),
    [
        (mixed.anatase_cif(), mixed.ANATASE_A, mixed.ANATASE_C, tuple(mixed.ANATASE_SEEN)),
        (mixed.silicon_cif(), mixed.SILICON_A, mixed.SILICON_A, mixed.SILICON_SEEN),
    ],
)
def test_the_cells_diffract_where_braggs_law_says(
    cif: bytes, a: float, c: float, seen: tuple[tuple[int, int, int], ...]
) -> None:
    diffraction = pytest.importorskip("pymatgen.analysis.diffraction.xrd")
    structure = pytest.importorskip("pymatgen.core").Structure.from_str(cif.decode(), fmt="cif")
    pattern = diffraction.XRDCalculator(mixed.CU_K_ALPHA_1).get_pattern(structure, two_theta_range=(20, 60))
    assert list(pattern.x) == pytest.approx([mixed.two_theta(hkl, a, c) for hkl in seen], abs=1e-3)


def test_silicon_heights_agree_with_another_table_of_scattering_factors() -> None:
    diffraction = pytest.importorskip("pymatgen.analysis.diffraction.xrd")
    structure = pytest.importorskip("pymatgen.core").Structure.from_str(mixed.silicon_cif().decode(), fmt="cif")
    pattern = diffraction.XRDCalculator(mixed.CU_K_ALPHA_1).get_pattern(structure, two_theta_range=(20, 60))
    # The task allows 3 % of a height; tables of scattering factors differ by less than a third of that.
    assert [100.0 * y for y in pattern.y] == pytest.approx(list(mixed.silicon_heights().values()), rel=0.01)


def test_the_simulated_profile_has_its_lines_where_and_as_wide_as_asked() -> None:
    x, y = _spectrum(mixed.silicon_profile())
    assert (len(x), x[0], x[-1], y.max()) == (2001, 20.0, 60.0, pytest.approx(mixed.PROFILE_TOP, rel=1e-3))
    above = x[(y > mixed.PROFILE_TOP / 2.0) & (x < 35.0)]
    assert above[-1] - above[0] == pytest.approx(mixed.PROFILE_FWHM, abs=0.03)
    assert above.mean() == pytest.approx(mixed.two_theta((1, 1, 1), mixed.SILICON_A, mixed.SILICON_A), abs=0.01)


def test_the_corrected_oxygen_region_is_the_measured_one_moved_by_the_shift() -> None:
    measured, counts = _spectrum(xps.oxygen(corrected=False))
    true, same = _spectrum(xps.oxygen(corrected=True))
    assert measured - true == pytest.approx(xps.CHARGE_SHIFT)
    assert np.array_equal(counts, same)


def test_the_committed_files_are_what_the_generators_give() -> None:
    for path, data in everything().items():
        assert (ROOT / path).read_bytes() == data, f"{path} differs: run python -m infra.inputs"


def test_check_says_which_file_differs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("infra.inputs.__main__.ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["inputs"])
    assert main() == 0
    monkeypatch.setattr("sys.argv", ["inputs", "--check"])
    assert main() == 0
    (tmp_path / "figures/cell-cycling/inputs/cycling.csv").write_text("other\n", encoding="utf-8")
    capsys.readouterr()
    assert main() == 1
    differing = [line.split()[1] for line in capsys.readouterr().out.splitlines() if "differs" in line]
    assert differing == ["figures/cell-cycling/inputs/cycling.csv"]
