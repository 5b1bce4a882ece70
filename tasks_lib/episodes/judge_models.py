"""The models that judge trajectories: within the limits of endpoints and budgets, from the cache, on record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks_lib.episodes.asking import limited, secrets_of
from tasks_lib.evaluation.alignment import text_digest
from tasks_lib.evaluation.judges import Judge, Metric
from tasks_lib.models import ChatModel, HttpChat, ModelSettings, Redactor, find_model
from tasks_lib.models.purse import SharedPurse
from tasks_lib.models.request_log import RequestLog
from tasks_lib.store import Store, judge_requests


@dataclass(frozen=True)
class JudgeModels:
    """Makes judges of the models in the settings.

    Attributes
    ----------
    store : Store
        Gets the log of what they were asked, and the replies that are kept.
    models : mapping of str to ModelSettings
        ``[models.NAME]`` of ``matassay.toml``.
    purses : sequence of SharedPurse
        What each call is paid from; none without a budget.
    cache : bool
        Whether replies are kept and used again: judging that was stopped goes on without paying twice.
    """

    store: Store
    models: Mapping[str, ModelSettings]
    purses: Sequence[SharedPurse] = ()
    cache: bool = True

    def judge(self, name: str) -> Judge:
        """Return a judge, after its settings and its key were found.

        Raises
        ------
        ConfigurationError
            If the model or its key is unknown.
        """
        settings = find_model(self.models, name, "judge")
        HttpChat(name, settings).close()
        return Judge(name, settings.model, lambda task, metric: self._client(name, settings, task, metric))

    @property
    def hide(self) -> Redactor:
        """What hides the environment's secrets and the keys of all models, however their variables are named."""
        return secrets_of(self.models)

    def _client(self, name: str, settings: ModelSettings, task: str, metric: Metric) -> ChatModel:
        # A log of its own for each question, since a log has one writer and judges are asked side by side.
        asked = text_digest(f"{metric} {task}")
        log = RequestLog(self.store, judge_requests(name, asked), name, self.hide)
        return limited(name, settings, self.store, log, self.purses, f"judges/{name}#{asked[:12]}", cached=self.cache)
