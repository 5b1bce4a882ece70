"""A run's order as the parameters of a flow: plain JSON, so that the UI shows them and a Runner can hand them on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tasks_lib.episodes import RunOrder
from tasks_lib.records import EpisodeSpec, Modality


class Order(BaseModel):
    """What a benchmark's flow run is asked to do."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    store_url: str
    run_id: str
    taskdefs: str
    models_file: str | None = None
    concurrency: int = Field(default=2, ge=1, le=64)
    executor: Literal["inline", "deployments"] = "deployments"
    episodes: tuple[str, ...] = ()

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
        )

    @classmethod
    def of_flow(
        cls,
        store_url: str,
        run_id: str,
        taskdefs: str,
        models_file: str | None,
        concurrency: int,
        executor: str,
        episodes: list[str] | None,
    ) -> Order:
        """Take over the parameters of a flow; ValidationError where one is out of range."""
        return cls.model_validate(
            {
                "store_url": store_url,
                "run_id": run_id,
                "taskdefs": taskdefs,
                "models_file": models_file,
                "concurrency": concurrency,
                "executor": executor,
                "episodes": tuple(episodes or ()),
            }
        )

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
