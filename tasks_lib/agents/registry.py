"""Agents by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks_lib.agents.guess import GuessAgent
from tasks_lib.agents.llm import LlmAgent, ScriptedLlmAgent
from tasks_lib.agents.protocol import Agent, Reply
from tasks_lib.agents.random_agent import RandomAgent
from tasks_lib.agents.settings import AgentSettings
from tasks_lib.agents.targets import Targets
from tasks_lib.agents.transcripts import DONE, TranscriptAgent, recorded
from tasks_lib.models import ChatModel, HttpChat, ModelSettings
from tasks_lib.records import Step
from tasks_lib.records.errors import ConfigurationError, TaskError

# What each does, in a sentence for lists.
AGENTS: Mapping[str, str] = {
    "guess": "writes typical constants into every deliverable of a code stage",
    "llm": "asks a chat model of matassay.toml",
    "nop": "says DONE at once",
    "oracle": "plays the task's own solution",
    "random": "does valid things without any aim",
    "replay": "plays a recorded trajectory again",
    "scripted-llm": "asks a local endpoint that serves the task's scripted.md",
}
# Agents that need a model.
MODEL_AGENTS: frozenset[str] = frozenset({"llm"})
# Agents that `AgentSettings` reach; what the others do depends on nothing of them.
ASKED_AGENTS: frozenset[str] = MODEL_AGENTS | {"scripted-llm"}


def make_agent(
    name: str,
    *,
    transcript: Sequence[str] = (),
    trajectory: Sequence[Step] = (),
    targets: Targets | None = None,
    model: ModelSettings | ChatModel | None = None,
    model_name: str | None = None,
    seed: int = 0,
    hints: bool = True,
    settings: AgentSettings | None = None,
    environ: Mapping[str, str] | None = None,
) -> Agent:
    """Make an agent for one stage; close it when the stage is over.

    Parameters
    ----------
    name : str
        One of `AGENTS`.
    transcript : sequence of str
        Replies that ``oracle``, ``replay`` and ``scripted-llm`` play; after the last one they say DONE.
    trajectory : sequence of Step
        Steps that ``replay`` plays; they keep the picture size that their coordinates belong to.
    targets : Targets, optional
        Pictures of the targets that the transcript of ``oracle`` names; ``replay`` plays the pixels that it recorded.
    model : ModelSettings or ChatModel, optional
        The model that ``llm`` asks.
    model_name : str, optional
        Its name in the settings, for messages.
    seed : int
        Of ``guess`` and ``random``.
    hints : bool
        Whether a model is told the stage's hints; False goes before what `settings` say of help.
    settings : AgentSettings, optional
        How a model is asked; the defaults where there are none.
    environ : mapping, optional
        Where a model's key is looked up; the process's environment by default.

    Raises
    ------
    ConfigurationError
        If the name is unknown, or a model or its key is missing.
    TaskError
        If there is no transcript to play.
    """
    asked = (settings or AgentSettings()).told(hints=hints)
    if name == "nop":
        return TranscriptAgent(name)
    if name == "guess":
        return GuessAgent(seed)
    if name == "random":
        return RandomAgent(seed)
    if name == "scripted-llm":
        return ScriptedLlmAgent([*transcript, DONE], settings=asked)
    if name in {"oracle", "replay"}:
        replies = recorded(trajectory) if name == "replay" and trajectory else tuple(map(Reply, transcript))
        if not replies:
            msg = f"agent {name!r} has no replies to play: give it a transcript"
            raise TaskError(msg)
        return TranscriptAgent(name, replies, targets if name == "oracle" else None)
    if name == "llm":
        if model is None:
            msg = "agent 'llm' needs a model: name one of the [models.NAME] tables of matassay.toml"
            raise ConfigurationError(msg)
        if isinstance(model, ModelSettings):
            model = HttpChat(model_name or model.model, model, environ=environ)
        return LlmAgent(model, settings=asked)
    msg = f"no agent {name!r}; there are {', '.join(sorted(AGENTS))}"
    raise ConfigurationError(msg)
