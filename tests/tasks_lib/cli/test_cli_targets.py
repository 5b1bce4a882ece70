"""`matassay targets`: what is cut is found again, and everything that is wrong is told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from tasks_lib.cli import app

SCREEN = np.random.default_rng(4).integers(0, 256, (120, 200, 3), dtype=np.uint8)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty root of task definitions beside a screenshot."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks").mkdir()
    Image.fromarray(SCREEN).save("step.png")
    return tmp_path / "tasks"


def call(*words: str):
    return CliRunner().invoke(app, ["targets", *words, "--taskdefs", "tasks"])


def test_what_is_cut_is_found(root: Path) -> None:
    cut = call("cut", "step.png", "30", "20", "40", "16", "fityk/menu-data", "--json")
    assert cut.exit_code == 0, cut.output
    match = {"x": 30, "y": 20, "width": 40, "height": 16, "middle": [50, 28], "score": 1.0}
    document = json.loads(cut.stdout)
    assert document["matches"] == [match]
    assert Path(document["file"]) == root / "targets" / "fityk" / "menu-data.png"
    found = call("find", "step.png", "fityk/menu-data", "--json")
    assert found.exit_code == 0
    assert json.loads(found.stdout) == {
        "targets": [{"name": "fityk/menu-data", "matches": [match], "best": 1.0, "but": ""}]
    }
    table = call("find", "step.png")
    assert "(50, 28)" in table.stdout
    assert "1 of 1 targets are on the screen" in table.stdout


def test_a_target_that_was_named_and_is_not_there_ends_with_1() -> None:
    call("cut", "step.png", "30", "20", "40", "16", "fityk/menu-data")
    Image.fromarray(255 - SCREEN).save("other.png")
    assert call("find", "other.png").exit_code == 0
    result = call("find", "other.png", "fityk/menu-data")
    assert result.exit_code == 1
    assert "not there" in result.stdout


def test_a_target_that_is_there_twice_is_told_when_it_is_cut_and_when_it_is_looked_for() -> None:
    twice = SCREEN.copy()
    twice[90:106, 100:140] = SCREEN[20:36, 30:70]
    Image.fromarray(twice).save("twice.png")
    cut = call("cut", "twice.png", "30", "20", "40", "16", "a/b")
    assert cut.exit_code == 0
    assert "is on this screen at (120, 98) too" in " ".join(cut.stderr.split())
    found = call("find", "twice.png", "a/b")
    assert found.exit_code == 1
    assert found.stdout.count("one of 2 places") == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("cut", "step.png", "30", "20", "40", "16", "menu"), "is no name of a target"),
        (("cut", "step.png", "30", "20", "4", "16", "a/b"), "too few"),
        (("cut", "step.png", "190", "20", "40", "16", "a/b"), "not wholly on the screen"),
        (("cut", "no.png", "30", "20", "40", "16", "a/b"), "No such file"),
        (("cut", "tasks", "30", "20", "40", "16", "a/b"), "Is a directory"),
        (("find", "step.png", "a/b"), "has no picture"),
        (("find", "bad.png"), "no readable PNG file"),
    ],
)
def test_wrong_use_ends_with_2(words: tuple[str, ...], said: str) -> None:
    Path("bad.png").write_bytes(b"GIF89a")
    result = call(*words)
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_a_target_is_replaced_only_by_force() -> None:
    words = ("cut", "step.png", "30", "20", "40", "16", "a/b")
    assert call(*words).exit_code == 0
    again = call(*words)
    assert again.exit_code == 2
    assert "--force" in again.output
    assert call(*words, "--force").exit_code == 0


def test_texts_are_found_as_an_oracle_finds_them() -> None:
    dialog = Path(__file__).parents[2] / "fixtures" / "evaluation" / "screens" / "gwyddion-summary.png"
    box = ("--region", "505", "261", "309", "293")
    found = call("find", str(dialog), "--text", "Number of grains", "--text", "Help", *box, "--json")
    assert found.exit_code == 0, found.output
    targets = json.loads(found.stdout)["targets"]
    assert [target["name"] for target in targets] == ['text="Number of grains"', 'text="Help"']
    for target in targets:
        (match,) = target["matches"]
        assert 505 <= match["middle"][0] < 505 + 309
        assert 261 <= match["middle"][1] < 261 + 293
    missing = call("find", str(dialog), "--text", "help", *box)
    assert missing.exit_code == 1
    assert "nearest to it are 'Help'" in " ".join(missing.stdout.replace("│", " ").split())


def test_a_region_holds_for_pictures_too() -> None:
    call("cut", "step.png", "30", "20", "40", "16", "fityk/menu-data")
    assert call("find", "step.png", "fityk/menu-data", "--region", "0", "0", "100", "60").exit_code == 0
    assert call("find", "step.png", "fityk/menu-data", "--region", "60", "0", "100", "60").exit_code == 1
