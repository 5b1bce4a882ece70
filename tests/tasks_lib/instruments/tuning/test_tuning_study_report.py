"""A study on disk: rows that survive a kill, a table whose numbers are the rows', a plot that shows them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.tuning.study import StudyCase, StudyRow, summarise
from tasks_lib.instruments.tuning.study_report import append_row, read_rows, rows_of, study_plot, study_table
from tasks_lib.records.errors import ConfigurationError


def row(seed: int, *, ssim: float | None = 0.9, strategy: str = "sobol", scene: str = "grid", **fields) -> StudyRow:
    case = StudyCase(scene=scene, strategy=strategy, objective="tracking", seed=seed, budget=3)
    plain = {"scans": 3, "first_hit": 2, "pick": Gains(p=0, i=1), "stable": True, "fresh_error": 0.1}
    return StudyRow(case=case, fresh_ssim=ssim, **(plain | fields))


def test_rows_come_back_and_a_torn_one_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    assert read_rows(path) == {}
    rows = [row(0), row(1, ssim=None, first_hit=None, pick=None, fresh_error=None)]
    for one in rows:
        append_row(path, one)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"case": {"scene": "gr')
    assert list(read_rows(path).values()) == rows
    append_row(path, row(2))
    assert list(read_rows(path)) == [one.case for one in (*rows, row(2))]
    assert rows_of(read_rows(path), [row(7).case, row(1).case]) == [rows[1]]


def test_a_file_of_something_else_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    append_row(path, row(0))
    with path.open("a", encoding="utf-8") as file:
        file.write("{}\n")
    with pytest.raises(ConfigurationError, match=r"rows.jsonl:2 is no row of a study"):
        read_rows(path)


def test_the_table_says_what_the_rows_say() -> None:
    rows = [row(0), row(1, ssim=0.7, stable=False, first_hit=None)]
    rows += [row(seed, strategy="random", first_hit=3) for seed in range(2)]
    lines = study_table(summarise(rows)).splitlines()
    # The better strategy of a scene first; Wilson, 2 of 2: E. B. Wilson, J. Am. Stat. Assoc. 22, 209 (1927).
    assert lines[2] == "| grid | random | tracking | 2/2 (34–100) | 2/2 | 3 | 3 | 0.900 | 0.100 |"
    assert lines[3] == "| grid | sobol | tracking | 1/2 (9–91) | 1/2 | 3 | 2 | 0.800 | 0.100 |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| grid", "| grid", "| all", "| all"]


def test_the_plot_shows_other_rates_elsewhere() -> None:
    def drawn(*ssim: float) -> np.ndarray:
        data = study_plot(summarise([row(seed, ssim=one) for seed, one in enumerate(ssim)]))
        with Image.open(io.BytesIO(data)) as picture:
            return np.asarray(picture.convert("RGB"))

    def blue(picture: np.ndarray) -> float:
        """Where the marks of the rate are, in pixels from the left."""
        return float(np.mean(np.argwhere((picture == (0, 0x72, 0xB2)).all(axis=2))[:, 1]))

    assert blue(drawn(0.9, 0.9)) > blue(drawn(0.9, 0.1)) > blue(drawn(0.1, 0.1))
    assert np.array_equal(drawn(0.9, 0.1), drawn(0.9, 0.1))
