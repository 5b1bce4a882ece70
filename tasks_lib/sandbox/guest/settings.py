"""What the opener tells the control server on its standard input, once."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class GuestSettings(BaseModel):
    """The second line of standard input, as JSON; the first line is the token."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    desktop: bool
    width: int
    height: int
    home: str
    work: str
    runtime: str
    python: str
    programs: str | None = None  # folder of the environment's programs, searched after the machine's own path
    endpoints: dict[int, str] = {}  # loopback port inside the machine -> unix socket that leads to the host's port
    variables: dict[str, str] = {}  # environment variables of scripts alone, such as where a database is
    file_mb: int
    data_mb: int | None = None  # None: a cgroup caps memory
    processes: int | None = None  # None: a cgroup caps processes
    isolated: bool
    accessibility: bool = False
