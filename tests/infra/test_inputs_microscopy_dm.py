"""The DigitalMicrograph file of the task in Nion Swift holds its truth, as two other readers see it."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest

from infra.inputs import microscopy_dm
from infra.inputs.__main__ import ROOT
from tasks_lib.evaluation.readers import dm
from tasks_lib.taskdefs import load_task

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from nionswift_plugin.DM_IO import dm3_image_utils

PATH = "lattice-calibration/inputs/silicon.dm3"
FILE = microscopy_dm.files()[PATH]
TASK = load_task(ROOT / "microscopy" / "lattice-calibration").task


def _wanted(criterion: str) -> float:
    (found,) = (entry.compares.want for entry in TASK.criteria if entry.id == criterion)
    assert isinstance(found, float)
    return found


def test_the_file_is_the_generated_one() -> None:
    assert (ROOT / "microscopy" / PATH).read_bytes() == FILE


def test_the_pixels_and_their_calibration_are_read_alike_by_two_readers() -> None:
    (image,) = dm.read_dm(FILE)["images"]
    size = microscopy_dm.SILICON_SIZE
    assert (image["width"], image["height"], image["type"], image["unit"]) == (size, size, "uint16", "nm")
    assert image["pixel-width"] == image["pixel-height"] == pytest.approx(microscopy_dm.SILICON_WRITTEN)
    theirs = dm3_image_utils.load_image(io.BytesIO(FILE))
    assert np.array_equal(theirs.data, microscopy_dm.silicon())
    assert [entry.scale for entry in theirs.dimensional_calibrations] == pytest.approx([0.02, 0.02])
    assert dm.measure(FILE, 0)["sum"] == microscopy_dm.silicon().sum()


def test_the_true_pixel_follows_from_the_spacing_of_the_planes() -> None:
    pixel = microscopy_dm.SILICON_111 / microscopy_dm.SILICON_PERIOD
    assert _wanted("pixel-size") == pytest.approx(pixel)
    assert _wanted("transform-calibration") == pytest.approx(1 / (microscopy_dm.SILICON_SIZE * pixel), abs=1e-6)
    written = 1 / (microscopy_dm.SILICON_SIZE * microscopy_dm.SILICON_WRITTEN)
    assert abs(written - _wanted("transform-calibration")) > 0.003  # the uncorrected scale is far outside


def test_the_brightest_pixel_of_the_transform_is_the_sum_of_the_image() -> None:
    picture = microscopy_dm.silicon().astype(np.float64)
    transform = np.abs(np.fft.fft2(picture, norm="ortho"))
    assert _wanted("transform-values") == pytest.approx(transform.max(), abs=0.05)
    # A pair of spots, and nothing else but noise, where the planes are.
    transform[0, 0] = 0.0
    row, column = np.unravel_index(transform.argmax(), transform.shape)
    assert (row, column % (256 - 16)) == (0, 16)
