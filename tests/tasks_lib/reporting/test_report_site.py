"""The site as files: complete, closed, honest about what is missing, and safe whatever an agent wrote."""

import os
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tasks_lib.records import ActionRecord, Decision, EpisodeSpec, Modality, Observation, Phase, VoidReason, episode_id
from tasks_lib.records.errors import ConfigurationError, StoreError
from tasks_lib.reporting import write_report
from tasks_lib.store import Store

VOID_TAGS = {"meta", "link", "img", "br", "line", "circle", "rect"}
SECRET = "sk-test-0123456789abcdef"


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID_TAGS:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def pages(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.html"))


def check_closed(folder: Path) -> None:
    """Every page is well formed, links inside the report only, runs nothing."""
    for path in pages(folder):
        page = Page(path.read_text(encoding="utf-8"))
        assert page.open == [], path
        ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        assert len(ids) == len(set(ids)), path
        policy = next(m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
        assert policy.startswith("default-src 'none';")
        assert "script" not in policy
        assert not [
            tag for tag, _ in page.tags if tag in {"script", "iframe", "object", "embed", "form", "base", "style"}
        ]
        for tag, attributes in page.tags:
            assert not [name for name in attributes if name.startswith("on") or name == "style"], (path, tag)
            for name in ("href", "src"):
                if target := attributes.get(name):
                    assert ":" not in target, (path, target)
                    place, _, anchor = target.partition("#")
                    there = (path.parent / place) if place else path
                    assert there.resolve().is_relative_to(folder.resolve())
                    assert there.is_file(), (path, target)
                    if anchor and not place:
                        assert anchor in ids, (path, anchor)
        assert all("alt" in image and image["alt"] for image in page.all("img")), path
        levels = [int(tag[1]) for tag, _ in page.tags if tag in {"h1", "h2", "h3", "h4"}]
        assert levels[0] == 1
        assert levels.count(1) == 1


def one_spec(task, agent: str = "model", trial: int = 1) -> EpisodeSpec:
    return EpisodeSpec(
        id=episode_id(task.id, agent, trial),
        task_id=task.id,
        task_digest="ab" * 32,
        agent=agent,
        trial=trial,
        seed=1,
        modality=task.modality,
    )


@pytest.fixture
def bench(builder, store):
    """One GUI episode, not written yet, and a function that reports it."""

    class Bench:
        def __init__(self) -> None:
            self.task = builder.tasks()["xps-c1s-two-peaks"]
            self.spec = one_spec(self.task)
            self.run = builder.RunFolder(store, "run-1")
            self.build = builder.Builder(store, self.run, [])
            self.episode = self.run.episode(self.spec.id)
            builder.write_manifest(store, self.run, (self.spec,))
            self.result = builder.EpisodeResult(
                **builder._named(self.spec, self.task), outcome=None, points=4, earned=0
            )

        def report(self, result=None, *, tasks=None, **more) -> Path:
            summary = builder.summary("run-1", [result or self.result])
            tasks = {self.task.id: self.task} if tasks is None else tasks
            return Path(write_report(store, "run-1", tasks, summary=summary, **more)).parent

        def page(self, result=None, **more) -> Page:
            folder = self.report(result, **more)
            check_closed(folder)
            return Page((folder / "episodes" / f"{self.spec.id}.html").read_text(encoding="utf-8"))

    return Bench()


def test_every_episode_has_a_page_and_everything_is_linked(reported, builder):
    manifest = reported.store.read_document(reported.run.manifest, builder.RunManifest)
    assert {path.stem for path in (reported.folder / "episodes").iterdir()} == {spec.id for spec in manifest.episodes}
    check_closed(reported.folder)
    linked = {
        (path.parent / (attributes.get("href") or attributes["src"]).partition("#")[0]).resolve()
        for path in pages(reported.folder)
        for _, attributes in Page(path.read_text(encoding="utf-8")).tags
        if attributes.get("href") or attributes.get("src")
    }
    files = {path.resolve() for path in reported.folder.rglob("*") if path.is_file()}
    assert files - linked == set()
    assert linked - files <= {path.parent for path in pages(reported.folder)}


def test_index_shows_strict_conditional_and_void_together(reported):
    page = Page(reported.page("index.html"))
    heads = Page(reported.page("index.html").split("<thead>")[1].split("</thead>")[0]).text
    order = [heads.index(word) for word in ("Strict rate", "Conditional", "VOID", "Score", "Steps*", "FTR")]
    assert order == sorted(order)
    assert "random 0.0 %" in page.text
    assert "60.0 %" in page.text
    assert "Wilson 95 % interval: 31.3 to 83.2 %" in page.text


def test_matrix_cells_say_outcome_by_letter_and_in_words(reported):
    chips = [a for a in Page(reported.page("index.html")).all("a") if (a.get("class") or "").startswith("chip")]
    assert len(chips) == 40
    assert "xps-c1s-two-peaks, random, trial 1: VOID: endpoint, 0 of 4 points" in {chip["aria-label"] for chip in chips}
    text = reported.page("index.html")
    for letter in ("<b>P</b>", "<b>F</b>", "<b>V</b>", "<b>·</b>"):
        assert letter in text


def test_voids_say_what_to_do_next(reported):
    text = Page(reported.page("index.html")).text
    assert "What to do next: The model endpoint failed." in text
    assert "answered 503 five times within 60 s" in text


def test_gui_page_shows_verdict_clicks_waste_and_files(reported):
    page = Page(reported.page("episodes/xps-c1s-two-peaks--scripted-llm-alpha--t1.html"))
    assert "FAIL 3 of 4 points" in page.text
    assert "287.1 eV does not lie within 0.1 eV of 284.8 eV" in page.text
    assert "wasted: nothing could be done" in page.text
    assert "c1s.peaks was asked for and is not there" in page.text
    assert "not done computer.mouse.move_abs(2000, 77)" in page.text
    centres = {(c["cx"], c["cy"]) for c in page.all("circle")}
    assert {("254.0", "77.0"), ("855.0", "526.0"), ("900.0", "300.0"), ("300.0", "640.0")} <= centres
    assert "; click (254, 77)" in page.all("img")[0]["alt"]


def test_void_page_shows_both_attempts(reported):
    page = Page(reported.page("episodes/xps-c1s-two-peaks--random--t1.html"))
    assert "VOID: endpoint" in page.text
    assert "Attempt 1: VOID, provision, in phase provision" in page.text
    assert "ProvisionError: no display within 10 s: run doctor" in page.text
    assert len([a for a in page.all("article") if a.get("class") == "step"]) == 1


def test_code_page_shows_script_and_output(reported):
    text = Page(reported.page("episodes/si-lattice-constant--oracle--t1.html")).text
    assert "Script (python) import json from pymatgen.core import Structure" in text
    assert "NameError: name 'cell' is not defined" in text


def test_handoffs_show_table_head_cif_head_checks_and_what_is_missing(reported):
    good = Page(reported.page("episodes/mos2-bands-to-figure--oracle--t1.html"))
    assert "two_theta intensity hkl 14.40 100.0 0 0 2" in good.text
    assert "data_MoS2" in good.text
    bad = Page(reported.page("episodes/mos2-bands-to-figure--scripted-llm-alpha--t2.html"))
    assert "mos2.cif was not there: nothing was handed over" in bad.text
    assert "hand-off" in bad.text


def test_first_page_counts_handoffs(reported):
    text = Page(reported.page("index.html")).text
    assert "mos2-bands-to-figure, oracle, trial 1 P PASS 2 of 2 2 of 2" in text
    assert "mos2-bands-to-figure, scripted-llm-alpha, trial 2 F FAIL 1 of 2 0 of 1" in text
    assert "mos2-bands-to-figure, nop, trial 1 F FAIL 0 of 2 0 of 0" in text


def test_screenshots_are_stored_once_and_linked_to_the_blobs(reported):
    shots = [path for path in (reported.folder / "files").iterdir() if path.suffix == ".png"]
    for path in shots:
        assert path.stat().st_size == reported.store.local_path(Store.blob_path(path.stem)).stat().st_size
        assert path.samefile(reported.store.local_path(Store.blob_path(path.stem)))
    assert len(shots) == 5, "four different screens and one figure, over 40 episodes"


def test_same_run_gives_the_same_pages(reported, builder, tmp_path):
    write_report(reported.store, reported.run.run_id, builder.tasks(), tmp_path)
    for path in pages(reported.folder):
        assert (tmp_path / path.relative_to(reported.folder)).read_bytes() == path.read_bytes()


def test_second_report_keeps_files_and_renews_pages(bench, builder):
    builder.gui_episode(bench.build, bench.episode, bench.task, passes=True, spec=bench.spec)
    folder = bench.report()
    before = {path: path.stat().st_ino for path in (folder / "files").iterdir()}
    (folder / "index.html").write_text("old", encoding="utf-8")
    bench.report()
    assert {path: path.stat().st_ino for path in (folder / "files").iterdir()} == before
    assert Page((folder / "index.html").read_text(encoding="utf-8")).text.startswith("smoke")


def test_report_into_the_store_by_path(bench, store):
    bench.report(out="reports/night")
    assert store.exists("reports/night/index.html")


def test_unknown_run_names_those_there_are(bench, store):
    with pytest.raises(ConfigurationError, match=r"runs there: run-1"):
        write_report(store, "run-2", {})


def test_run_without_a_summary_says_how_to_get_one(bench, store):
    with pytest.raises(ConfigurationError, match=r"summary\.json is not in .*matassay report run-1"):
        write_report(store, "run-1", {})


def test_zero_agents(bench, builder, store):
    folder = Path(write_report(store, "run-1", {}, summary=builder.summary("run-1", []))).parent
    check_closed(folder)
    text = Page((folder / "index.html").read_text(encoding="utf-8")).text
    assert "No agent has an episode in this summary yet." in text
    assert "The summary lacks 1 episodes of the manifest." in text


def test_episode_that_has_not_begun(bench):
    text = bench.page().text
    assert "This episode is not done yet." in text
    assert "Open c1s.xy in Fityk." in text
    assert "No step is recorded." in text


def test_task_that_cannot_be_read_any_more(bench, builder):
    builder.gui_episode(bench.build, bench.episode, bench.task, passes=True, spec=bench.spec)
    text = bench.page(tasks={}).text
    assert "xps-c1s-two-peaks" in text
    assert "The task's text is not at hand." in text


def test_void_without_a_trajectory(bench, builder):
    bench.build.void(bench.episode.attempt(1), VoidReason.NO_DESKTOP, Phase.PROVISION, "NoDesktopError", "no Xvfb")
    void = bench.result.model_copy(update={"outcome": builder.Outcome.VOID, "void_reason": VoidReason.NO_DESKTOP})
    text = bench.page(void).text
    assert "NoDesktopError: no Xvfb" in text
    assert "matassay doctor --fix" in text


def test_void_that_no_disk_could_take(bench, builder):
    void = bench.result.model_copy(
        update={"outcome": builder.Outcome.VOID, "void_reason": VoidReason.DISK_FULL, "message": "0 bytes free"}
    )
    text = bench.page(void).text
    assert "VOID: disk full 0 bytes free" in text
    assert "Free some room" in text


def test_verdict_after_a_void_shows_the_verdict_and_keeps_the_attempt(bench, builder):
    bench.build.void(bench.episode.attempt(1), VoidReason.MACHINE_LOST, Phase.ACT, "MachineLostError", "gone")
    second = bench.episode.attempt(2)
    bench.build.step(second, "main", 1, "```decision\nDONE\n```", decision=Decision.DONE)
    bench.build.evidence(second, "main", 1, {})
    bench.build.verdict(second, bench.task, builder.judged(bench.task, {}))
    page = bench.page()
    assert "PASS 4 of 4 points" in page.text
    assert "Attempt 1: VOID, machine lost, in phase act" in page.text


def test_summary_older_than_a_verdict_is_said_on_the_first_page(bench, builder):
    builder.gui_episode(bench.build, bench.episode, bench.task, passes=True, spec=bench.spec)
    folder = bench.report()
    text = Page((folder / "index.html").read_text(encoding="utf-8")).text
    assert "1 episodes were judged after the summary was written" in text


def test_torn_and_foreign_lines_hide_no_other_step(bench, store):
    attempt = bench.episode.attempt(1)
    for index in (1, 2):
        bench.build.step(attempt, "main", index, f"reply number {index}")
    path = store.local_path(attempt.stage("main").trajectory)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], b'{"not": "a step"}', b"\xff\xfe", lines[1], lines[1][:40]]))
    page = bench.page()
    assert "reply number 1" in page.text
    assert "reply number 2" in page.text
    assert "line 2, is no step" in page.text
    assert "line 3, is no step" in page.text
    assert "line 5, is torn: the writer was killed" in page.text


def test_broken_verdict_is_said_with_its_place(bench, store):
    store.write_bytes(bench.episode.attempt(1).verdict, b'{"task_id": 1}')
    text = bench.page().text
    assert "attempt-001/verdict.json cannot be read" in text


def test_missing_and_damaged_blobs_are_said(bench, store, builder):
    builder.gui_episode(bench.build, bench.episode, bench.task, passes=True, spec=bench.spec)
    blobs = sorted(path for path in store.list("blobs") if len(store.read_bytes(path)) > 1000)
    store.delete(blobs[0])
    store.write_bytes(blobs[1], b"\x89PNG\r\n\x1a\n damaged")
    text = bench.page().text
    assert "is missing in the store" in text
    assert "the file was damaged" in text


def test_screenshot_that_is_no_picture_is_not_copied(bench, store):
    fake = store.put_blob(b"<script>alert(1)</script>", "image/png")
    page_type = store.put_blob(b"<svg/>", "image/svg+xml")
    for index, ref in ((1, fake), (2, page_type)):
        bench.build.step(bench.episode.attempt(1), "main", index, "x", observation=Observation(screenshot=ref))
    folder = bench.report()
    assert not (folder / "files").exists()
    text = Page((folder / "episodes" / f"{bench.spec.id}.html").read_text(encoding="utf-8")).text
    assert "is not the PNG picture it is recorded as" in text
    assert "is of type image/svg+xml, which is not shown" in text


def test_huge_replies_keep_the_page_small(bench, store):
    attempt = bench.episode.attempt(1)
    lines = [
        bench.build.line(index, f"```python\n{'x' * 60_000}\n```", feedback="y" * 60_000) for index in range(1, 301)
    ]
    store.write_bytes(attempt.stage("main").trajectory, "".join(lines).encode())
    folder = bench.report()
    page = folder / "episodes" / f"{bench.spec.id}.html"
    assert page.stat().st_size < 6_000_000
    assert "characters left out" in page.read_text(encoding="utf-8")


def test_thousands_of_actions_in_a_step_are_counted_not_listed(bench):
    actions = [ActionRecord(text="computer.keyboard.press('a')", kind="keyboard.press", ok=True)] * 3000
    bench.build.step(bench.episode.attempt(1), "main", 1, "x", actions=tuple(actions))
    page = bench.page()
    assert "and 2900 more actions" in page.text


HOSTILE = (
    "<script>window.pwned=1</script><img src=x onerror='window.pwned=1'>\"'><svg onload=window.pwned=1>"
    "</pre></details></main>{{ 7*7 }}\u202egpj.exe\x1b[2J\x00 javascript:alert(1)"
)


def hostile_episode(bench, builder) -> None:
    attempt = bench.episode.attempt(1)
    window = builder.WindowState(id=1, title=HOSTILE, x=0, y=0, width=1, height=1, focused=True)
    shot = bench.build.sight("x", "y").screenshot
    bench.build.step(
        attempt,
        "main",
        1,
        HOSTILE,
        reasoning=HOSTILE,
        feedback=HOSTILE,
        observation=Observation(screenshot=shot, width=1440, height=900, windows=(window,), clipboard=HOSTILE),
        actions=(
            ActionRecord(text=HOSTILE, kind="mouse.drag", arguments={"x": 3, "y": HOSTILE}, ok=False, feedback=HOSTILE),
        ),
    )
    files = {
        "page.html": bench.build.blob(f"<html>{HOSTILE}</html>", "text/html"),
        "figure.svg": bench.build.blob(f"<svg xmlns='http://www.w3.org/2000/svg'>{HOSTILE}</svg>", "image/svg+xml"),
        "<b>x</b>\u202egpj.csv": bench.build.blob(f"a,b\n{HOSTILE.replace(',', '')},2\n"),
        "wide.txt": bench.build.blob("W" * 20_000),
    }
    bench.build.evidence(attempt, "main", 1, files, missing=("<i>gone</i>",))
    records = builder.judged(bench.task, {"main-peak": False})
    records[0] = records[0].model_copy(update={"seen": {HOSTILE: [HOSTILE]}, "why": HOSTILE})
    bench.build.verdict(attempt, bench.task, records)


def test_hostile_text_is_escaped_and_shown(bench, builder):
    hostile_episode(bench, builder)
    result = bench.result.model_copy(update={"message": HOSTILE, "outcome": builder.Outcome.VOID})
    page = bench.page(result)
    folder = bench.report(result)
    raw = (folder / "episodes" / f"{bench.spec.id}.html").read_text(encoding="utf-8")
    for text in (raw, (folder / "index.html").read_text(encoding="utf-8")):
        assert "<script" not in text
        assert "onerror=&" in text
        assert not set(text) & {"\u202e", "\x1b", "\x00"}
        assert "⟦U+202E⟧gpj.exe␛[2J␀" in text
    assert "{{ 7*7 }}" in page.text


def test_files_of_agents_open_as_data(bench, builder):
    hostile_episode(bench, builder)
    folder = bench.report()
    assert {path.suffix for path in (folder / "files").iterdir()} <= {".txt", ".png", ".bin"}
    page = Page((folder / "episodes" / f"{bench.spec.id}.html").read_text(encoding="utf-8"))
    names = {a["download"] for a in page.all("a") if "download" in a}
    assert names == {"page.html.txt", "figure.svg.txt", "x_b_gpj.csv", "wide.txt"} or names == {
        "page.html.txt",
        "figure.svg.txt",
        "b_gpj.csv",
        "wide.txt",
    }


def test_secrets_are_nowhere_in_the_report(bench, builder, monkeypatch):
    attempt = bench.episode.attempt(1)
    bench.build.step(
        attempt,
        "main",
        1,
        f"```python\nkey = '{SECRET}'\n```",
        feedback=f"Authorization: Bearer {SECRET}",
        reasoning=SECRET,
        actions=(
            ActionRecord(text=f"computer.keyboard.write('{SECRET}')", kind="keyboard.write", ok=True, feedback=SECRET),
        ),
    )
    files = {
        "log.txt": bench.build.blob(f"key {SECRET}\n"),
        f"{SECRET}.csv": bench.build.blob(f"a,b\n{SECRET},1\n"),
        "session.bin": bench.build.blob(b"\x00\x01" + SECRET.encode()),
    }
    bench.build.evidence(attempt, "main", 1, files)
    records = builder.judged(bench.task, {"main-peak": False})
    records[0] = records[0].model_copy(update={"seen": {SECRET: [SECRET]}, "why": f"found {SECRET}"})
    bench.build.verdict(attempt, bench.task, records)
    result = bench.result.model_copy(
        update={
            "outcome": builder.Outcome.VOID,
            "void_reason": VoidReason.EVALUATOR,
            "message": f"judge quoted {SECRET}",
        }
    )
    # The default redactor knows the environment's secrets.
    monkeypatch.setenv("MODEL_API_KEY", SECRET)
    folder = bench.report(result)
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert len(written) > 4
    for path in written:
        assert SECRET.encode() not in path.read_bytes(), path
        assert SECRET not in path.name
    text = Page((folder / "episodes" / f"{bench.spec.id}.html").read_text(encoding="utf-8")).text
    assert "not copied: the file holds a secret of this run" in text
    assert "a secret was taken out" in text


def test_redactor_that_is_passed_in_is_the_one_that_is_used(bench):
    bench.build.step(bench.episode.attempt(1), "main", 1, "the word is swordfish")
    text = bench.page(redact=lambda text: text.replace("swordfish", "[hidden]")).text
    assert "the word is [hidden]" in text


def test_large_file_stays_in_the_store(bench, monkeypatch):
    monkeypatch.setattr("tasks_lib.reporting._files._LARGEST", 1000)
    attempt = bench.episode.attempt(1)
    bench.build.evidence(attempt, "main", 0, {"big.txt": bench.build.blob("x" * 2000)})
    text = bench.page().text
    assert "in the store at blobs/sha256/" in text


def test_mixed_task_whose_second_stage_never_began(builder, store):
    task = builder.tasks()["mos2-bands-to-figure"]
    spec = one_spec(task)
    run = builder.RunFolder(store, "run-1")
    builder.write_manifest(store, run, (spec,))
    result = builder.nop_episode(builder.Builder(store, run, []), run.episode(spec.id), task, spec=spec)
    folder = Path(write_report(store, "run-1", {task.id: task}, summary=builder.summary("run-1", [result]))).parent
    check_closed(folder)
    page = Page((folder / "episodes" / f"{spec.id}.html").read_text(encoding="utf-8"))
    assert "Stage 2: figure" in page.text
    assert "Nothing was handed over yet." in page.text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_that_cannot_be_written(bench, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(StoreError, match="cannot write the report"):
        bench.report(out=closed / "report")


def test_place_taken_by_a_file_is_said(bench, tmp_path):
    (tmp_path / "taken").write_text("x", encoding="utf-8")
    with pytest.raises(StoreError, match=r"cannot write the report to .*choose another folder"):
        bench.report(out=tmp_path / "taken")


def test_full_disk_leaves_no_half_page(bench, tmp_path):
    """A real file system of 64 kB would need root; the limit on a file's size fails a write the same way."""
    import multiprocessing

    child = multiprocessing.get_context("fork").Process(target=_report_with_small_files, args=(bench, tmp_path / "out"))
    child.start()
    child.join(60)
    assert child.exitcode == 7
    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == []


def _report_with_small_files(bench, out: Path) -> None:
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    try:
        bench.report(out=out)
    except StoreError:
        os._exit(7)
    os._exit(0)


def test_modalities_without_a_name(bench, builder):
    """An episode whose task could not be read has no modality in the summary."""
    result = bench.result.model_copy(update={"modality": None, "domain": "unknown"})
    folder = bench.report(result, tasks={})
    assert "unreadable: unknown" in Page((folder / "index.html").read_text(encoding="utf-8")).text
    assert bench.spec.modality is Modality.GUI
