"""The adapter for replies from outside: who waits for whom, and which seconds count."""

from __future__ import annotations

import threading

import pytest

from tasks_lib.agents import Brief, View
from tasks_lib.agents.outside import LEFT, OutsideAgent
from tasks_lib.models import DeadlineError
from tasks_lib.records import Decision, Ending, Modality


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def view(seconds=60.0):
    return View(Brief(Modality.CODE, "Write it."), step=1, steps_left=3, seconds_left=seconds)


def test_the_loop_gets_what_is_answered_and_nothing_is_answered_unasked(clock):
    agent = OutsideAgent("gym", lambda _: asked.append(agent.answer("first")), clock=clock)
    asked = []
    assert not agent.answer("nobody asked")
    assert agent.reply(view()).text == "first"
    assert asked == [True]
    assert not agent.answer("too late")


def test_a_second_answer_to_one_view_is_left_aside(clock):
    agent = OutsideAgent("gym", lambda _: taken.extend([agent.answer("first"), agent.answer("second")]), clock=clock)
    taken = []
    assert agent.reply(view()).text == "first"
    assert taken == [True, False]


def test_who_leaves_answers_fail_now_and_later(clock):
    agent = OutsideAgent("mcp", lambda _: agent.leave(), clock=clock)
    assert agent.reply(view()).text == LEFT
    agent._ask = pytest.fail  # nobody is there to be asked
    assert agent.reply(view()).text == LEFT


def test_a_view_that_nobody_answers_ends_with_the_time(clock):
    def sleep(_):
        clock.now += 61.0

    with pytest.raises(DeadlineError, match="no reply from outside within 60 s"):
        OutsideAgent("gym", sleep, clock=clock).reply(view())


def test_seconds_that_are_held_do_not_count(clock):
    agent = OutsideAgent("gym", lambda _: None, clock=clock)
    with agent.held():
        clock.now += 1000.0
        assert agent.clock() == 100.0
    clock.now += 1.0
    assert agent.clock() == 101.0


def test_replies_of_another_thread_are_played_like_any_other(played, code_machine, stage):
    script = "```python\nopen('out.txt', 'w').write('7')\n```"
    replies = iter([script, "no block at all", "```decision\nDONE\n```"])
    views = []

    def ask(seen):
        views.append(seen)
        threading.Thread(target=agent.answer, args=(next(replies),)).start()

    agent = OutsideAgent("mcp", ask)
    found = played.play(agent, code_machine.computer, stage(), clock=agent.clock)
    assert found.ending is Ending.DONE
    assert [(step.decision, step.wasted) for step in found.steps] == [
        (Decision.CONTINUE, False),
        (Decision.CONTINUE, True),
        (Decision.DONE, False),
    ]
    assert code_machine.computer.get_file("out.txt") == b"7"
    assert [seen.steps_left for seen in views] == [10, 9, 8]
    assert "nothing that can be done" in views[2].feedback
