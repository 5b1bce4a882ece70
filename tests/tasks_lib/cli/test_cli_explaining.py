"""`matassay explain`: each criterion with crops of its evidence; a VOID with what to do; nothing hostile gets out."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from typer.testing import CliRunner

from tasks_lib.cli import app
from tasks_lib.episodes import Player, load_work
from tasks_lib.episodes.grading import judged
from tasks_lib.records import (
    CollectedFile,
    Ending,
    Evidence,
    Observation,
    Phase,
    RunManifest,
    VoidReason,
    VoidRecord,
    WindowState,
    now,
)
from tasks_lib.store import RunFolder, Store

EPISODE = "seen-on-screen--nop--t1"
TASK = """\
task: open/desk/seen-on-screen
title: What a screen and three files show
modality: gui
difficulty: hard
instruction: |
  Leave the plot in red, and write plot.png, notes.txt, counts.json, rows.csv and lost.csv into the work folder.
deliverables: {plot.png: a picture, notes.txt: notes, counts.json: counts, lost.csv: a table, rows.csv: a table}
criteria:
  - id: red-plot
    points: 1
    reads: {getter: strokes, window: Plot, region: [10, 20, 60, 40]}
    compares: {metric: equals, want: [red]}
    why: The plot is drawn in the colour that was asked for.
  - id: plot-open
    points: 1
    reads: {getter: dialog, window: Plot}
    compares: {metric: equals, want: true}
    why: The window with the plot stays open to the end.
  - id: picture-large
    points: 1
    reads: {getter: image, path: plot.png, what: width}
    compares: {metric: number, want: 640, tolerance: 0 px}
    why: A picture for print has this many pixels across.
  - id: peak-noted
    points: 1
    reads: {getter: text, path: notes.txt, pattern: 'peak at (\\S+)'}
    compares: {metric: equals, want: '284.8'}
    why: The notes say where the peak stands on the axis.
  - id: counted
    points: 1
    reads: {getter: json, path: counts.json, pointer: /particles}
    compares: {metric: number, want: 17, tolerance: 0 particles}
    why: The number of particles follows from the generator.
  - id: table-there
    points: 1
    reads: {getter: table, path: lost.csv, column: x}
    compares: {metric: count, want: 3}
    why: The table has one row for every particle that was seen.
  - id: rows-right
    points: 1
    reads: {getter: table, path: rows.csv}
    compares: {metric: table-match, gold: rows.csv, keys: [x], columns: {y: {}}, tolerance: 0.1 nm}
    why: The heights at both places follow from the generator.
"""
HOSTILE = "first line\npeak at \x1b[31m\u202e284.9\x07\nlast sk-secret-of-the-run\n"


def _png(size: tuple[int, int], colour: str, box: tuple[int, int, int, int] | None = None) -> bytes:
    picture = Image.new("RGB", size, "white")
    if box is not None:
        ImageDraw.Draw(picture).line(box, fill=colour, width=5)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MATASSAY_CONFIG", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-run")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "defs" / "open" / "desk" / "seen-on-screen"
    folder.mkdir(parents=True)
    (folder / "task.yaml").write_text(TASK, encoding="utf-8")
    (folder / "gold").mkdir()
    (folder / "gold" / "rows.csv").write_text("x,y\n1,2.5\n2,3.5\n", encoding="utf-8")
    return tmp_path / "defs"


@pytest.fixture
def place(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store"))


@pytest.fixture
def planned(place: Store, root: Path, plan: Callable[..., RunManifest]) -> RunManifest:
    return plan(place, root, Player("nop"))


def _evidence(place: Store, screen: bytes) -> Evidence:
    files = {
        "plot.png": _png((640, 480), "blue", (10, 10, 600, 400)),
        "notes.txt": HOSTILE.encode(),
        "rows.csv": b"x,y\n1,2.5\n2,4.5\n",
        "counts.json": b'{\n "frames": 3,\n "particles": 16\n}\n',
    }
    return Evidence(
        ending=Ending.DONE,
        steps=3,
        files=tuple(CollectedFile(path=name, blob=place.put_blob(data, "text/plain")) for name, data in files.items()),
        missing=("lost.csv",),
        final=Observation(
            screenshot=place.put_blob(screen, "image/png"),
            width=300,
            height=200,
            windows=(
                WindowState(
                    id=1, title="Plot \x1b]0;owned\x07of C 1s", x=100, y=50, width=150, height=100, focused=True
                ),
            ),
        ),
        collected=now(),
    )


@pytest.fixture
def judged_run(place: Store, root: Path, planned: RunManifest) -> Store:
    """An episode with real evidence, judged by the real evaluators."""
    evidence = _evidence(place, _png((300, 200), "#ff0000", (100, 75, 200, 105)))
    attempt = RunFolder(place, planned.run_id).episode(EPISODE).attempt(1)
    place.write_document(attempt.stage().evidence, evidence)
    work = load_work(place, planned.run_id, EPISODE, root)
    place.write_document(attempt.verdict, judged(work, {"main": evidence}))
    return place


def _call(root: Path, *words: str):
    return CliRunner().invoke(app, ["explain", *words, "--store", "store", "--taskdefs", str(root)])


def _json(root: Path, *words: str) -> dict:
    result = _call(root, EPISODE, "--json", *words)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_every_criterion_says_what_was_seen_wanted_and_why(judged_run: Store, root: Path) -> None:
    result = _call(root, EPISODE)
    assert result.exit_code == 0, result.output
    said = result.stdout
    assert "FAIL, 3 of 7 points, attempt 1" in said
    for name, word in {
        "red-plot": "passed", "plot-open": "passed", "picture-large": "passed",
        "peak-noted": "FAILED", "counted": "FAILED", "table-there": "FAILED",
    }.items():  # fmt: skip
        assert f"{word}  {name}: {1 if word == 'passed' else 0} of 1 points" in said
    assert "seen    16" in said
    wanted = '{"columns": ["x", "y"], "rows": [[1, 2.5], [2, 3.5]]} nm ± 0.1 nm, as gold/rows.csv says'
    assert f"wanted  {wanted}" in said
    assert "wanted  17 ± 0 particles" in said
    assert "purpose The number of particles follows from the generator." in said
    assert "final screenshot [110, 70, 60, 40] px, window Plot" in said
    assert "file lost.csv (there is no file lost.csv)" in said
    assert "see     counted.lines.txt" in said
    assert f"crops: {Path('store').resolve()}/runs/r1/explained/{EPISODE}" in said


def test_crops_hold_what_was_read_and_nothing_else(judged_run: Store, root: Path, tmp_path: Path) -> None:
    document = _json(root, "--out", "crops")
    used = {one["id"]: one["evidence"][0] for one in document["criteria"]}
    assert document["folder"] == "crops"
    assert sorted(path.name for path in (tmp_path / "crops").iterdir()) == [
        "counted.lines.txt", "peak-noted.lines.txt", "picture-large.file.webp", "plot-open.screen.png",
        "red-plot.screen.png",
        "rows-right.lines.txt",
    ]  # fmt: skip
    with Image.open(used["red-plot"]["shown"]) as crop:
        assert crop.size == (60, 40)
        assert crop.convert("RGB").getpixel((30, 15)) == (255, 0, 0)  # (140, 85) of the screen, on the line
    with Image.open(used["plot-open"]["shown"]) as crop:
        assert crop.size == (150, 100)
    with Image.open(used["picture-large"]["shown"]) as thumbnail:
        assert thumbnail.size == (640, 480)
    assert Path(used["counted"]["shown"]).read_text(encoding="utf-8").splitlines() == [
        "       1  {",
        '       2   "frames": 3,',
        '>      3   "particles": 16',
        "       4  }",
    ]
    assert used["table-there"]["shown"] is None
    assert used["counted"]["sha256"] == hashlib.sha256(b'{\n "frames": 3,\n "particles": 16\n}\n').hexdigest()


def test_without_a_folder_the_crops_lie_beside_the_run(judged_run: Store, root: Path, tmp_path: Path) -> None:
    document = _json(root)
    folder = tmp_path / "store" / "runs" / "r1" / "explained" / EPISODE
    assert document["folder"] == str(folder)
    assert (folder / "red-plot.screen.png").is_file()


def test_what_an_agent_wrote_is_shown_and_never_sent(judged_run: Store, root: Path, tmp_path: Path) -> None:
    result = _call(root, EPISODE, "--out", "crops")
    lines = (tmp_path / "crops" / "peak-noted.lines.txt").read_text(encoding="utf-8")
    for text in (result.stdout, lines):
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
        assert "sk-secret-of-the-run" not in text
        assert "␛[31m⟦U+202E⟧284.9␇" in text
    assert "Plot ␛]0;owned␇of C 1s" in result.stdout
    assert ">      2  peak at" in lines
    assert "[redacted]" in lines
    assert "sk-secret-of-the-run" not in json.dumps(_json(root))


def test_a_forged_line_stands_behind_a_bar(place: Store, root: Path, planned: RunManifest) -> None:
    evidence = _evidence(place, _png((300, 200), "red"))
    forged = place.put_blob(b'{"particles": "16\\n\\npassed  counted: 1 of 1 points"}', "application/json")
    files = (*(f for f in evidence.files if f.path != "counts.json"), CollectedFile(path="counts.json", blob=forged))
    evidence = evidence.model_copy(update={"files": files})
    attempt = RunFolder(place, planned.run_id).episode(EPISODE).attempt(1)
    place.write_document(attempt.stage().evidence, evidence)
    place.write_document(attempt.verdict, judged(load_work(place, planned.run_id, EPISODE, root), {"main": evidence}))
    lines = _call(root, EPISODE).stdout.splitlines()
    assert not any(line.startswith("passed  counted") for line in lines)
    assert any(line.lstrip().startswith("| passed  counted") for line in lines)


@pytest.mark.parametrize("reason", list(VoidReason))
def test_a_void_says_the_reason_and_what_to_do(
    reason: VoidReason, place: Store, root: Path, planned: RunManifest
) -> None:
    attempt = RunFolder(place, planned.run_id).episode(EPISODE).attempt(1)
    record = VoidRecord(reason=reason, phase=Phase.EVALUATE, exception="E", message="it \x1b broke", when=now())
    place.write_document(attempt.void, record)
    result = _call(root, EPISODE)
    assert result.exit_code == 1
    assert f"VOID({reason}) in evaluate, attempt 1: E" in result.stdout
    assert "message it ␛ broke" in result.stdout
    assert "matassay retry r1" in result.stdout or "matassay run --resume r1" in result.stdout
    document = json.loads(_call(root, EPISODE, "--json").stdout)
    assert (document["outcome"], document["void"]["reason"], document["folder"]) == ("VOID", reason, None)
    assert document["void"]["advice"]


def test_an_episode_that_is_not_done_says_how_to_do_it(root: Path, planned: RunManifest) -> None:
    result = _call(root, EPISODE)
    assert result.exit_code == 1
    assert "not done yet" in result.stdout
    assert "matassay run --resume r1" in result.stdout


def test_a_task_that_changed_leaves_the_verdict_and_its_files(judged_run: Store, root: Path) -> None:
    task = root / "open" / "desk" / "seen-on-screen" / "task.yaml"
    task.write_text(TASK.replace("want: 17", "want: 16"), encoding="utf-8")
    document = _json(root)
    assert "has digest" in document["notes"][0]
    one = {entry["id"]: entry for entry in document["criteria"]}
    assert (one["counted"]["passed"], one["counted"]["purpose"]) == (False, "")
    assert one["counted"]["evidence"][0]["name"] == "counts.json"
    assert one["red-plot"]["evidence"][0]["kind"] == "screen"
    assert one["red-plot"]["evidence"][0]["region"] is None


def test_damaged_evidence_is_told_and_the_rest_is_shown(judged_run: Store, root: Path) -> None:
    used = {one["id"]: one["evidence"][0] for one in _json(root)["criteria"]}
    judged_run.write_bytes(judged_run.blob_path(used["red-plot"]["sha256"]), b"torn")
    again = {one["id"]: one["evidence"][0] for one in _json(root, "--out", "crops")["criteria"]}
    assert "was damaged" in again["red-plot"]["note"]
    assert again["red-plot"]["shown"] is None
    assert again["picture-large"]["shown"] is not None


def test_the_newest_run_that_has_it_is_taken(judged_run: Store, root: Path, plan: Callable[..., RunManifest]) -> None:
    plan(judged_run, root, Player("nop"), run_id="a2")
    judged_run.write_bytes("runs/broken/manifest.json", b"{")
    assert "not done yet" in _call(root, EPISODE).stdout
    assert _json(root, "--run", "r1")["run"] == "r1"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("seen-on-screen--nop--t2",), "called alike: seen-on-screen--nop--t1"),
        (("../../etc",), "has no episode"),
        ((EPISODE, "--run", "no-such-run"), "no run 'no-such-run'"),
        ((EPISODE, "--out", "a-file/below"), "cannot write"),
    ],
)
def test_wrong_use_ends_with_2(
    words: tuple[str, ...], said: str, judged_run: Store, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "a-file").write_text("x", encoding="utf-8")
    result = _call(root, *words)
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.output.split())
    assert isinstance(result.exception, SystemExit)


def test_a_run_in_a_bucket_is_explained_from_there(
    judged_run: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import boto3
    from moto.server import ThreadedMotoServer

    for name in ("AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key-of-test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        boto3.client("s3").create_bucket(Bucket="lab")
        bucket = Store.open("s3://lab/runs-of-test")
        for path in judged_run.list(""):
            bucket.write_bytes(path, judged_run.read_bytes(path))
        words = ("explain", EPISODE, "--store", bucket.url, "--taskdefs", str(root), "--json")
        result = CliRunner().invoke(app, list(words))
        assert result.exit_code == 0, result.output
        document = json.loads(result.stdout)
        assert document["folder"] == f"s3://lab/runs-of-test/runs/r1/explained/{EPISODE}"
        crop = bucket.read_bytes(f"runs/r1/explained/{EPISODE}/red-plot.screen.png")
    finally:
        server.stop()
    with Image.open(io.BytesIO(crop)) as picture:
        assert picture.size == (60, 40)
