"""A run's order as the parameters of a flow: plain JSON, so that the UI shows them and a Runner can hand them on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tasks_lib.episodes import EPISODES_AT_ONCE, RunOrder
from tasks_lib.records import EpisodeSpec, Modality


class Order(BaseModel):
    """What a benchmark's flow run is asked to do."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    store_url: str
    run_id: str
    taskdefs: str
    models_file: str | None = None
    concurrency: int = Field(default=EPISODES_AT_ONCE, ge=1, le=64)
    executor: Literal["inline", "deployments"] = "deployments"
    episodes: tuple[str, ...] = ()
    model_check: bool = True

    @classmethod
    def of(cls, order: RunOrder) -> Order:
        """Take over the order of the command line."""
        return cls(
            store_url=order.store_url,
            run_id=order.run_id,
            taskdefs=str(order.taskdefs),
            models_file=str(order.models_file) if order.models_file else None,
            concurrency=order.concurrency,
            executor=order.executor,
            episodes=order.episodes,
            model_check=order.model_check,
        )

    @classmethod
    def of_flow(cls, **parameters: Any) -> Order:
        """Take over the parameters of a flow; ValidationError where one is out of range."""
        return cls.model_validate(parameters)

    @field_validator("episodes", mode="before")
    @classmethod
    def _all_of_them(cls, given: Any) -> Any:
        """Take an empty form of the UI for all episodes."""
        return () if given is None else given

    @property
    def taskdefs_root(self) -> Path:
        """Root of the task definitions."""
        return Path(self.taskdefs)

    def flow_parameters(self) -> dict[str, Any]:
        """Return the parameters of the run's flow run."""
        return self.model_dump(mode="json")

    def parameters(self, spec: EpisodeSpec) -> dict[str, Any]:
        """Return the parameters of an episode's flow run."""
        return {
            "store_url": self.store_url,
            "run_id": self.run_id,
            "episode_id": spec.id,
            "taskdefs": self.taskdefs,
            "models_file": self.models_file,
        }


def flow_of(spec: EpisodeSpec) -> str:
    """Return the name of the flow, which is the name of its deployment too, that plays an episode."""
    return "mixed-episode" if spec.modality is Modality.MIXED else "episode"
