"""The lattice with hum: what the task wants is the picture without hum, and masks of any sensible size give it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image
from scipy import ndimage

from infra.inputs import microscopy_fourier
from infra.inputs.__main__ import ROOT
from infra.inputs.micrographs import levels

X, Y, WIDTH, HEIGHT = microscopy_fourier.MEASURED


def _criterion(name: str) -> dict[str, Any]:
    text = (ROOT / "microscopy" / "humming-lattice" / "task.yaml").read_text(encoding="utf-8")
    (found,) = [row for row in yaml.safe_load(text)["criteria"] if row["id"] == name]
    return found


def _picture() -> np.ndarray:
    (data,) = microscopy_fourier.files().values()
    return np.asarray(Image.open(io.BytesIO(data))).astype(float)


def _filtered(picture: np.ndarray, waves: tuple[int, ...], half: tuple[int, int] = (6, 8), soft: int = 3) -> np.ndarray:
    """Mask boxes around waves along x, `half` their width and height in pixels, with edges `soft` times averaged."""
    mask = np.ones(picture.shape)
    for wave in (*waves, *(-wave for wave in waves)):
        mask[128 - half[1] : 129 + half[1], 128 + wave - half[0] : 129 + wave + half[0]] = 0.0
    for _ in range(soft):
        mask = ndimage.uniform_filter(mask, 3)
    spectrum = np.fft.fftshift(np.fft.fft2(picture))
    back: np.ndarray = np.fft.ifft2(np.fft.ifftshift(spectrum * mask)).real
    return np.clip(np.rint(back), 0, 255)


def _seen(picture: np.ndarray) -> dict[str, float]:
    part = picture[Y : Y + HEIGHT, X : X + WIDTH]
    return {
        "hum-removed": picture[:, 1].mean(),
        "harmonic-removed": picture[:, 2].mean(),
        "lattice-kept": picture.std(),
        "mean-measured": part.mean(),
        "deviation-measured": part.std(ddof=1),
    }


def _met(picture: np.ndarray) -> set[str]:
    met = set()
    for name, value in _seen(picture).items():
        compares = _criterion(name)["compares"]
        (want,) = np.atleast_1d(compares["want"])
        if abs(value - want) <= float(compares["tolerance"].split()[0]):
            met.add(name)
    return met


def test_the_columns_that_are_judged_are_those_of_the_criteria() -> None:
    assert _criterion("hum-removed")["reads"]["region"] == [1, 0, 1, microscopy_fourier.SIZE]
    assert _criterion("harmonic-removed")["reads"]["region"] == [2, 0, 1, microscopy_fourier.SIZE]


def test_what_is_wanted_is_the_picture_without_hum() -> None:
    clean = _seen(levels(microscopy_fourier.clean_lattice(), np.uint8).astype(float))
    assert clean["lattice-kept"] == pytest.approx(_criterion("lattice-kept")["compares"]["want"], abs=0.001)
    assert [clean["mean-measured"]] == pytest.approx(_criterion("mean-measured")["compares"]["want"], abs=0.005)
    assert [clean["deviation-measured"]] == pytest.approx(
        _criterion("deviation-measured")["compares"]["want"], abs=0.001
    )
    for column in ("hum-removed", "harmonic-removed"):
        assert _criterion(column)["compares"]["want"] == microscopy_fourier.GROUND
        assert clean[column] == pytest.approx(microscopy_fourier.GROUND, abs=0.5)


@pytest.mark.parametrize("half", [(2, 4), (3, 5), (6, 8), (9, 9)])
@pytest.mark.parametrize("soft", [0, 3])
def test_masks_of_any_sensible_size_meet_every_criterion(half: tuple[int, int], soft: int) -> None:
    waves = (microscopy_fourier.HUM_WAVES, 2 * microscopy_fourier.HUM_WAVES)
    assert len(_met(_filtered(_picture(), waves, half, soft))) == 5


def test_hum_that_is_left_is_seen() -> None:
    wave = microscopy_fourier.HUM_WAVES
    assert _met(_picture()) == set()
    assert _met(_filtered(_picture(), (wave,))) == {"hum-removed", "mean-measured"}
    assert _met(_filtered(_picture(), (2 * wave,))) == {"harmonic-removed"}


def test_the_grey_levels_of_the_picture_are_not_cut() -> None:
    picture = _picture()
    assert (picture.min() > 0, picture.max() < 255) == (True, True)
