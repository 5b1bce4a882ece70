"""Runs whose trajectories go out and come back; nothing here needs a machine."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from PIL import Image

from tasks_lib.episodes import Player, episodes_for, make_manifest, open_run
from tasks_lib.records import (
    ActionRecord,
    CriterionRecord,
    Decision,
    Ending,
    Evidence,
    Observation,
    Outcome,
    RunManifest,
    Step,
    Usage,
    Verdict,
    WindowState,
)
from tasks_lib.records.machine import MachineSettings
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import TaskSet, load_all

ROOT = Path(__file__).parents[2] / "fixtures" / "episodes"
BEGAN = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
REPLY = "Look first.\n\n```python\nprint('Å × µ')\n```"
DONE = "```decision\nDONE\n```"

MakeRun = Callable[..., RunManifest]


def png(width: int = 64, height: int = 48, shade: int = 0) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), (shade, 80, 160)).save(out, "PNG")
    return out.getvalue()


def step(index: int, reply: str, **changes: object) -> Step:
    """A step with something in every field that a format may lose."""
    done = reply == DONE
    fields: dict[str, object] = {
        "index": index,
        "started": BEGAN + timedelta(seconds=index),
        "observation": Observation(
            width=64,
            height=48,
            windows=(WindowState(id=7, title="Fityk é", x=0, y=0, width=9, height=9, focused=True),),
            clipboard="C 1s",
        ),
        "reply": reply,
        "reasoning": "first the edge",
        "decision": Decision.DONE if done else Decision.CONTINUE,
        "actions": ()
        if done
        else (ActionRecord(text="python script", kind="python", arguments={"name": "script"}, ok=True, seconds=0.25),),
        "feedback": "" if done else "return code 0",
        "usage": Usage(input_tokens=1200, output_tokens=30, cached_tokens=200, cost=0.25),
        "model_seconds": 0.5,
        **changes,
    }
    return Step.model_validate(fields)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(str(tmp_path / "store"))


@pytest.fixture(scope="session")
def tasks() -> TaskSet:
    return load_all(ROOT / "one_stage")


@pytest.fixture(scope="session")
def staged() -> TaskSet:
    """A set whose one task has two stages."""
    return load_all(ROOT / "two_stages")


def _verdict(task_id: str, digest: str, passed: Sequence[bool]) -> Verdict:
    records = tuple(
        CriterionRecord(
            id=f"c{number}", points=number, passed=ok, seen="GOLD-SEEN-1", wanted="GOLD-WANTED-29.791", why="GOLD-WHY"
        )
        for number, ok in enumerate(passed, start=1)
    )
    points, earned = sum(entry.points for entry in records), sum(entry.earned for entry in records)
    return Verdict(
        task_id=task_id,
        task_digest=digest,
        outcome=Outcome.PASS if points == earned else Outcome.FAIL,
        points=points,
        earned=earned,
        criteria=records,
    )


@pytest.fixture
def make_run(store: Store, tasks: TaskSet) -> MakeRun:
    """Write a run: steps by player and stage, each with a screenshot, judged as asked."""

    def make(
        plays: dict[str, dict[str, Sequence[Step]]],
        *,
        run_id: str = "r1",
        known: TaskSet = tasks,
        passed: Sequence[bool] = (True, True),
        pictures: bool = True,
    ) -> RunManifest:
        players = [Player(name) for name in plays]
        manifest = make_manifest(
            "test",
            episodes_for(known.tasks, players, trials=1, seed=1),
            run_id=run_id,
            seed=1,
            machine=MachineSettings(),
            task_set_digest=known.digest,
            settings={"retries": 0},
        ).model_copy(update={"created": BEGAN})
        open_run(store, manifest)
        for spec in manifest.episodes:
            attempt = RunFolder(store, run_id).episode(spec.id).attempt(1)
            for stage, steps in plays[spec.agent].items():
                place = attempt.stage(stage)
                for entry in steps:
                    seen = entry.observation
                    if pictures:
                        ref = store.put_blob(png(shade=entry.index), "image/png")
                        seen = seen.model_copy(update={"screenshot": ref})
                    store.append_line(place.trajectory, entry.model_copy(update={"observation": seen}).to_line())
                final = Observation(screenshot=store.put_blob(png(shade=99), "image/png") if pictures else None)
                evidence = Evidence(stage=stage, ending=Ending.DONE, steps=len(steps), final=final, collected=BEGAN)
                store.write_document(place.evidence, evidence)
            store.write_document(attempt.verdict, _verdict(spec.task_id, spec.task_digest, passed))
        return manifest

    return make
