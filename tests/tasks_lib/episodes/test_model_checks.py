"""Before a run: which capabilities its models need, and that a run is refused where one of them fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks_lib.episodes import Player, episodes_for, make_manifest
from tasks_lib.episodes.model_checks import check_models, model_needs
from tasks_lib.models import ImageSettings, ModelSettings
from tasks_lib.models.capabilities import Capability, Finding
from tasks_lib.records import MachineSettings
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.taskdefs import find_root, load_all

TEXT, IMAGE, TOOLS = Capability.TEXT, Capability.IMAGE, Capability.TOOLS
EYES = ModelSettings(base_url="http://127.0.0.1:9/v1", model="sees")
BLIND = ModelSettings(base_url="http://127.0.0.1:9/v1", model="reads", image=ImageSettings(enabled=False))
CODE, GUI, FIGURE, MIXED = "kspacing-mesh", "import-region", "film-diffraction", "anatase-reference-overlay"


@pytest.fixture(scope="module")
def tasks():
    return load_all()


ASKS_M = (Player("llm", model="m"),)


def manifest(tasks, *ids, players=ASKS_M, **settings):
    chosen = [tasks[task] for task in ids]
    return make_manifest(
        "some", episodes_for(chosen, players, trials=1, seed=0), seed=0, machine=MachineSettings(),
        task_set_digest=tasks.digest, settings=settings,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ids", "model", "agent", "wanted"),
    [
        ((CODE,), EYES, {}, {TEXT}),
        ((GUI,), EYES, {}, {TEXT, IMAGE}),
        ((FIGURE,), EYES, {}, {TEXT, IMAGE}),
        ((MIXED,), EYES, {}, {TEXT, IMAGE}),
        ((CODE, GUI), EYES, {}, {TEXT, IMAGE}),
        ((CODE, GUI), BLIND, {}, {TEXT}),
        ((CODE,), EYES, {"replies": "tools"}, {TEXT, TOOLS}),
        ((GUI,), BLIND, {"replies": "tools"}, {TEXT, TOOLS}),
    ],
)
def test_a_model_needs_what_its_tasks_and_the_way_of_asking_need(tasks, ids, model, agent, wanted) -> None:
    planned = manifest(tasks, *ids, agent=agent)
    assert model_needs(planned, planned.episodes, find_root(), {"m": model}) == {"m": frozenset(wanted)}


def test_models_that_nobody_plays_need_nothing(tasks) -> None:
    planned = manifest(tasks, GUI, players=(Player("oracle"), Player("nop")))
    assert model_needs(planned, planned.episodes, find_root(), {"m": EYES}) == {}


def _file(tmp_path: Path) -> Path:
    path = tmp_path / "matassay.toml"
    path.write_text(
        '[models.m]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "x"\n'
        '[models.n]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "y"\n',
        encoding="utf-8",
    )
    return path


def test_a_run_is_refused_with_every_model_capability_and_reason(tasks, tmp_path: Path) -> None:
    asked = {}

    def ask(name, settings, wanted):
        asked[name] = (settings.model, wanted)
        works = {TEXT: True, IMAGE: name == "n"}
        return tuple(Finding(capability, works[capability], f"{name} said") for capability in sorted(wanted))

    planned = manifest(tasks, CODE, GUI, players=(Player("llm", model="m"), Player("llm", model="n")))
    with pytest.raises(ConfigurationError) as refused:
        check_models(planned, planned.episodes, find_root(), _file(tmp_path), ask=ask)
    assert "model 'm', image: m said" in str(refused.value)
    assert "model 'n'" not in str(refused.value)
    assert "--no-model-check" in str(refused.value)
    assert asked == {"m": ("x", {TEXT, IMAGE}), "n": ("y", {TEXT, IMAGE})}


def test_what_was_not_tried_refuses_nothing(tasks, tmp_path: Path) -> None:
    def ask(name, settings, wanted):
        return (Finding(TEXT, True, "said"), Finding(IMAGE, None, "not tried"))

    planned = manifest(tasks, GUI)
    assert set(check_models(planned, planned.episodes, find_root(), _file(tmp_path), ask=ask)) == {"m"}


def test_only_what_is_still_to_be_played_is_asked_for(tasks, tmp_path: Path) -> None:
    planned = manifest(tasks, CODE, GUI)
    code = [spec for spec in planned.episodes if spec.task_id == CODE]
    assert model_needs(planned, code, find_root(), {"m": EYES}) == {"m": frozenset({TEXT})}
    assert check_models(planned, [], find_root(), tmp_path / "not-looked-for.toml") == {}


def test_a_model_without_settings_is_refused(tasks, tmp_path: Path) -> None:
    planned = manifest(tasks, CODE, players=(Player("llm", model="other"),))
    with pytest.raises(ConfigurationError, match=r"models there: m, n\): add \[models.other\]"):
        check_models(planned, planned.episodes, find_root(), _file(tmp_path))
