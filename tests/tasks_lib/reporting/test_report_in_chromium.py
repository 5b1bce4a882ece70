"""The report in a real browser: no overflow, no request, no error, marks where the clicks were."""

from dataclasses import dataclass, field

import pytest

from tasks_lib.reporting import write_report

pytestmark = pytest.mark.browser

WIDTHS = (1280, 400)
HOSTILE = "<script>window.pwned=1</script><img src=x onerror='window.pwned=1'></pre>" + "W" * 3000
KINDS = {
    "index": "index.html",
    "gui": "episodes/xps-c1s-two-peaks--scripted-llm-alpha--t1.html",
    "figure": "episodes/xrd-si-figure--oracle--t1.html",
    "code": "episodes/si-lattice-constant--oracle--t1.html",
    "mixed": "episodes/mos2-bands-to-figure--scripted-llm-alpha--t2.html",
    "void": "episodes/xps-c1s-two-peaks--random--t1.html",
    "pending": "episodes/naf-density--random--t2.html",
}


@dataclass
class Watched:
    """A page and everything that it complained about or asked for."""

    page: object
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def open(self, path, width: int) -> None:
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.goto(path.as_uri())

    def show_all(self) -> None:
        """Unfold everything and load every picture."""
        self.page.evaluate(
            """async () => {
                for (const fold of document.querySelectorAll('details')) fold.open = true;
                for (const image of document.images) { image.loading = 'eager'; await image.decode(); }
            }"""
        )

    def overflow(self) -> int:
        return self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.fixture(scope="module")
def browser(chromium):
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture(params=["light", "dark"])
def watched(browser, request):
    context = browser.new_context(color_scheme=request.param)
    seen = Watched(context.new_page())
    seen.page.on("console", lambda message: seen.said.append(message.text))
    seen.page.on("pageerror", lambda error: seen.said.append(str(error)))
    seen.page.on("request", lambda sent: seen.asked.append(sent.url))
    seen.page.on("requestfailed", lambda sent: seen.failed.append(sent.url))
    yield seen
    context.close()


@pytest.mark.parametrize("kind", KINDS)
def test_pages_fit_and_ask_for_nothing(reported, watched, kind):
    for width in WIDTHS:
        watched.open(reported.folder / KINDS[kind], width)
        assert watched.overflow() == 0, width
        watched.show_all()
        assert watched.overflow() == 0, width
    assert watched.said == []
    assert watched.failed == []
    assert [url for url in watched.asked if not url.startswith(reported.folder.as_uri())] == []
    assert any(url.endswith("style.css") for url in watched.asked)


@pytest.mark.parametrize("width", WIDTHS)
def test_style_sheet_is_really_applied(reported, watched, width):
    """A policy that shuts out the style sheet of a local folder would leave the page bare, without an error."""
    watched.open(reported.folder / "index.html", width)
    grounds = watched.page.evaluate(
        "[...document.querySelectorAll('.chip')].map(chip => getComputedStyle(chip).backgroundColor)"
    )
    assert len(set(grounds)) == 4


@pytest.mark.parametrize("width", WIDTHS)
def test_marks_lie_where_the_clicks_were(reported, watched, width):
    watched.open(reported.folder / KINDS["gui"], width)
    watched.show_all()
    found = watched.page.evaluate(
        """() => [...document.querySelectorAll('.shot')].flatMap(shot => {
            const image = shot.querySelector('img'), box = image.getBoundingClientRect();
            return [...shot.querySelectorAll('.mark')].map(mark => {
                const ring = mark.querySelector('.ink.ring').getBoundingClientRect();
                return {
                    x: (ring.left + ring.width / 2 - box.left) / box.width * image.naturalWidth,
                    y: (ring.top + ring.height / 2 - box.top) / box.height * image.naturalHeight,
                    wide: ring.width, tall: ring.height, shown: box.width,
                };
            });
        })"""
    )
    centres = [(254, 77), (855, 526), (600, 200), (900, 300), (300, 640)]
    assert len(found) == len(centres)
    for mark, (x, y) in zip(found, centres, strict=True):
        # Half a pixel of the page is up to this many of the screenshot.
        near = 0.75 * 1440 / mark["shown"]
        assert (mark["x"], mark["y"]) == (pytest.approx(x, abs=near), pytest.approx(y, abs=near))
        assert mark["wide"] == pytest.approx(mark["tall"], abs=1.0), "a ring, not an ellipse"
        assert 14 <= mark["wide"] <= 60


def test_tables_scroll_in_their_own_box_and_by_keyboard(reported, watched):
    watched.open(reported.folder / "index.html", 400)
    box = watched.page.locator(".scroll").first
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    box.evaluate("box => box.addEventListener('scroll', () => box.setAttribute('data-scrolled', 'yes'))")
    box.focus()
    watched.page.keyboard.press("ArrowRight")
    box.and_(watched.page.locator("[data-scrolled=yes]")).wait_for()


def test_strict_conditional_and_void_are_seen_together_at_400_pixels(reported, watched):
    watched.open(reported.folder / "index.html", 400)
    heads = watched.page.locator(".figures").first.locator("thead th")
    edges = heads.evaluate_all("heads => heads.map(head => head.getBoundingClientRect().right)")
    assert edges[3] <= 400


def test_skip_link_and_folds_work_by_keyboard(reported, watched):
    watched.open(reported.folder / KINDS["gui"], 1280)
    watched.page.keyboard.press("Tab")
    assert watched.page.evaluate("document.activeElement.textContent") == "Skip to content"
    summary = watched.page.locator("summary").first
    summary.focus()
    watched.page.keyboard.press("Enter")
    assert watched.page.locator("details").first.evaluate("fold => fold.open")


def test_hostile_text_runs_nothing_and_widens_nothing(builder, store, tmp_path, watched):
    task = builder.tasks()["xps-c1s-two-peaks"]
    run = builder.RunFolder(store, "run-1")
    spec = builder.EpisodeSpec(
        id="hostile--m--t1", task_id=task.id, task_digest="ab" * 32, agent="m", seed=1, modality=task.modality
    )
    builder.write_manifest(store, run, (spec,))
    build = builder.Builder(store, run, [])
    attempt = run.episode(spec.id).attempt(1)
    shot = build.sight(HOSTILE[:200], "x")
    action = builder.ActionRecord(text=HOSTILE, kind="mouse.drag", ok=False, feedback=HOSTILE)
    build.step(attempt, "main", 1, HOSTILE, observation=shot, actions=(action,), feedback=HOSTILE, reasoning=HOSTILE)
    files = {f"{'n' * 200}.html": build.blob(HOSTILE), "wide.csv": build.blob(f"a,b\n{HOSTILE},{HOSTILE}\n")}
    build.evidence(attempt, "main", 1, files, missing=("m" * 300,))
    records = builder.judged(task, {"main-peak": False})
    records[0] = records[0].model_copy(update={"seen": HOSTILE, "wanted": [HOSTILE], "why": HOSTILE})
    verdict = build.verdict(attempt, task, records)
    result = builder.result_of(spec, task, verdict, steps=1).model_copy(update={"message": HOSTILE})
    void = result.model_copy(update={"outcome": builder.Outcome.VOID, "void_reason": builder.VoidReason.INTERNAL})
    write_report(store, "run-1", {task.id: task}, tmp_path / "report", summary=builder.summary("run-1", [void]))
    for name in ("index.html", "episodes/hostile--m--t1.html"):
        for width in WIDTHS:
            watched.open(tmp_path / "report" / name, width)
            watched.show_all()
            assert watched.overflow() == 0, (name, width)
            assert watched.page.evaluate("window.pwned") is None
    assert watched.said == []
    assert [url for url in watched.asked if not url.startswith(tmp_path.as_uri())] == []


def test_prints_on_paper_without_cutting(reported, watched, tmp_path):
    watched.open(reported.folder / KINDS["gui"], 1280)
    watched.show_all()
    data = watched.page.pdf(path=str(tmp_path / "page.pdf"), format="A4", print_background=True)
    assert data.startswith(b"%PDF-")
    watched.page.emulate_media(media="print")
    watched.page.set_viewport_size({"width": 720, "height": 1000})
    assert watched.overflow() == 0
