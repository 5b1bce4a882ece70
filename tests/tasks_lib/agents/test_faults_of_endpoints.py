"""Every fault of an endpoint, in every dialect, met by an agent at work: waited out, VOID, or a wasted step."""

from __future__ import annotations

import contextlib
import json

import pytest

from tasks_lib.agents import AgentSettings, LlmAgent
from tasks_lib.models import Canned, DeadlineError, Fault, FaultKind, HttpChat, ScriptedEndpoint
from tasks_lib.records import Ending
from tasks_lib.records.errors import EndpointError, TransientEndpointError, policy_for
from tasks_lib.records.outcome import Verb, VoidReason

from ..models.faces import FACES  # noqa: TID252  # the endpoints of the clients' own tests

SETTINGS = AgentSettings(replies="tools", conversation="kept")
PASSING = [
    Fault(FaultKind.CUT), Fault(FaultKind.STATUS, 429, retry_after="1"), Fault(FaultKind.STATUS, 500),
    Fault(FaultKind.STATUS, 529), Fault(FaultKind.GARBAGE), Fault(FaultKind.TRUNCATED), Fault(FaultKind.SHORT),
    Fault(FaultKind.LONG), Fault(FaultKind.NO_CHOICE), Fault(FaultKind.CUT_WITHIN), Fault(FaultKind.BROKEN_EVENT),
    Fault(FaultKind.ERROR_WITHIN, body='{"error": {"code": 503, "message": "overloaded"}}'),
]  # fmt: skip


@pytest.fixture(scope="module", params=sorted(FACES))
def endpoint(request):
    with ScriptedEndpoint(FACES[request.param]) as served:
        yield request.param, served


@pytest.fixture(params=[True, False], ids=["streamed", "whole"])
def agent_at(endpoint, request):
    provider, served = endpoint
    with contextlib.ExitStack() as closing:

        def make(replies, **changes):
            session = served.open(replies)
            settings = session.settings(provider=provider, stream=request.param, **({"attempts": 2} | changes))
            model = HttpChat("test", settings, api_key=session.token, environ={}, sleep=lambda _: None)
            agent = LlmAgent(model, settings=SETTINGS)
            closing.callback(agent.close)
            return agent, session

        yield make


def call(name, **arguments):
    # The strict endpoints want a thought to come back with the calls.
    return Canned("", reasoning="hm", calls=((name, json.dumps(arguments)),))


def test_what_passes_costs_no_step(agent_at, code_machine, played, stage):
    replies = [item for fault in PASSING for item in (fault, call("remember", notes=fault.kind.value))]
    agent, session = agent_at([*replies, call("done")])
    played.play(agent, code_machine.computer, stage(), steps=20, settings=SETTINGS)
    assert played.ending is Ending.DONE
    assert len(played.steps) == len(PASSING) + 1
    assert all(fault.kind.value in step.reply for fault, step in zip(PASSING, played.steps, strict=False))
    assert len(session.requests) == 2 * len(PASSING) + 1


@pytest.mark.parametrize("fault", PASSING, ids=lambda fault: f"{fault.kind.name}-{fault.status}")
def test_what_does_not_pass_in_time_is_an_outage(agent_at, code_machine, played, stage, fault):
    agent, _ = agent_at([call("remember", notes="x"), fault, fault])
    with pytest.raises(TransientEndpointError) as caught:
        played.play(agent, code_machine.computer, stage(), settings=SETTINGS)
    assert not isinstance(caught.value, DeadlineError)
    assert (policy_for(caught.value).verb, policy_for(caught.value).reason) == (Verb.RETRY, VoidReason.ENDPOINT)
    assert len(played.steps) == 1


@pytest.mark.parametrize("status", [400, 401, 413])
def test_what_no_retry_can_help_voids_the_episode(agent_at, code_machine, played, stage, status):
    agent, session = agent_at([Fault(FaultKind.STATUS, status)])
    with pytest.raises(EndpointError, match=f"status {status}") as caught:
        played.play(agent, code_machine.computer, stage(), settings=SETTINGS)
    assert (policy_for(caught.value).verb, policy_for(caught.value).reason) == (Verb.VOID, VoidReason.ENDPOINT)
    assert len(session.requests) == 1


def test_silence_is_an_outage_and_no_hang(agent_at, code_machine, played, stage):
    agent, _ = agent_at([Fault(FaultKind.STALL, seconds=60)], attempts=1, stall_seconds=0.1, read_seconds=0.2)
    with pytest.raises(TransientEndpointError) as caught:
        played.play(agent, code_machine.computer, stage(), settings=SETTINGS)
    assert not isinstance(caught.value, DeadlineError)


def test_what_a_model_says_badly_is_a_wasted_step_that_it_is_told_of(agent_at, code_machine, played, stage):
    script = "from pathlib import Path\nPath('out.txt').write_text('done')"
    replies = [
        Canned(""),
        Canned("", refusal="I cannot help with that."),
        Canned("", reasoning="hm", calls=(("run_script", "{\"script\": \"open('never.txt', 'w')\""),)),
        Canned("", reasoning="hm", calls=(("run_script", json.dumps({"script": script}) * 2),)),
        call("run_script", script=script),
        call("done"),
    ]
    agent, session = agent_at(replies)
    played.play(agent, code_machine.computer, stage(), settings=SETTINGS)
    assert played.ending is Ending.DONE
    assert [step.wasted for step in played.steps] == [True, True, True, True, False, False]
    assert all(step.actions == () and step.feedback for step in played.steps[:4])
    assert code_machine.computer.get_file("out.txt") == b"done"
    with pytest.raises(Exception, match="never"):
        code_machine.computer.get_file("never.txt")
    assert "no tool was called" in json.dumps(session.requests[1])
