"""`matassay afm`, run as a person does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from tasks_lib.cli import afm, app
from tasks_lib.instruments.tuning.folder import TuningFolder
from tasks_lib.instruments.tuning.session import TuningFailedError
from tasks_lib.instruments.tuning.study import StudyRow
from tasks_lib.records.errors import LeaseHeldError
from tasks_lib.store import Store


def ran(*words: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(app, ["afm", *words])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found.exit_code, found.stdout, " ".join(found.stderr.split())


def test_tune_applies_gains_and_says_where_everything_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATASSAY_STATE", str(tmp_path / "state"))
    place = tmp_path / "store"
    words = ("--store", str(place), "--strategy", "integral-ramp", "--budget", "3", "--fresh-frames", "2")
    code, out, err = ran("tune", *words)
    assert code == 0, err
    (folder,) = (place / "tunings").iterdir()
    result = TuningFolder(Store.open(str(place)), folder.name).read_result()
    assert result is not None
    assert out.splitlines()[0] == result.message
    assert str(folder) in out
    assert "gen-01/scan-001: P " in err
    assert len(list(folder.rglob("frame.nid"))) == 7

    code, out, _ = ran("tune", "--store", str(place), "--resume", folder.name, "--json")
    (line,) = out.splitlines()
    assert code == 0
    assert json.loads(line) == {"event": "tuning-ended", **result.model_dump(mode="json")}


class Engine:
    """Ends a tuning as it is told: the way there is tested with the flow."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def warm_up(self) -> None:
        pass

    def tune(self, *_: object) -> None:
        raise self._error


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (TuningFailedError("3 scans in a row"), 1, "matassay: 3 scans in a row"),
        (LeaseHeldError("'instruments/x' is held"), 2, "matassay: 'instruments/x' is held"),
        (KeyboardInterrupt(), 130, "interrupted; the previous gains are restored"),
    ],
)
def test_the_exit_code_says_how_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, says: str
) -> None:
    monkeypatch.setattr(afm, "load_engine", lambda: Engine(error))
    found, _, err = ran("tune", "--store", str(tmp_path / "store"))
    assert found == code
    assert says in err
    if code != 2:
        (folder,) = (tmp_path / "store" / "tunings").iterdir()
        assert f"matassay afm tune --resume {folder.name} --store" in err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--scene", "moon"], "there is no scene 'moon'; take one of grid"),
        (["--strategy", "luck"], "there is no strategy 'luck'; take one of cma-es"),
        (["--objective", "beauty"], "there is no objective 'beauty'; take one of ssim, tracking"),
        (["--start", "1,2"], "gains are three whole numbers that are not negative, as 50,1000,0, not '1,2'"),
        (["--start", "1,2,-3"], "not '1,2,-3'"),
        (["--resume", "none"], "has no tuning 'none'; it has: none"),
        (["--resume", "../x"], "no name of a folder"),
    ],
)
def test_wrong_use_ends_with_2_and_says_what_there_is(tmp_path: Path, words: list[str], why: str) -> None:
    code, _, err = ran("tune", "--store", str(tmp_path / "store"), *words)
    assert code == 2
    assert why in err
    assert not (tmp_path / "store").exists()


def test_a_study_goes_on_where_it_was_cut(tmp_path: Path) -> None:
    words = ("pid-study", "--out", str(tmp_path), "--scene", "particles", "--strategy", "random", "--strategy", "sobol")
    small = ("--objective", "tracking", "--seeds", "2", "--budget", "2")
    code, out, _ = ran(*words, *small)
    assert code == 0
    rows = (tmp_path / "rows.jsonl").read_bytes()
    table = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert out.startswith(table)
    assert table.count("| particles | ") == 2

    # Cut in its third row.
    lines = rows.splitlines(keepends=True)
    (tmp_path / "rows.jsonl").write_bytes(b"".join(lines[:2]) + lines[2][:40])
    (tmp_path / "table.md").unlink()
    code, out, err = ran(*words, *small, "--workers", "2", "--json")
    assert code == 0
    assert "4 searches, 2 of them are in" in err
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["event"] for event in events] == ["search-ended", "search-ended", "study-ended"]
    again = (tmp_path / "rows.jsonl").read_bytes().splitlines(keepends=True)
    assert again[:2] == lines[:2]
    assert sorted(again) == sorted(lines)
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == table
    assert {StudyRow.model_validate_json(line).case.seed for line in again} == {0, 1}
    with Image.open(tmp_path / "study.png") as picture:
        assert min(picture.size) > 100


def test_limits_names_what_there_is() -> None:
    code, out, _ = ran("limits")
    assert code == 0
    assert "scene particles: 5 µm, 128 x 16, 0.3 s a line, setpoint 0.3 V" in out
    assert "box: P 0 to 500, I 500 to 9000, D 0 to 100" in out
    code, out, _ = ran("limits", "--json")
    found = json.loads(out)
    assert found["scenes"]["particles"]["points"] == 128
    assert {"gp-ei", "ga-published", found["default_strategy"]} <= set(found["strategies"])


@pytest.mark.parametrize("verb", ["tune", "pid-study", "limits"])
def test_help_has_an_example(verb: str) -> None:
    code, out, _ = ran(verb, "--help")
    assert code == 0
    assert f"Example: matassay afm {verb}" in " ".join(out.split())
