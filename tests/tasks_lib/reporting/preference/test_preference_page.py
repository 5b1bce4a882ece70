"""The page in a real browser, by keys alone; and who is not let in."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tasks_lib.reporting.preference import BallotBox, PreferencePage, Preferred, Side, Study, read_answers

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture
def served(study_of: Callable[..., Study], tmp_path: Path) -> Iterator[tuple[Study, PreferencePage, Path]]:
    study, path = study_of(seed=7), tmp_path / "results.jsonl"
    with BallotBox(path, study) as box, PreferencePage(study, box) as page:
        yield study, page, path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: install the package chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.mark.browser
def test_a_person_answers_by_keys(browser: Any, served: tuple[Study, PreferencePage, Path], tmp_path: Path) -> None:
    study, page, path = served
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    tab = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda sent: asked.append(sent.url))
    tab.goto(page.url)
    for width in (1280, 400):
        tab.set_viewport_size({"width": width, "height": 800})
        assert tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    tab.set_viewport_size({"width": 1280, "height": 800})
    wanted = []
    for index, key in enumerate(["1", "2", "0", "1"]):
        tab.wait_for_selector(f"text=Pair {index + 1} of 5")
        shown = tab.content()
        # Neither names nor which file is on which side.
        assert "alpha-9" not in shown.lower()
        assert "beta.v2" not in shown.lower()
        assert "first" not in shown.lower()
        side = "left" if key == "1" else "right"
        replies = {name: tab.inner_text(f"section[aria-labelledby={name}] .reply") for name in ("left", "right")}
        assert {reply.split(":")[0] for reply in replies.values()} == {"I am ▒▒▒"}
        better = "first" if "401.57" in replies[side] else "second"
        wanted.append((study.pairs[index].task, "tie" if key == "0" else better))
        if index == 0:
            tab.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
            assert "<script>window.pwned = 1</script>" in tab.inner_text("main")
            assert "3 calls in 2 steps" in tab.inner_text("main")
            assert "1 call in 1 step" in tab.inner_text("main")
            tab.screenshot(path=str(tmp_path / "pair.png"))
        tab.keyboard.press(key)
    tab.wait_for_selector("text=Pair 5 of 5")
    tab.keyboard.press("u")
    tab.wait_for_selector("text=Pair 4 of 5")
    tab.keyboard.press("Control+1")  # a browser's own key
    tab.keyboard.press("2")
    wanted[-1] = (wanted[-1][0], "second" if wanted[-1][1] == "first" else "first")
    tab.wait_for_selector("text=Pair 5 of 5")
    tab.focus("text=Neither is")
    tab.keyboard.press("Enter")
    wanted.append((study.pairs[4].task, "tie"))
    tab.wait_for_selector("text=All 5 pairs are answered")
    assert not page.finished.is_set()
    tab.keyboard.press("Enter")
    tab.wait_for_selector("text=The answers are kept")
    assert page.finished.wait(10)
    assert tab.evaluate("window.pwned") is None
    assert said == []
    assert {httpx.URL(url).host for url in asked} == {"127.0.0.1"}
    assert [(task, ballot.preferred) for task, ballot in read_answers(path).ballots.items()] == wanted
    context.close()


@pytest.mark.browser
def test_a_person_goes_on_in_a_new_browser_after_the_page_was_stopped(
    browser: Any, study_of: Callable[..., Study], tmp_path: Path
) -> None:
    study, path = study_of(seed=1), tmp_path / "results.jsonl"
    for begins in (1, 3):
        with BallotBox(path, study) as box, PreferencePage(study, box) as page:
            context = browser.new_context()
            tab = context.new_page()
            tab.goto(page.url)
            for number in (begins, begins + 1):
                tab.wait_for_selector(f"text=Pair {number} of 5")
                tab.click("text=Left is better")
            tab.wait_for_selector(f"text=Pair {begins + 2} of 5")
            tab.click("text=Stop for now")
            tab.wait_for_selector("text=The answers are kept")
            assert page.finished.wait(10)
            context.close()
    left = [Preferred.FIRST if pair.first_on is Side.LEFT else Preferred.SECOND for pair in study.pairs[:4]]
    assert [ballot.preferred for ballot in read_answers(path).ballots.values()] == left


def _client(page: PreferencePage) -> tuple[httpx.Client, str]:
    """Come in by the address as a browser does; return a client, and the address of the room."""
    client = httpx.Client(trust_env=False, follow_redirects=True)
    answer = client.get(page.url)
    assert answer.status_code == 200
    return client, str(answer.url)


def test_strangers_are_refused(served: tuple[Study, PreferencePage, Path]) -> None:
    _, page, path = served
    origin, room = page.url.split("?")[0].rsplit("/", 2)[0], page.url.split("?")[0]
    stranger = httpx.Client(trust_env=False)
    assert stranger.get(f"{room}?token=wrong").status_code == 403
    client, inside = _client(page)
    assert inside == room
    good = {"Origin": origin}
    for refused in (
        stranger.get(page.url),
        stranger.get(room),
        stranger.get(f"{origin}/"),
        stranger.post(f"{room}answer", data={"choice": "left", "index": "0"}, headers=good),
        stranger.get(f"{room}style.css"),
        client.post(f"{room}answer", data={"choice": "left", "index": "0"}, headers={"Origin": "http://evil.test"}),
        client.post(f"{room}answer", data={"choice": "left", "index": "0"}),
        client.post(f"{room}finish"),
        client.get(room, headers={"Host": "evil.test"}),
    ):
        assert refused.status_code == 403
    for wrong in ({"choice": "both", "index": "0"}, {"choice": "left"}, {"choice": "left", "index": "99"}, {}):
        assert client.post(f"{room}answer", data=wrong, headers=good).status_code == 400
    large = client.post(f"{room}answer", data={"choice": "left", "index": "0", "x": "y" * 10_000}, headers=good)
    assert large.status_code == 413
    assert client.get(f"{room}nothing.css").status_code == 404
    assert client.get(f"{room}..%2f..%2fpage.py").status_code == 404
    assert client.get(page.url).status_code == 200, "the browser that was let in may load the address again"
    assert not page.finished.is_set()
    assert read_answers(path).ballots == {}
    policy = client.get(room).headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")


def test_a_key_pressed_twice_answers_one_pair(served: tuple[Study, PreferencePage, Path]) -> None:
    _, page, path = served
    client, room = _client(page)
    headers = {"Origin": room.rsplit("/", 2)[0]}
    for _ in range(2):
        assert "Pair 2 of 5" in client.post(f"{room}answer", data={"choice": "tie", "index": "0"}, headers=headers).text
    assert len(read_answers(path).ballots) == 1


def test_a_full_disk_is_told_and_the_pair_is_asked_again(
    served: tuple[Study, PreferencePage, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, page, path = served
    client, room = _client(page)
    headers = {"Origin": room.rsplit("/", 2)[0]}

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        answer = client.post(f"{room}answer", data={"choice": "left", "index": "0"}, headers=headers)
    assert answer.status_code == 507
    assert "could not be kept: No space left on device" in answer.text
    assert "Pair 1 of 5" in answer.text
    assert read_answers(path).ballots == {}
    assert "Pair 2 of 5" in client.post(f"{room}answer", data={"choice": "left", "index": "0"}, headers=headers).text


def test_other_names_are_hidden_and_long_trajectories_are_cut(
    two_files: Any, study_of: Callable[..., Study], tmp_path: Path
) -> None:
    from dataclasses import replace

    from tasks_lib.evaluation.alignment import Call, TrajectoryFile
    from tasks_lib.reporting.preference import prepare_study

    call = Call("wiki/search", ["Made by Gamma Labs", "\u202egnp"], "[]", "x" * 5000)
    long = {
        key: replace(one, steps=((call,) * 150, (), (call,) * 100)) for key, one in two_files[0].trajectories.items()
    }
    study = prepare_study(TrajectoryFile("l", long), two_files[1], ("x1", "y2"))
    with BallotBox(tmp_path / "r", study) as box, PreferencePage(study, box, ["gamma labs"]) as page:
        client, room = _client(page)
        text = client.get(room).text
    assert "the last 50 calls are left out" in text
    assert "Gamma" not in text
    assert "⟦U+202E⟧" in text
    assert "characters left out" in text
    assert len(text) < 1_500_000
