"""The study: what a row says is what was scanned, whoever ran it, and summaries count what the rows say."""

from __future__ import annotations

import pytest

from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.tuning.objective import Objective
from tasks_lib.instruments.tuning.study import StudyCase, StudyRow, cases, run_case, run_cases, summarise
from tasks_lib.records.errors import ConfigurationError


def case(seed: int = 0, **changes) -> StudyCase:
    plain = {"scene": "particles", "strategy": "random", "objective": "tracking", "seed": seed, "budget": 3}
    return StudyCase(**(plain | changes))


def row(seed: int, ssim: float | None, stable: bool = True, hit: int | None = None, scene: str = "grid") -> StudyRow:
    return StudyRow(
        case=case(seed, scene=scene), scans=10 + seed, first_hit=hit, pick=Gains(p=0, i=1), stable=stable,
        fresh_ssim=ssim, fresh_error=0.1,
    )  # fmt: skip


def test_a_row_is_the_same_in_another_process() -> None:
    todo = [case(0), case(1)]
    seen: list[StudyRow] = []
    here = run_cases(todo, on_row=seen.append)
    assert here == seen == run_cases(todo, workers=2)
    assert [one.case for one in here] == todo
    assert all(one.scans == 3 and one.pick is not None and 0 < one.fresh_ssim < 1 for one in here)


def test_another_seed_is_other_noise() -> None:
    assert run_case(case(0)).fresh_ssim != run_case(case(0).model_copy(update={"seed": 5})).fresh_ssim


def test_summaries_count_what_the_rows_say() -> None:
    rows = [row(0, 0.9, hit=4), row(1, 0.79), row(2, 0.8, stable=False, hit=8), row(3, None, scene="rough")]
    grid, rough, everything = summarise(reversed(rows))
    assert (grid.scene, grid.searches, grid.reached, grid.stable) == ("grid", 3, 2, 2)
    assert (grid.mean_scans, grid.median_first_hit) == (11, 6)
    assert grid.mean_fresh_ssim == pytest.approx(0.83)
    # Wilson, 2 of 3: E. B. Wilson, J. Am. Stat. Assoc. 22, 209 (1927).
    assert grid.interval == pytest.approx((0.2077, 0.9385), abs=1e-4)
    assert (rough.reached, rough.median_first_hit, rough.mean_fresh_ssim) == (0, None, None)
    assert (everything.scene, everything.searches, everything.reached) == ("all", 4, 2)


def test_a_study_that_is_cut_short_is_fair() -> None:
    todo = cases(["grid", "rough"], [("sobol", Objective.SSIM), ("tpe", Objective.TRACKING)], seeds=2, budget=5)
    assert len(todo) == 8
    assert [(one.seed, one.scene, one.strategy) for one in todo[:4]] == [
        (0, "grid", "sobol"), (0, "grid", "tpe"), (0, "rough", "sobol"), (0, "rough", "tpe"),
    ]  # fmt: skip


def test_an_unknown_scene_ends_a_study() -> None:
    with pytest.raises(ConfigurationError, match="there is no scene"):
        run_case(case(scene="moon"))
