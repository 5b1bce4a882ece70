"""Judges behind a real endpoint on loopback, and trajectories for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from tasks_lib.evaluation.alignment import Trajectory, parse_trajectories
from tasks_lib.evaluation.judges import Judge, Metric
from tasks_lib.models import Canned, ChatModel, Fault, HttpChat, RetryPolicy, ScriptedEndpoint, ScriptedSession

Replies = Sequence[str | Canned | Fault]


@pytest.fixture(scope="session")
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as found:
        yield found


class ScriptedJudge(Judge):
    """A judge whose replies are told by task and metric, with the requests that it got."""

    sessions: dict[tuple[str, Metric], ScriptedSession]


@pytest.fixture
def judge_of(endpoint: ScriptedEndpoint) -> Callable[..., ScriptedJudge]:
    def make(name: str, replies: Mapping[tuple[str, Metric], Replies], model: str = "") -> ScriptedJudge:
        sessions = {key: endpoint.open(found) for key, found in replies.items()}

        def client(task: str, metric: Metric) -> ChatModel:
            session = sessions[task, metric]
            quick = RetryPolicy(attempts=2, first=0.0)
            return HttpChat(name, session.settings(attempts=2), api_key=session.token, retries=quick)

        judge = ScriptedJudge(name, model or name, client)
        object.__setattr__(judge, "sessions", sessions)
        return judge

    return make


@pytest.fixture(scope="session")
def reply() -> Callable[..., str]:
    def write(ticket: str, why: str = "ok", name: str = "judgement", **parts: Any) -> str:
        return json.dumps({"name": name, "arguments": {"ticket": ticket, **parts, "why": why}})

    return write


@pytest.fixture(scope="session")
def trajectory() -> Callable[..., Trajectory]:
    def make(*calls: Mapping[str, Any], key: str = "00010000", **more: Any) -> Trajectory:
        task = {"id": key, "steps": [{"calls": [dict(call)]} for call in calls], **more}
        return parse_trajectories(json.dumps([task]).encode(), "made").trajectories[key]

    return make
