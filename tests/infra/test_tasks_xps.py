"""The domain `xps`: its size, and that Fityk's own engine earns full points by other ways than the oracle's."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tasks_lib.evaluation import judge
from tasks_lib.records import BlobRef, CollectedFile, Ending, Evidence
from tasks_lib.taskdefs import LoadedTask, load_all

ROOT = Path(__file__).parents[2] / "taskdefs"
TASKS: dict[str, LoadedTask] = {loaded.id: loaded for loaded in load_all(ROOT).tasks if loaded.task.domain == "xps"}
SCREEN_ONLY = {"reversed-energy-axis", "stacked-oxide-growth"}
"""Their pictures come from the window of Fityk, which its engine alone does not have."""

# Right answers, each by a way that the oracle does not take where there is another.
SOLVED = {
    "import-region": "@0 < c1s_sputtered.xy\ninfo state > 'import.fit'",
    "import-four-regions": "@0 < c1s.xy\n@+ < n1s.xy\n@+ < f1s.xy\n@+ < f1s.xy\n@2 < o1s.xy\ninfo state > 'four.fit'",
    "zoom-and-restore": (
        "@0 < c1s.xy\nplot [282.1:286.9] [0:9000]\ninfo state > 'zoomed.fit'\nplot [279:293] [0:9000]\n"
        "info state > 'whole.fit'"
    ),
    "duplicate-survey": "@0 < survey.xy\n@+ < survey.xy\n@1: title = 'working copy'\ninfo state > 'survey.fit'",
    "offset-copy": (
        "@0 < c1s.xy\n@+ < c1s.xy\n@1: Y = 3333 + y\n@1: print all: x, y, s > 'c1s_raised.xy'\n"
        "info state > 'offset.fit'"
    ),
    "linear-background": (
        "@0 < shallow.xy\nA = x < 18 or x > 29\nF = Linear(~500, ~50)\nfit\nA = 1\nY = y - F(x)\nF = 0\n"
        "info state > 'shallow.fit'"
    ),
    "shirley-in-own-slot": (
        "@0 < zn2p.xy\n@+ = @0\n@1 = shirley_bg(@1)\n@1: print all: x, y > 'zn2p_bg.xy'\ninfo state > 'zn2p.fit'"
    ),
    "known-charge-shift": (
        "@0 < o1s.xy\n$seen = 285.66\nX = x + 284.8 - $seen\nprint all: x, y, s, a > 'o1s_shifted.xy'\n"
        "info state > 'o1s.fit'"
    ),
    "smooth-survey": (
        "@0 < survey.xy\n@+ = @0\n@1: Y = 0.2 * y[n] + 0.2 * (y[n+1] + y[n-1]) + 0.2 * (y[n-2] + y[n+2])\n"
        "@1: print all: x, y > 'survey_smooth.xy'\ninfo state > 'smooth.fit'"
    ),
    "automatic-peak": (
        "@0 < zn2p.xy\nguess Gaussian [1020:1024]\nfit\ninfo peaks_err > 'zn2p.peaks'\ninfo state > 'zn2p.fit'"
    ),
    "active-range": (
        "@0 < c1s_k2p.xy\nA = not (x < 280.99) and not (x > 290.01)\nF += Gaussian(~3000, ~285, ~0.6)\nfit\n"
        "info state > 'range.fit'"
    ),
    "report-of-session": "exec n1s_day2.fit\nprint all: x, F(x), y > 'n1s_model.xy'\ninfo peaks_err > 'n1s.peaks'",
    "one-or-two-components": (
        "@0 < o1s.xy\nF = Gaussian(~3000, ~530.5, ~1) + Constant(~200)\nfit\ninfo fit > 'one.txt'\n"
        "info state > 'one.fit'\n"
        "F = Constant(~200) + Gaussian(~1500, ~531.5, ~0.9) + Gaussian(~3500, ~530, ~0.7)\nfit\ninfo fit > 'two.txt'\n"
        "info state > 'two.fit'"
    ),
    "ti2p-constrained": (
        "@0 < ti2p.xy\n@0 = @0 - shirley_bg(@0)\nF = GaussianA(~9000, ~458.5, ~0.6)\n"
        "F += GaussianA(%_1.area / 2, %_1.center + 5.7, ~1)\nfit\ninfo state > 'ti2p.fit'"
    ),
    "atomic-percent": (
        "@0 < c1s.xy\n@+ < n1s.xy\n@+ < o1s.xy\n@0 = @0 - shirley_bg(@0)\n@1 = @1 - shirley_bg(@1)\n"
        "@2 = @2 - shirley_bg(@2)\n@*: guess GaussianA\n@*: fit\n"
        "$n = {%_2.area / 1.8}\n$o = {%_3.area / 2.93}\n$all = {%_1.area + $n + $o}\n"
        "print 100 * %_1.area / $all, 100 * $n / $all, 100 * $o / $all > 'percent.txt'\ninfo state > 'nylon.fit'"
    ),
}

engine = pytest.mark.skipif(shutil.which("cfityk") is None, reason="cfityk is not installed")


def earned(name: str, script: str, folder: Path) -> tuple[int, list[str]]:
    """Run commands of Fityk in a work folder with the task's inputs; return points and what was not met."""
    loaded = TASKS[name]
    for item in loaded.task.stages[0].inputs:
        (folder / item.path).write_bytes(loaded.input_bytes(item.path))
    (folder / "commands.fityk").write_text(script + "\n", encoding="utf-8")
    run = ["cfityk", "-I", "-n", "-q", "commands.fityk"]
    subprocess.run(run, cwd=folder, check=True, capture_output=True, timeout=60)
    blobs: dict[str, bytes] = {}
    files = []
    for path in sorted(item.path for item in loaded.task.stages[0].deliverables):
        if (folder / path).is_file():
            data = (folder / path).read_bytes()
            digest = hashlib.sha256(data).hexdigest()
            blobs[digest] = data
            files.append(CollectedFile(path=path, blob=BlobRef(sha256=digest, size=len(data))))
    evidence = Evidence(ending=Ending.DONE, steps=1, files=tuple(files), collected=datetime(2026, 11, 30, tzinfo=UTC))
    judged = judge(loaded.task, loaded.gold(), {"main": evidence}, lambda reference: blobs[reference.sha256])
    return judged.earned, [f"{result.id}: {result.why}" for result in judged.criteria if not result.passed]


def test_the_domain_has_the_published_size() -> None:
    assert len(TASKS) == 20
    assert sum(loaded.task.points for loaded in TASKS.values()) == 65
    assert sum(len(loaded.task.criteria) for loaded in TASKS.values()) == 65
    assert Counter(loaded.task.difficulty.value for loaded in TASKS.values()) == {"easy": 13, "medium": 2, "hard": 5}


@pytest.mark.parametrize("name", sorted(TASKS))
def test_near_misses_are_of_three_kinds_at_least(name: str) -> None:
    task = TASKS[name].task
    assert task.difficulty_why
    assert task.stages[0].hints
    assert len({miss.kind for miss in task.near_misses if miss.kind}) >= 3


def test_every_task_but_those_of_the_screen_is_solved_apart_from_its_oracle() -> None:
    before = {"c1s-two-components", "charge-correction", "si2p-doublet"}
    assert set(TASKS) == set(SOLVED) | SCREEN_ONLY | before


@engine
@pytest.mark.parametrize("name", sorted(SOLVED))
def test_another_way_earns_every_point(name: str, tmp_path: Path) -> None:
    points, missed = earned(name, SOLVED[name], tmp_path)
    assert (points, missed) == (TASKS[name].task.points, [])


@engine
@pytest.mark.parametrize("name", sorted(set(SOLVED) - {"import-region"}))
def test_loading_and_saving_alone_does_not_earn_every_point(name: str, tmp_path: Path) -> None:
    loaded = TASKS[name]
    first = min(item.path for item in loaded.task.stages[0].inputs)
    script = f"exec {first}" if first.endswith(".fit") else f"@0 < {first}"
    for path in sorted(item.path for item in loaded.task.stages[0].deliverables):
        kind = "info state" if path.endswith(".fit") else "info peaks" if path.endswith(".peaks") else "print all: x, y"
        script += f"\n{kind} > '{path}'"
    assert earned(name, script, tmp_path)[0] < loaded.task.points
