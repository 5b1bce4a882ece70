"""What the programs of `matassay serve` are told, as one line of JSON on their command line."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from tasks_lib.episodes import ServeOrder
from tasks_lib.records.errors import ConfigurationError

# Every deployment carries this tag; the failure automation looks at nothing else on a server of many users.
TAG = "matassay"


class RunnerSettings(BaseModel):
    """What a runner serves."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    store_url: str
    taskdefs: str
    models_file: str | None
    episodes_at_once: int = Field(ge=1, le=64)
    nightly_cron: str
    time_zone: str
    nightly_benchmark: str

    @classmethod
    def of(cls, order: ServeOrder) -> Self:
        """Take over what the command line says.

        Raises
        ------
        ConfigurationError
            If the cron expression or the time zone is none.
        """
        _check_schedule(order.nightly_cron, order.time_zone)
        return cls(
            store_url=order.store_url,
            taskdefs=str(order.taskdefs),
            models_file=str(order.models_file) if order.models_file else None,
            episodes_at_once=order.episodes_at_once,
            nightly_cron=order.nightly_cron,
            time_zone=order.time_zone,
            nightly_benchmark=order.nightly_benchmark,
        )


def _check_schedule(cron: str, time_zone: str) -> None:
    from prefect.client.schemas.schedules import CronSchedule

    from flows.nights import zone

    zone(time_zone)
    try:
        CronSchedule(cron=cron, timezone=time_zone)
    except ValueError as error:
        msg = f"[serve] nightly_cron {cron!r} is no cron expression: give five fields such as '0 3 * * *'"
        raise ConfigurationError(msg) from error
