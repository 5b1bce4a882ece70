"""`matassay gallery` writes what oracles left on the screen, and says which task has no picture and why."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from tasks_lib.cli import app
from tasks_lib.episodes import load_work, proof_manifest
from tasks_lib.episodes.plan import open_run
from tasks_lib.records import (
    CriterionRecord,
    Ending,
    EpisodeSpec,
    Evidence,
    MachineSettings,
    Observation,
    Outcome,
    Verdict,
    now,
)
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import find_root, load_all

FIRST, SECOND, CODE = "active-range", "zoom-and-restore", "dihedral-scan"
TASKS = {FIRST: "xps", SECOND: "xps", "smooth-survey": "xps", CODE: "pymatgen"}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    for name, domain in TASKS.items():
        shutil.copytree(find_root(None) / "mattoolbench" / domain / name, tmp_path / "defs" / "open" / domain / name)
        form = tmp_path / "defs" / "open" / domain / name / "task.yaml"
        form.write_text(
            form.read_text(encoding="utf-8").replace("task: mattoolbench/", "task: open/"), encoding="utf-8"
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MATASSAY_CONFIG", raising=False)
    return Store.open(str(tmp_path / "store"))


def planned(place: Store, run_id: str, *names: str, repeat: int = 1) -> dict[str, EpisodeSpec]:
    whole = load_all(Path("defs"))
    manifest = open_run(
        place,
        proof_manifest(
            [whole[name] for name in names],
            whole.digest,
            repeat=repeat,
            seed=1,
            machine=MachineSettings(),
            run_id=run_id,
        ),
    )
    return {spec.id: spec for spec in manifest.episodes}


def leave(place: Store, run_id: str, episode: str, colour: str | None, *, passed: bool = True) -> str | None:
    """Put an end state into the store, a screen of one colour and a verdict; return the digest of the screen."""
    work = load_work(place, run_id, episode, Path("defs"))
    shot = None
    if colour is not None:
        out = io.BytesIO()
        Image.new("RGB", (1440, 900), colour).save(out, "PNG")
        shot = place.put_blob(out.getvalue(), "image/png")
    evidence = Evidence(
        ending=Ending.DONE, steps=1, files=(), final=Observation(screenshot=shot, width=1440, height=900),
        collected=now(),
    )  # fmt: skip
    records = tuple(CriterionRecord(id=c.id, points=c.points, passed=passed, why="test") for c in work.task.criteria)
    attempt = RunFolder(place, run_id).episode(episode).attempt(1)
    place.write_document(attempt.stage().evidence, evidence)
    place.write_document(
        attempt.verdict,
        Verdict(
            task_id=work.task.id, task_digest=work.loaded.digest, outcome=Outcome.PASS if passed else Outcome.FAIL,
            points=work.task.points, earned=work.task.points if passed else 0, criteria=records,
        ),
    )  # fmt: skip
    return None if shot is None else shot.sha256


def colour_of(path: Path) -> tuple[int, ...]:
    with Image.open(path) as picture:
        return tuple(round(level / 64) * 64 for level in picture.convert("RGB").getpixel((480, 300)))


def call(*words: str):
    return CliRunner().invoke(app, ["gallery", *words, "--out", "docs", "--store", "store", "--taskdefs", "defs"])


def test_the_oracles_screens_are_shown_and_nobody_elses(place: Store) -> None:
    specs = planned(place, "r1", FIRST, SECOND, CODE)
    near = next(name for name, spec in specs.items() if spec.task_id == FIRST and spec.variant)
    leave(place, "r1", f"{FIRST}--oracle--t1", "#ff0000")
    leave(place, "r1", f"{FIRST}--nop--t1", "#00ff00", passed=False)
    leave(place, "r1", near, "#00ff00", passed=False)
    leave(place, "r1", f"{SECOND}--oracle--t1", "#0000ff")
    result = call("r1", "--task", FIRST, "--task", SECOND, "--task", CODE)
    assert result.exit_code == 0, result.output
    assert colour_of(Path("docs/gallery/xps", f"{FIRST}.webp")) == (256, 0, 0)
    assert colour_of(Path("docs/gallery/xps", f"{SECOND}.webp")) == (0, 0, 256)
    assert sorted(path.name for path in Path("docs").rglob("*.*")) == [f"{FIRST}.webp", "gallery.md", f"{SECOND}.webp"]
    page = Path("docs/gallery.md").read_text(encoding="utf-8")
    assert page.index(FIRST) < page.index(SECOND)
    assert CODE not in page
    assert "matassay prove --domain xps\nmatassay gallery RUN --domain xps --out docs\n" in page


def test_the_same_evidence_gives_the_same_bytes_and_what_is_stale_goes(place: Store) -> None:
    planned(place, "r1", FIRST, SECOND)
    leave(place, "r1", f"{FIRST}--oracle--t1", "#ff0000")
    leave(place, "r1", f"{SECOND}--oracle--t1", "#0000ff")
    words = ("r1", "--task", FIRST, "--task", SECOND)
    assert call(*words).exit_code == 0
    before = {path: path.read_bytes() for path in sorted(Path("docs").rglob("*.*"))}
    stale, kept = Path("docs/gallery/xps/task-of-yore.webp"), Path("docs/gallery/xps/note.txt")
    stale.write_bytes(b"")
    kept.write_bytes(b"")
    assert call(*words).exit_code == 0
    assert not stale.exists()
    assert kept.exists()
    kept.unlink()
    assert {path: path.read_bytes() for path in sorted(Path("docs").rglob("*.*"))} == before


def test_the_first_trial_that_passed_counts_and_the_run_named_last(place: Store) -> None:
    planned(place, "r1", FIRST, repeat=3)
    leave(place, "r1", f"{FIRST}--oracle--t1", "#00ff00", passed=False)
    leave(place, "r1", f"{FIRST}--oracle--t2", "#ff0000")
    leave(place, "r1", f"{FIRST}--oracle--t3", "#0000ff")
    picture = Path("docs/gallery/xps", f"{FIRST}.webp")
    assert call("r1", "--task", FIRST).exit_code == 0
    assert colour_of(picture) == (256, 0, 0)
    planned(place, "r2", FIRST)
    assert call("r1", "r2", "--task", FIRST).exit_code == 0, "not played in the last: the one before it counts"
    assert colour_of(picture) == (256, 0, 0)
    leave(place, "r2", f"{FIRST}--oracle--t1", "#0000ff")
    assert call("r1", "r2", "--task", FIRST).exit_code == 0
    assert colour_of(picture) == (0, 0, 256)


def test_a_task_without_a_picture_is_told_with_its_reason(place: Store) -> None:
    planned(place, "r1", FIRST, SECOND)
    leave(place, "r1", f"{FIRST}--oracle--t1", "#ff0000")
    both = ("--task", FIRST, "--task", SECOND)
    result = call("r1", *both)
    assert result.exit_code == 1
    assert f"left out: {SECOND}: its oracle does not pass in r1" in " ".join(result.stderr.split())
    assert SECOND not in Path("docs/gallery.md").read_text(encoding="utf-8")
    leave(place, "r1", f"{SECOND}--oracle--t1", None)
    assert "r1 holds no final screen of it" in " ".join(call("r1", *both).stderr.split())
    result = call("r1", "--task", "smooth-survey")
    assert result.exit_code == 1
    assert "smooth-survey: its oracle plays in none of the runs" in " ".join(result.stderr.split())
    assert "there is no end state to show" in " ".join(result.stderr.split())


def test_a_screenshot_that_is_damaged_touches_no_other_task(place: Store) -> None:
    planned(place, "r1", FIRST, SECOND)
    leave(place, "r1", f"{FIRST}--oracle--t1", "#ff0000")
    second = leave(place, "r1", f"{SECOND}--oracle--t1", "#0000ff")
    assert second is not None
    Path("store", place.blob_path(second)).write_bytes(b"damaged")
    result = call("r1", "--task", FIRST, "--task", SECOND)
    assert result.exit_code == 1
    assert result.stderr.count("left out") == 1
    assert len(list(Path("docs").rglob("*.webp"))) == 1


def test_an_unknown_run_is_wrong_use(place: Store) -> None:
    result = call("r9")
    assert result.exit_code == 2
    assert "no run 'r9'" in result.stderr
