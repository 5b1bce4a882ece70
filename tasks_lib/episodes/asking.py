"""The model that an episode asks: within the endpoint's limits and the run's budget, from the cache, on record."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from tasks_lib.agents import AGENTS, ASKED_AGENTS
from tasks_lib.agents.settings import SETTING as AGENT_SETTING
from tasks_lib.agents.settings import AgentSettings, agent_settings
from tasks_lib.episodes.budgets import purses_of
from tasks_lib.episodes.work import EpisodeWork
from tasks_lib.models import (
    BudgetedChat,
    CachedChat,
    ChatModel,
    Exchange,
    HttpChat,
    ModelSettings,
    Redactor,
    find_model,
)
from tasks_lib.models.gate import EndpointGate
from tasks_lib.models.purse import SharedPurse
from tasks_lib.models.request_log import RequestLog
from tasks_lib.records import Stage
from tasks_lib.store import AttemptFolder, Store

CACHE_SETTING = "cache"
"""Key of the manifest's settings that says whether replies are kept and used again."""


def settings_of_agents(work: EpisodeWork) -> AgentSettings:
    """Return how the run's manifest says that models are asked; the defaults for agents of ours that ask none."""
    if work.spec.agent in AGENTS and work.spec.agent not in ASKED_AGENTS:
        # Fewer steps or other marks would keep the oracle from what it has to prove.
        return AgentSettings().told(hints=work.hints)
    return agent_settings(work.manifest.settings.get(AGENT_SETTING)).told(hints=work.hints)


def model_for(
    work: EpisodeWork, attempt: AttemptFolder, stage: Stage, *, hide: Redactor | None = None
) -> ChatModel | None:
    """Make the model of an episode, for one stage; None where its agent asks none.

    Parameters
    ----------
    work, attempt, stage
        For whom; the requests are logged in the stage's folder.
    hide : Redactor, optional
        What else is a secret, besides the environment's.

    Raises
    ------
    ConfigurationError
        If the model or its key is unknown.
    """
    name = work.spec.model
    if name is None:
        return None
    settings = find_model(work.models, name)
    log = RequestLog(
        work.store, attempt.stage(stage.id).exchanges, name, secrets_of(work.models) | (hide or Redactor())
    )
    purses = purses_of(work.store, work.manifest)
    episode = f"{work.run_id}/{work.spec.id}"
    for purse in purses:
        purse.bury(episode, str(attempt.number))
    owner = f"{episode}#{attempt.number}"
    return limited(name, settings, work.store, log, purses, owner, cached=uses_cache(work, settings))


def limited(
    name: str,
    settings: ModelSettings,
    store: Store,
    log: RequestLog,
    purses: Sequence[SharedPurse],
    owner: str,
    *,
    cached: bool,
) -> ChatModel:
    """Make a client that keeps to its endpoint's limits and to budgets, and writes down what it is asked.

    Parameters
    ----------
    name : str
        The model's name in the settings.
    settings : ModelSettings
    store : Store
        Keeps replies.
    log : RequestLog
        Gets every try.
    purses : sequence of SharedPurse
        What each call is paid from; none without a budget.
    owner : str
        Who pays, as purses name it.
    cached : bool
        Whether replies are kept and used again.
    """
    listeners = [log.add]

    def on_exchange(exchange: Exchange) -> None:
        for listener in listeners:
            listener(exchange)

    http = HttpChat(name, settings, gate=EndpointGate.of(settings), on_exchange=on_exchange)
    model: ChatModel = http
    if purses:
        paid = BudgetedChat(http, settings, purses, owner)
        # First: what a try cost is known, even where the log cannot be written.
        listeners.insert(0, paid.note)
        model = paid
    if not cached:
        return model
    return CachedChat(
        model,
        settings,
        http.request_body,
        store,
        lambda body, found: log.add_kept(settings.provider, settings.base_url, body, found.text),
    )


def uses_cache(work: EpisodeWork, settings: ModelSettings) -> bool:
    """Whether replies are kept and used again: a second trial of a model without a seed is to be another sample."""
    wanted = bool(work.manifest.settings.get(CACHE_SETTING, False))
    return wanted and (work.spec.trial == 1 or settings.seed is not None)


def secrets_of(models: Mapping[str, ModelSettings]) -> Redactor:
    """Return what hides the environment's secrets and the keys of all models, however their variables are named."""
    names = {settings.api_key_env for settings in models.values() if settings.api_key_env}
    return Redactor.from_environment() | Redactor(os.environ.get(name, "").strip() for name in sorted(names))
