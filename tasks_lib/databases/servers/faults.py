"""What a database server may do wrong on purpose. Everything is off unless a run's manifest says otherwise."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from tasks_lib.databases.servers.dialect import Dialect
from tasks_lib.records import Record
from tasks_lib.records.errors import ConfigurationError

# Materials Project pages carry no links: the client counts with `_skip` and `meta.total_doc`.
_ONLY_LINKED = ("next_without_fields", "misnamed_next")


class FaultSettings(Record):
    """The faults of one server. The defaults are those of an honest one.

    Faults touch data routes only: heartbeats, OPTIMADE's ``/info``, ``/links`` and ``/versions`` stay honest, so that a
    client can always be built. Counted faults hit the first requests after the start and then stop.
    """

    latency_seconds: float = Field(default=0.0, ge=0, le=60, description="wait before every data reply, s")
    rate_limited: int = Field(
        default=0, ge=0, description="data requests answered 429 with Retry-After, from the first"
    )
    retry_after_seconds: int = Field(default=1, ge=0, le=3600, description="what Retry-After says, s")
    server_errors: int = Field(default=0, ge=0, description="data requests answered `server_error_status`")
    server_error_status: Literal[500, 502, 503, 504] = 503
    truncated_bodies: int = Field(default=0, ge=0, description="data replies cut in half, with the full Content-Length")
    endless_pages: Literal["off", "repeat", "empty"] = Field(
        default="off", description="there is always a next page: the same one again, or one without data"
    )
    stale_next: bool = Field(default=False, description="the next page is the page just served")
    next_without_fields: bool = Field(default=False, description="`links.next` loses the chosen fields")
    misnamed_next: bool = Field(default=False, description="the link to the next page stands in `links.next_page`")

    @model_validator(mode="after")
    def _one_way_to_page(self) -> Self:
        if self.endless_pages != "off" and self.stale_next:
            msg = "endless_pages and stale_next both say what the next page is: set one of them"
            raise ValueError(msg)
        return self

    @property
    def any(self) -> bool:
        """Whether this server does anything wrong at all; a manifest then has to say so."""
        return self != FaultSettings()

    @property
    def rewrites(self) -> bool:
        """Whether replies are changed after they were made."""
        return self.endless_pages != "off" or self.stale_next or self.next_without_fields or self.misnamed_next

    def check(self, dialect: Dialect) -> None:
        """Refuse a fault that the dialect cannot show.

        Raises
        ------
        ConfigurationError
            If a fault of links is set for Materials Project, whose pages have none.
        """
        if dialect is not Dialect.MATERIALS_PROJECT:
            return
        for name in _ONLY_LINKED:
            if getattr(self, name):
                msg = f"fault {name} needs pages with links, which dialect {dialect.value!r} has not: use another fault"
                raise ConfigurationError(msg)
