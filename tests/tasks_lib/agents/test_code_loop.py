"""The code loop in a real machine, with a model that is a real endpoint."""

from __future__ import annotations

import contextlib
import re

import pytest

from tasks_lib.agents import LlmAgent, Reply, ScriptedLlmAgent, TranscriptAgent, make_agent
from tasks_lib.agents._work import LONGEST_FEEDBACK
from tasks_lib.models import Canned, DeadlineError, Fault, FaultKind, Redactor, ScriptedEndpoint
from tasks_lib.records import Decision, Ending, Step
from tasks_lib.records.errors import EndpointError, MachineLostError, TransientEndpointError

DONE = "```decision\nDONE\n```"


def script(text):
    return f"```python\n{text}\n```"


def test_a_script_fails_is_mended_and_done_ends_the_work(code_machine, played, stage, prompts):
    replies = [
        "I try.\n" + script("print('before')\nraise SystemExit('no such phase')") + "\n```memory\nfirst try made\n```",
        script("from pathlib import Path\nPath('out.txt').write_text('42')\nprint('written')"),
        "Now it is there.\n" + DONE,
    ]
    agent = ScriptedLlmAgent(replies)
    with contextlib.closing(agent):
        played.play(agent, code_machine.computer, stage())
    assert played.ending is Ending.DONE
    first, second, third = played.steps
    assert (first.index, second.index, third.index) == (1, 2, 3)
    assert first.actions[0].ok is False
    assert "return code 1" in first.feedback
    assert "no such phase" in first.feedback
    assert (second.actions[0].ok, second.decision) == (True, Decision.CONTINUE)
    assert "return code 0\nstdout:\nwritten" in second.feedback
    assert third.decision is Decision.DONE
    assert not any(step.wasted for step in played.steps)
    assert all(step.observation.screenshot is None for step in played.steps)
    assert all(step.usage.input_tokens > 100 and step.usage.output_tokens > 0 for step in played.steps)
    assert code_machine.computer.get_file("out.txt") == b"42"
    one, two, three = prompts(agent.session)
    assert stage().instruction in one
    assert "no such phase" in two
    assert "first try made" in two
    assert "print('before')" in two
    assert "first try made" in three
    assert "step 3, left: 8 replies" in three


def test_return_code_0_does_not_end_the_work(code_machine, played, stage):
    agent = TranscriptAgent("oracle", [Reply(script("print(1)"))] * 5)
    assert played.play(agent, code_machine.computer, stage(), steps=3).ending is Ending.STEPS
    assert [step.actions[0].ok for step in played.steps] == [True] * 3


def test_a_reply_without_a_block_is_a_wasted_step_with_feedback(code_machine, played, stage, prompts):
    agent = ScriptedLlmAgent(["I think the answer is 42.", "", DONE])
    with contextlib.closing(agent):
        played.play(agent, code_machine.computer, stage())
    assert [step.wasted for step in played.steps] == [True, True, False]
    assert "nothing that can be done" in played.steps[0].feedback
    assert "nothing that can be done" in prompts(agent.session)[1]
    assert played.ending is Ending.DONE


def test_fail_is_giving_up(code_machine, played, stage):
    agent = TranscriptAgent("oracle", [Reply("```decision\nFAIL\n```")])
    assert played.play(agent, code_machine.computer, stage()).ending is Ending.GAVE_UP


def test_wait_has_nothing_to_wait_for(code_machine, played, stage):
    agent = TranscriptAgent("oracle", [Reply("```decision\nWAIT\n```")])
    played.play(agent, code_machine.computer, stage())
    assert "nothing to wait for" in played.steps[0].feedback
    assert played.steps[0].settle_seconds == 0.0


def test_a_script_that_never_ends_is_ended_with_the_budget(code_machine, played, stage):
    agent = TranscriptAgent("oracle", [Reply(script("print('on it', flush=True)\nwhile True: pass"))])
    assert played.play(agent, code_machine.computer, stage(), seconds=3.0).ending is Ending.SECONDS
    (step,) = played.steps
    assert step.actions[0].ok is False
    assert "ran too long" in step.feedback
    assert "on it" in step.feedback


def test_a_slow_model_ends_with_the_budget_and_leaves_no_step(code_machine, played, stage):
    agent = ScriptedLlmAgent([Fault(FaultKind.SLOW, seconds=60)])
    with contextlib.closing(agent):
        assert played.play(agent, code_machine.computer, stage(), seconds=0.5).ending is Ending.SECONDS
    assert played.steps == []


@pytest.mark.parametrize("kind", [FaultKind.CUT, FaultKind.STATUS, FaultKind.GARBAGE, FaultKind.NO_CHOICE])
def test_an_outage_is_no_failure_of_the_agent(code_machine, played, kind, stage, chat):
    with ScriptedEndpoint() as endpoint:
        agent = LlmAgent(chat(endpoint.open([script("print(1)"), Fault(kind), Fault(kind)])))
        with contextlib.closing(agent), pytest.raises(TransientEndpointError) as caught:
            played.play(agent, code_machine.computer, stage())
    assert not isinstance(caught.value, DeadlineError)
    assert len(played.steps) == 1


class Clock:
    """A clock that an agent can turn on."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize(("lost", "slow"), [(0.0, 61.0), (3.0, 58.0), (30.0, 31.0)])
def test_time_that_an_endpoint_lost_is_not_the_agents_fault(code_machine, played, stage, lost, slow):
    clock = Clock()

    class Late(TranscriptAgent):
        def reply(self, view):
            clock.now += lost + slow
            return Reply(script("print(1)"), lost=lost)

    def go():
        return played.play(Late("oracle"), code_machine.computer, stage(), seconds=60.0, clock=clock)

    if lost > 3.0:
        with pytest.raises(TransientEndpointError, match="30 of the 60 s"):
            go()
    else:
        assert go().ending is Ending.SECONDS
    assert [step.feedback for step in played.steps] == ["the time ended before the script was run"]


def test_an_outage_that_no_retry_can_help(code_machine, played, stage, chat):
    with ScriptedEndpoint() as endpoint:
        agent = LlmAgent(chat(endpoint.open([Fault(FaultKind.STATUS, 403)])))
        with contextlib.closing(agent), pytest.raises(EndpointError, match="403"):
            played.play(agent, code_machine.computer, stage())


def test_the_tokens_are_counted_and_end_the_work(code_machine, played, stage, prompts):
    agent = ScriptedLlmAgent([script("print(1)")] * 9)
    with contextlib.closing(agent):
        played.play(agent, code_machine.computer, stage(), tokens=1000)
    assert played.ending is Ending.TOKENS
    spent = [step.usage.input_tokens + step.usage.output_tokens for step in played.steps]
    assert sum(spent[:-1]) < 1000 <= sum(spent)
    assert "1000 tokens" in prompts(agent.session)[0]


def test_missing_usage_is_recorded_as_missing(code_machine, played, stage):
    agent = ScriptedLlmAgent([Canned(DONE, usage=False)])
    with contextlib.closing(agent):
        played.play(agent, code_machine.computer, stage(), tokens=10)
    assert played.steps[0].usage.input_tokens is None


def test_a_lost_machine_is_told_to_the_caller(played, stage, open_machine):
    machine = open_machine(desktop=False)

    class Ends(TranscriptAgent):
        def reply(self, view):
            machine.close()
            return super().reply(view)

    with pytest.raises(MachineLostError):
        played.play(Ends("oracle", [Reply(script("print(1)"))]), machine.computer, stage())


def test_secrets_are_hidden_in_all_that_is_recorded_and_told(code_machine, played, stage):
    key = "sk-canary-abcdef012345"
    replies = [
        Canned(f"the key is {key}\n" + script("print('sk-canary-' + 'abcdef012345')"), reasoning=f"use {key}"),
        Canned(DONE),
    ]
    agent = ScriptedLlmAgent(replies)
    with contextlib.closing(agent):
        played.play(agent, code_machine.computer, stage(), redactor=Redactor([key]))
    assert "[redacted]" in played.steps[0].reply
    assert "[redacted]" in played.steps[0].feedback
    assert "[redacted]" in played.steps[0].actions[0].feedback
    assert key not in "".join(step.to_line() for step in played.steps)
    assert key not in str(list(agent.session.requests))


@pytest.mark.parametrize("length", [60_000, 600_000])
def test_feedback_is_cut_in_the_middle_and_says_how_much_is_missing(code_machine, played, stage, length):
    agent = TranscriptAgent("oracle", [Reply(script(f"print('the start' + 'x' * {length} + 'the end')"))])
    played.play(agent, code_machine.computer, stage())
    feedback = played.steps[0].feedback
    assert len(feedback) < LONGEST_FEEDBACK
    assert feedback.endswith("the end")
    assert "the start" in feedback
    missing = int(re.search(r"\[… (\d+) characters missing …\]", feedback)[1])
    shown = "".join(line for line in feedback.splitlines() if "characters missing" not in line and "x" in line)
    assert missing + len(shown) == len("the start") + length + len("the end")


def test_a_reply_without_end_is_neither_read_nor_kept(code_machine, played, stage):
    long = Reply("x" * 3_000_000 + DONE, reasoning="y" * 3_000_000)
    played.play(TranscriptAgent("oracle", [long]), code_machine.computer, stage())
    first = played.steps[0]
    assert first.wasted
    assert "at most 200000 are read" in first.feedback
    assert len(first.to_line()) < 500_000
    assert "characters more" in first.reply


def test_a_recorded_trajectory_plays_again(code_machine, played, stage):
    replies = [script("from pathlib import Path\nPath('again.txt').write_text('7')"), "nothing", DONE]
    played.play(make_agent("oracle", transcript=replies), code_machine.computer, stage())
    recorded = [Step.from_json(step.to_line()) for step in played.steps]
    played.steps.clear()
    played.play(make_agent("replay", trajectory=recorded), code_machine.computer, stage())
    assert [step.reply for step in played.steps] == replies
    assert [step.wasted for step in played.steps] == [False, True, False]
    assert code_machine.computer.get_file("again.txt") == b"7"


def test_nop_says_done_at_once(code_machine, played, stage):
    assert played.play(make_agent("nop"), code_machine.computer, stage()).ending is Ending.DONE
    assert len(played.steps) == 1


def test_a_transcript_without_done_is_ended_by_one(code_machine, played, stage):
    played.play(make_agent("oracle", transcript=[script("print(1)")]), code_machine.computer, stage())
    assert [step.decision for step in played.steps] == [Decision.CONTINUE, Decision.DONE]


def test_random_scripts_run(code_machine, played, stage):
    played.play(make_agent("random", seed=5), code_machine.computer, stage(), steps=4)
    assert all(action.ok for step in played.steps for action in step.actions)
    assert not any(step.wasted for step in played.steps)
