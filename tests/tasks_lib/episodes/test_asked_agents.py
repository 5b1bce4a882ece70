"""Episodes of a model that is asked in other ways than the default one, from the manifest to the verdict."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tasks_lib.agents import AgentSettings, agent_settings
from tasks_lib.agents.settings import SETTING
from tasks_lib.episodes import Player, drive, load_work, plain_phases
from tasks_lib.episodes.asking import settings_of_agents
from tasks_lib.models import Canned, ScriptedEndpoint
from tasks_lib.records import Outcome, Step
from tasks_lib.store import Store
from tasks_lib.taskdefs import load_task
from tasks_lib.taskdefs.transcript import fences

from .conftest import ONE_STAGE, MakeRun

ORACLE = load_task(next(ONE_STAGE.glob("*/*/*"))).transcript("oracle", "main")


def called(*calls: tuple[str, dict[str, str]]) -> Canned:
    return Canned("I go on.", calls=tuple((name, json.dumps(arguments)) for name, arguments in calls))


def test_a_model_without_pictures_passes_by_calls_in_a_kept_conversation(
    store: Store, one_stage: Path, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MATASSAY_STATE", str(tmp_path / "state"))
    settings = AgentSettings(replies="tools", conversation="kept", context_tokens=4000, help="bare", steps=9)
    scripts = [block.body for reply in ORACLE for block in fences(reply) if block.language == "python"]
    replies = [
        Canned("", calls=(("run_script", '{"script": '), ("done", "{}"))),
        *(called(("run_script", {"script": script})) for script in scripts),
        called(("done", {})),
    ]
    with ScriptedEndpoint() as endpoint:
        session = endpoint.open(replies)
        monkeypatch.setenv("OF_THE_MODEL", session.token)
        file = tmp_path / "matassay.toml"
        file.write_text(
            f'[models.small]\nbase_url = "{session.base_url}"\nmodel = "m"\napi_key_env = "OF_THE_MODEL"\n'
            "image = { enabled = false }\n",
            encoding="utf-8",
        )
        recorded = {SETTING: settings.model_dump(mode="json"), "hints": False}
        manifest = make_run(one_stage, Player("llm", "small"), settings=recorded)
        assert agent_settings(manifest.settings[SETTING]) == settings
        work = load_work(store, "r1", manifest.episodes[0].id, one_stage, models_file=file)
        verdict = asyncio.run(drive(work, plain_phases()))
    assert verdict.outcome is Outcome.PASS
    place = work.folder.attempt(1).stage("main")
    first, *others = store.read_lines(place.trajectory, Step)
    assert first.wasted
    assert "nothing of the reply was done" in first.feedback
    assert not any(step.wasted for step in others)
    asked = json.dumps(list(session.requests))
    assert "image_url" not in asked
    assert "# Hints" not in asked
    assert "left: 9 replies" in asked


def test_the_settings_reach_agents_that_are_asked_and_no_others(
    store: Store, one_stage: Path, make_run: MakeRun
) -> None:
    settings = AgentSettings(steps=1, stop_repetition=2)
    players = [Player(name) for name in ("oracle", "nop", "scripted-llm")]
    manifest = make_run(one_stage, *players, settings={SETTING: settings.model_dump(mode="json")})
    works = {spec.agent: load_work(store, "r1", spec.id, one_stage) for spec in manifest.episodes}
    assert settings_of_agents(works["scripted-llm"]) == settings
    assert settings_of_agents(works["nop"]) == AgentSettings()
    # The oracle takes more than one reply and has to prove the task whatever models are asked for.
    assert len(ORACLE) > 1
    assert asyncio.run(drive(works["oracle"], plain_phases())).outcome is Outcome.PASS
