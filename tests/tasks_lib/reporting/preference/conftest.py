"""Two models that did the same five tasks in different ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tasks_lib.evaluation.alignment import TrajectoryFile, parse_trajectories
from tasks_lib.reporting.preference import Study, prepare_study

HOSTILE = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"


def _task(number: int, model: str) -> dict[str, Any]:
    search = {"query": f"tensile strength of alloy {number}", "limit": 5 if model == "alpha-9" else None}
    steps = [{"calls": [{"name": "wiki/search", "arguments": search, "result": f"12 results{HOSTILE}"}]}]
    if model == "alpha-9":
        steps.append({"calls": [
            {"name": "math/mean", "arguments": {"numbers": [401.5, 398.2, 405.0]}, "result": "401.57"},
            {"name": "excel/write_data_to_excel", "arguments": {"filepath": "/data/alloys.xlsx", "sheet": "strength"}},
        ]})  # fmt: skip
    return {
        "id": f"0001000{number}",
        "question": f"Find three values of the tensile strength of alloy {number}, and put their mean into a sheet.",
        "steps": steps,
        "final_reply": f"I am {model.upper()}: the mean of alloy {number} is {401.57 if model == 'alpha-9' else 400}.",
    }


@pytest.fixture
def two_files() -> tuple[TrajectoryFile, TrajectoryFile]:
    first, second = (
        parse_trajectories(json.dumps([_task(n, model) for n in range(5)]).encode(), f"{model}.json")
        for model in ("alpha-9", "beta.v2")
    )
    return first, second


@pytest.fixture
def study_of(two_files: tuple[TrajectoryFile, TrajectoryFile]) -> Callable[..., Study]:
    def make(**options: Any) -> Study:
        return prepare_study(*two_files, ("alpha-9", "beta.v2"), **options)

    return make
