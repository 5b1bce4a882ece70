from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tasks_lib.models import HttpChat, RetryPolicy
from tasks_lib.records import Budget, Deliverable, MachineSettings, Modality, Stage
from tasks_lib.sandbox import provider
from tasks_lib.store import Store

PROGRAMS = ("Xvfb", "openbox", "fityk", "veusz")
DESKTOP_MISSING = [name for name in PROGRAMS if shutil.which(name) is None]
INSTRUCTION = "Write what is asked for into the work folder."


def start_machine(*, desktop):
    return provider("local").open(MachineSettings(), desktop=desktop, endpoints={}, python=Path(sys.executable))


@pytest.fixture(scope="module")
def code_machine():
    machine = start_machine(desktop=False)
    yield machine
    machine.close()


@pytest.fixture
def desktop_machine():
    if DESKTOP_MISSING:
        pytest.skip(f"no {', '.join(DESKTOP_MISSING)} here: install the desktop programs")
    machine = start_machine(desktop=True)
    yield machine
    machine.close()


def make_stage(modality=Modality.CODE, **changes):
    fields = {
        "id": "main",
        "modality": modality,
        "instruction": INSTRUCTION,
        "deliverables": (Deliverable(path="out.txt", what="the answer"),),
    }
    return Stage(**(fields | changes))


class Played:
    """What became of a play: its ending and its steps, kept in a real store."""

    def __init__(self, folder):
        self.store = Store.open(str(folder))
        self.steps = []

    def play(self, agent, computer, stage, *, steps=10, seconds=60.0, tokens=None, **options):
        from tasks_lib.agents import play

        budget = Budget(steps=steps, seconds=seconds, tokens=tokens)
        self.ending = play(agent, computer, stage, budget, self.steps.append, self.store.put_blob, **options)
        return self


@pytest.fixture
def played(tmp_path):
    return Played(tmp_path / "store")


def make_chat(session, *, attempts=2, **changes):
    """A client of a scripted session that does not sleep between tries."""
    settings = session.settings(attempts=attempts, **changes)
    retries = RetryPolicy(attempts=attempts)
    return HttpChat("test", settings, api_key=session.token, environ={}, retries=retries, sleep=lambda _: None)


def texts_asked(session):
    """The text of each request of a session."""
    found = []
    for request in session.requests:
        texts = []
        for message in request["messages"]:
            content = message["content"]
            parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
            texts += [part["text"] for part in parts if part["type"] == "text"]
        found.append("\n".join(texts))
    return found


@pytest.fixture
def stage():
    """Build a stage: `stage(modality, **changes)`."""
    return make_stage


@pytest.fixture
def chat():
    return make_chat


@pytest.fixture
def prompts():
    return texts_asked


@pytest.fixture
def open_machine():
    return start_machine
