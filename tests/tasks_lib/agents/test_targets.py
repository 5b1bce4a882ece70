"""Finding targets on generated screens: where they are, that they are not there, which of several is meant."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from tasks_lib.agents import (
    Brief,
    Reply,
    TargetAbsentError,
    TargetError,
    Targets,
    TranscriptAgent,
    View,
    find_target,
    make_agent,
    parse_reply,
    place_of,
    reply_problems,
    stuck_reason,
)
from tasks_lib.agents._matching import THRESHOLD, _score, _scores, _scores_of_likely
from tasks_lib.agents.transcripts import PATIENCE
from tasks_lib.records import Decision, Modality, WindowState
from tasks_lib.taskdefs import Target, TargetCall, cut_target, write_target

GREY = (246, 245, 244)
INK = (46, 52, 54)
FONT = ImageFont.load_default(13)


def label(text, ink=INK, ground=GREY, size=(110, 22)):
    """A button's label as a toolkit draws it: antialiased text on a flat ground."""
    image = Image.new("RGB", size, ground)
    ImageDraw.Draw(image).text((8, 3), text, fill=ink, font=FONT)
    return np.asarray(image).copy()


def screen_of(*placed, size=(640, 400), ground=GREY):
    screen = np.empty((size[1], size[0], 3), dtype=np.uint8)
    screen[:] = ground
    for pixels, x, y in placed:
        screen[y : y + pixels.shape[0], x : x + pixels.shape[1]] = pixels
    return screen


def png(screen):
    stream = io.BytesIO()
    Image.fromarray(screen).save(stream, "PNG")
    return stream.getvalue()


SAVE = Target("test/save", label("Save Session"))


@given(
    seed=st.integers(0, 2**32 - 1),
    width=st.integers(12, 90),
    height=st.integers(12, 60),
    x=st.integers(0, 320 - 90),
    y=st.integers(0, 200 - 60),
)
@settings(max_examples=60, deadline=None)
def test_a_pasted_target_is_found_at_its_place_and_nowhere_else(seed, width, height, x, y):
    noise = np.random.default_rng(seed)
    target = Target("a/b", noise.integers(0, 256, (height, width, 3), dtype=np.uint8))
    screen = noise.integers(0, 256, (200, 320, 3), dtype=np.uint8)
    assert find_target(screen, target).matches == ()
    screen[y : y + height, x : x + width] = target.pixels
    search = find_target(screen, target)
    assert [(match.x, match.y, match.width, match.height) for match in search.matches] == [(x, y, width, height)]
    assert search.best == pytest.approx(1.0)
    assert search.matches[0].middle == (x + width // 2, y + height // 2)


@given(x=st.integers(0, 640 - 110), y=st.integers(0, 400 - 22), ground=st.sampled_from([GREY, (0, 0, 0), (255,) * 3]))
@settings(max_examples=40, deadline=None)
def test_a_label_is_found_on_flat_ground_wherever_it_stands(x, y, ground):
    found = find_target(screen_of((SAVE.pixels, x, y), ground=ground), SAVE).matches
    assert [(match.x, match.y) for match in found] == [(x, y)]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 11)), min_size=2, max_size=6, unique=True))
@settings(max_examples=20, deadline=None)
def test_every_one_of_several_is_found(cells):
    places = [(column * 120, row * 30) for column, row in cells]
    found = find_target(screen_of(*((SAVE.pixels, x, y) for x, y in places)), SAVE).matches
    assert [(match.x, match.y) for match in found] == sorted(places, key=lambda place: (place[1], place[0]))


@pytest.mark.parametrize("noise", ["flat", "gradient", "noise", "stripes"])
def test_absence_is_told(noise):
    row = np.arange(640, dtype=float)
    screens = {
        "flat": np.full((400, 640), 200.0),
        "gradient": np.broadcast_to(row / 640 * 255, (400, 640)),
        "noise": np.random.default_rng(3).uniform(0, 255, (400, 640)),
        "stripes": np.broadcast_to((row % 7 < 3) * 255, (400, 640)),
    }
    screen = np.repeat(screens[noise][:, :, None], 3, axis=2).astype(np.uint8)
    search = find_target(screen, SAVE)
    assert search.matches == ()
    assert search.best < 0.8


@pytest.mark.parametrize("other", ["Save History", "Load Session", "Save Sessions", "SAVE SESSION", "Save"])
def test_other_labels_are_other_targets(other):
    assert find_target(screen_of((label(other), 200, 100)), SAVE).matches == ()


@pytest.mark.parametrize(
    ("pixels", "why"),
    [
        (label("Save Session", ink=(150, 152, 154)), "greyed out"),
        (label("Save Session", ink=(255, 255, 255), ground=(53, 132, 228)), ""),
        (np.clip(SAVE.pixels.astype(int) - 25, 0, 255).astype(np.uint8), "a selection"),
    ],
    ids=["greyed-out", "inverted", "darker"],
)
def test_a_label_in_another_state_is_no_match(pixels, why):
    search = find_target(screen_of((pixels, 200, 100), ground=(20, 20, 20)), SAVE)
    assert search.matches == ()
    assert why in search.but
    assert bool(search.but) == bool(why)


@given(
    seed=st.integers(0, 2**32 - 1),
    levels=st.integers(2, 256),
    shifts=st.lists(st.integers(-9, 9), min_size=1, max_size=4),
)
@settings(max_examples=40, deadline=None)
def test_a_place_that_passes_is_never_among_those_that_are_not_looked_at(seed, levels, shifts):
    noise = np.random.default_rng(seed)
    target = Target("a/b", (noise.integers(0, levels, (9, 14, 3)) * (255 // (levels - 1))).astype(np.uint8))
    screen = (noise.integers(0, levels, (80, 120, 3)) * (255 // (levels - 1))).astype(np.uint8)
    for place, shift in enumerate(shifts):
        changed = np.clip(target.pixels.astype(int) + shift + noise.integers(-8, 9, (9, 14, 3)), 0, 255)
        screen[20:29, 28 * place : 28 * place + 14] = changed.astype(np.uint8)
    likely, whole = _scores_of_likely(screen, target.pixels), _scores(screen, target.pixels)
    seen = likely > -1
    assert np.abs(likely[seen] - whole[seen]).max(initial=0) < 1e-3
    for y, x in np.argwhere(~seen & (whole > THRESHOLD - 0.01)):
        _, why = _score(screen[y : y + 9, x : x + 14], target.pixels)
        assert why


def test_a_screen_full_of_likely_places_is_looked_at_whole(monkeypatch):
    screen = screen_of((SAVE.pixels, 20, 30), (SAVE.pixels, 400, 300))
    one = find_target(screen, SAVE)
    monkeypatch.setattr("tasks_lib.agents._matching._MOST_GATHERED", 0)
    assert find_target(screen, SAVE) == one
    assert len(one.matches) == 2


def test_a_level_more_or_less_does_no_harm():
    noise = np.random.default_rng(1).integers(-2, 3, SAVE.pixels.shape)
    near = np.clip(SAVE.pixels.astype(int) + noise, 0, 255).astype(np.uint8)
    assert len(find_target(screen_of((near, 30, 40)), SAVE).matches) == 1


def test_the_same_word_cut_closer_is_a_lookalike_only_while_the_target_is_there():
    plain = label("Data", size=(40, 22))
    ruled = plain.copy()
    ruled[-1] = (200, 200, 200)
    target = Target("a/menu", ruled)
    both = find_target(screen_of((ruled, 10, 10), (plain, 300, 300)), target).matches
    assert [(match.x, match.y) for match in both] == [(10, 10)]


def test_the_search_is_bounded_and_deterministic():
    tile = np.kron(np.random.default_rng(5).integers(0, 2, (8, 10)), np.ones((2, 2)))
    pixels = np.repeat((tile * 255).astype(np.uint8)[:, :, None], 3, axis=2)
    screen = np.tile(pixels, (25, 32, 1))
    first, second = find_target(screen, Target("a/b", pixels)), find_target(screen, Target("a/b", pixels))
    assert first == second
    assert 2 <= len(first.matches) <= 64


@pytest.mark.parametrize("box", [None, (0, 0, 5, 5), (630, 390, 100, 100), (-50, -50, 60, 60), (9000, 0, 10, 10)])
def test_a_target_larger_than_where_it_is_looked_for_is_not_there(box):
    big = Target("a/b", np.random.default_rng(2).integers(0, 256, (500, 20, 3), dtype=np.uint8))
    assert find_target(screen_of(), big, box).matches == ()


class TestPlaces:
    WINDOWS = (
        WindowState(id=1, title="Fityk 1.3.2", x=0, y=0, width=640, height=400),
        WindowState(id=2, title="Save as", x=300, y=200, width=300, height=180, focused=True),
    )
    TWICE = screen_of((SAVE.pixels, 20, 30), (SAVE.pixels, 400, 300))

    def at(self, screen=TWICE, windows=WINDOWS, **rules):
        return place_of(screen, SAVE, TargetCall("test/save", **rules), windows)

    def test_one_match_is_taken_with_its_offset(self):
        once = screen_of((SAVE.pixels, 20, 30))
        assert self.at(once) == (75, 41)
        assert self.at(once, dx=-5, dy=100) == (70, 141)

    def test_two_without_a_rule_are_refused(self):
        with pytest.raises(
            TargetError, match=r"2 times on the screen, at \(75, 41\), \(455, 311\): say near"
        ) as refused:
            self.at()
        assert not isinstance(refused.value, TargetAbsentError)

    def test_near_and_within_decide(self):
        assert self.at(near=(600, 390)) == (455, 311)
        assert self.at(near=(0, 0)) == (75, 41)
        assert self.at(within="save AS") == (455, 311)
        assert self.at(within="save as", near=(0, 0)) == (455, 311)

    def test_a_window_that_is_not_there_may_still_come(self):
        with pytest.raises(TargetAbsentError, match="0 windows have 'Export' in their title; open windows: 'Fityk"):
            self.at(within="Export")

    def test_of_two_windows_the_focused_one_is_meant(self):
        twin = WindowState(id=3, title="Save as well", x=0, y=0, width=300, height=180)
        assert self.at(within="save as", windows=(*self.WINDOWS, twin)) == (455, 311)
        with pytest.raises(TargetError, match="2 windows have"):
            self.at(within="save", windows=(twin, twin.model_copy(update={"id": 4})))

    def test_a_target_outside_its_window_is_not_there(self):
        with pytest.raises(TargetAbsentError, match="is not on the window 'Save as'"):
            self.at(screen_of((SAVE.pixels, 20, 30)), within="Save as")

    @given(dx=st.integers(-2000, 2000), dy=st.integers(-2000, 2000))
    @settings(max_examples=30, deadline=None)
    def test_an_offset_never_leads_off_the_screen(self, dx, dy):
        assume(not (0 <= 75 + dx < 640 and 0 <= 41 + dy < 400))
        with pytest.raises(TargetError, match="outside the screen"):
            self.at(screen_of((SAVE.pixels, 20, 30)), dx=dx, dy=dy)


@pytest.fixture
def targets(tmp_path):
    write_target(tmp_path, SAVE)
    return Targets(tmp_path)


def view(screen, **changes):
    shown = None if screen is None else png(screen)
    brief = Brief(changes.pop("modality", Modality.GUI), "Save it.")
    return View(brief=brief, step=1, steps_left=9, seconds_left=60.0, screenshot=shown, **changes)


def click(*arguments):
    call = ", ".join(arguments)
    return f'Save.\n\n```python\ncomputer.mouse.move_abs(target("test/{call}))\ncomputer.mouse.single_click()\n```'


THERE, NOT_THERE = screen_of((SAVE.pixels, 20, 30)), screen_of()


class TestOracle:
    def test_it_answers_with_pixels_as_an_agent_would(self, targets):
        agent = make_agent("oracle", transcript=[click('save"')], targets=targets)
        reply = agent.reply(view(THERE)).text
        assert "target" not in reply
        actions = parse_reply(reply, Modality.GUI).actions
        assert [(action.kind, action.arguments) for action in actions] == [
            ("mouse.move_abs", {"x": 75, "y": 41}),
            ("mouse.single_click", {}),
        ]
        assert parse_reply(agent.reply(view(THERE)).text, Modality.GUI).decision is Decision.DONE

    def test_what_is_not_there_yet_is_waited_for(self, targets):
        agent = make_agent("oracle", transcript=[click('save"')], targets=targets)
        waits = [agent.reply(view(NOT_THERE)).text for _ in range(PATIENCE)]
        assert {parse_reply(text, Modality.GUI).decision for text in waits} == {Decision.WAIT}
        assert not any(map(stuck_reason, waits))
        assert "move_abs(75, 41)" in agent.reply(view(THERE)).text

    def test_what_never_comes_ends_the_play_with_the_reason_and_without_a_click(self, targets):
        agent = make_agent("oracle", transcript=[click('save"'), click('save"')], targets=targets)
        replies = [agent.reply(view(NOT_THERE)).text for _ in range(PATIENCE + 1)]
        last = parse_reply(replies[-1], Modality.GUI)
        assert (last.decision, last.actions, last.problems) == (Decision.FAIL, (), ())
        assert stuck_reason(replies[-1]).startswith("target test/save is not on the screen (best score ")

    @pytest.mark.parametrize(
        ("call", "screen", "why"),
        [
            ('save"', screen_of((SAVE.pixels, 20, 30), (SAVE.pixels, 400, 300)), "2 times on the screen"),
            ('other"', THERE, "has no picture targets/test/other.png"),
            ('save", by=3', THERE, "is no target"),
            ('save"', None, "without a screen"),
        ],
    )
    def test_what_waiting_does_not_mend_ends_the_play_at_once(self, targets, call, screen, why):
        agent = make_agent("oracle", transcript=[click(call)], targets=targets)
        text = agent.reply(view(screen)).text
        assert why in stuck_reason(text)
        assert parse_reply(text, Modality.GUI).decision is Decision.FAIL

    def test_replay_plays_what_was_recorded(self, targets):
        agent = make_agent("replay", transcript=[click('save"')], targets=targets)
        assert "target" in agent.reply(view(THERE)).text

    def test_replies_without_targets_are_the_same_text(self, targets):
        agent = TranscriptAgent("oracle", [Reply("```python\ncomputer.mouse.single_click()\n```")], targets)
        assert agent.reply(view(None)).text == "```python\ncomputer.mouse.single_click()\n```"


def test_lint_reads_targets_as_the_pixels_that_they_stand_for():
    assert reply_problems(click('save"'), Modality.GUI) == ()
    assert "is no target" in reply_problems(click('save", by=3'), Modality.GUI)[0]
    # A model that writes it is told that there is no such thing.
    assert parse_reply(click('save"'), Modality.GUI).problems


def test_a_cut_target_is_found_where_it_was_cut():
    screen = np.random.default_rng(9).integers(0, 256, (120, 200, 3), dtype=np.uint8)
    target = cut_target(screen, (31, 17, 40, 20), "a/b")
    assert [(match.x, match.y) for match in find_target(screen, target).matches] == [(31, 17)]
