"""Whether the models of a run can do what its tasks ask of them; asked before the first episode starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tasks_lib.agents import MODEL_AGENTS
from tasks_lib.agents.settings import SETTING, AgentSettings, agent_settings
from tasks_lib.models import ModelSettings, find_model, load_models
from tasks_lib.models.capabilities import Capability, Finding, claimed, examine
from tasks_lib.records import EpisodeSpec, Modality, RunManifest
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.taskdefs import load_all

Examine = Callable[[str, ModelSettings, frozenset[Capability]], tuple[Finding, ...]]


def model_needs(
    manifest: RunManifest, episodes: Sequence[EpisodeSpec], taskdefs: Path, models: Mapping[str, ModelSettings]
) -> dict[str, frozenset[Capability]]:
    """Return what each model has to be able to do for some episodes of a run.

    Text always; pictures where one of its stages has a desktop, unless the model's settings say that it takes none;
    tool calls where the run's agents answer with them. Agents without a model need nothing.

    Parameters
    ----------
    manifest : RunManifest
    episodes : sequence of EpisodeSpec
        Those that are still to be played.
    taskdefs : Path
        Root of the task definitions; read only for tasks of several stages.
    models : mapping of str to ModelSettings

    Raises
    ------
    ConfigurationError
        If the run names a model that has no settings.
    """
    table = manifest.settings.get(SETTING)
    settings = agent_settings(table) if isinstance(table, Mapping) else AgentSettings()
    played = [(spec.model, spec) for spec in episodes if spec.agent in MODEL_AGENTS and spec.model]
    mixed = {spec.task_id for _, spec in played if spec.modality is Modality.MIXED}
    shown = {loaded.id for loaded in load_all(taskdefs).tasks if loaded.task.needs_desktop} & mixed if mixed else set()
    needs: dict[str, frozenset[Capability]] = {}
    for name, spec in played:
        wanted = claimed(find_model(models, name), tools=settings.replies == "tools")
        if not (spec.modality in {Modality.GUI, Modality.FIGURE} or spec.task_id in shown):
            wanted -= {Capability.IMAGE}
        needs[name] = needs.get(name, frozenset()) | wanted
    return needs


def check_models(
    manifest: RunManifest,
    episodes: Sequence[EpisodeSpec],
    taskdefs: Path,
    models_file: Path | None,
    *,
    ask: Examine = examine,
) -> dict[str, tuple[Finding, ...]]:
    """Refuse a run whose models cannot do what its tasks need.

    Parameters
    ----------
    manifest : RunManifest
    episodes : sequence of EpisodeSpec
        Those that are still to be played.
    taskdefs : Path
        Root of the task definitions.
    models_file : Path or None
        The file with the models' tables.
    ask : callable
        Tries capabilities of a model.

    Returns
    -------
    dict of str to tuple of Finding
        What came, by model; empty where no model plays.

    Raises
    ------
    ConfigurationError
        If a capability fails or a key is not set; the message names each model, capability and reason. If a model has
        no settings.
    """
    if not any(spec.agent in MODEL_AGENTS for spec in episodes):
        return {}
    models = load_models(models_file)
    found = {
        name: ask(name, models[name], wanted)
        for name, wanted in sorted(model_needs(manifest, episodes, taskdefs, models).items())
    }
    wrong = [
        f"model {name!r}, {finding.capability}: {finding.said}"
        for name, findings in found.items()
        for finding in findings
        if finding.works is False
    ]
    if wrong:
        advice = "mend this, leave out the tasks that need it, or start all the same with --no-model-check"
        msg = "the run was not started, a model cannot do what its tasks need:\n" + "\n".join(wrong) + f"\n{advice}"
        raise ConfigurationError(msg)
    return found
