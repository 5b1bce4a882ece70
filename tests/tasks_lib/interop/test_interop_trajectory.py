"""What leaves the house: steps and scores, no secret, no gold."""

from __future__ import annotations

import pytest

from tasks_lib.interop import trajectories
from tasks_lib.models import Redactor
from tasks_lib.records import Outcome, Phase, VoidReason, VoidRecord, WindowState
from tasks_lib.records.errors import BrokenDocumentError, ConfigurationError
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import TaskSet, load_all

from .conftest import BEGAN, DONE, REPLY, ROOT, MakeRun, step

CANARY = "sk-canary-0123456789"


def test_a_trajectory_has_steps_score_and_what_the_agent_was_told(
    store: Store, tasks: TaskSet, make_run: MakeRun
) -> None:
    make_run({"oracle": {"main": [step(1, REPLY), step(2, DONE)]}, "nop": {"main": []}}, passed=(True, False))
    (found,) = trajectories(store, "r1", tasks, Redactor())
    assert (found.label, found.steps, found.earned, found.points, found.share) == ("oracle", 2, 1, 3, 1 / 3)
    assert found.outcome is Outcome.FAIL
    assert found.plays[0].brief.instruction.startswith("The file cell.cif")
    assert found.plays[0].final is not None


def test_secrets_are_hidden_in_every_text_of_a_trajectory(store: Store, tasks: TaskSet, make_run: MakeRun) -> None:
    dirty = step(1, f"```python\nkey = {CANARY!r}\n```", reasoning=CANARY, feedback=f"echo {CANARY}")
    windows = (WindowState(id=1, title=f"shell {CANARY}", x=0, y=0, width=1, height=1),)
    seen = dirty.observation.model_copy(update={"clipboard": CANARY, "windows": windows})
    action = dirty.actions[0].model_copy(update={"arguments": {CANARY: [CANARY]}, "feedback": CANARY})
    dirty = dirty.model_copy(update={"observation": seen, "actions": (action,)})
    make_run({"oracle": {"main": [dirty]}})
    (found,) = trajectories(store, "r1", tasks, Redactor([CANARY]))
    assert CANARY not in repr(found)
    assert "[redacted]" in found.plays[0].steps[0].reply


def test_why_an_episode_is_void_is_told_without_secrets(store: Store, tasks: TaskSet, make_run: MakeRun) -> None:
    manifest = make_run({"oracle": {"main": [step(1, REPLY)]}})
    attempt = RunFolder(store, "r1").episode(manifest.episodes[0].id).attempt(1)
    store.delete(attempt.verdict)
    void = VoidRecord(
        reason=VoidReason.ENDPOINT, phase=Phase.ACT, exception="EndpointError", message=f"401 for {CANARY}", when=BEGAN
    )
    store.write_document(attempt.void, void)
    (found,) = trajectories(store, "r1", tasks, Redactor([CANARY]))
    assert found.outcome is Outcome.VOID
    assert found.share is None
    assert found.void == "VOID(endpoint) in phase act: 401 for [redacted]"


def test_a_task_that_has_changed_since_gives_no_instruction(store: Store, make_run: MakeRun) -> None:
    make_run({"oracle": {"main": [step(1, REPLY)]}})
    (found,) = trajectories(store, "r1", load_all(ROOT / "two_stages"), Redactor())
    assert found.plays[0].brief.instruction == ""
    assert found.domain == "unknown"


@pytest.mark.parametrize("option", ["only", "players"])
def test_an_unknown_name_is_refused_with_those_there_are(
    store: Store, tasks: TaskSet, make_run: MakeRun, option: str
) -> None:
    make_run({"oracle": {"main": [step(1, REPLY)]}})
    with pytest.raises(ConfigurationError, match=r"has no (task|player) 'zzz'; it has (lattice|oracle)"):
        list(trajectories(store, "r1", tasks, Redactor(), **{option: ["zzz"]}))


def test_a_broken_line_is_named(store: Store, tasks: TaskSet, make_run: MakeRun) -> None:
    manifest = make_run({"oracle": {"main": [step(1, REPLY)]}})
    store.append_line(
        RunFolder(store, "r1").episode(manifest.episodes[0].id).attempt(1).stage().trajectory, '{"index": 0}'
    )
    with pytest.raises(BrokenDocumentError, match=r"trajectory\.jsonl:2"):
        list(trajectories(store, "r1", tasks, Redactor()))
