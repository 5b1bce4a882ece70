"""What is recorded of a machine: its settings, how it came up, how the task was set up on it, and who holds it."""

from __future__ import annotations

from pydantic import Field

from tasks_lib.records._document import Document, JsonValue, Record, Text, UtcTime
from tasks_lib.records.identifiers import RelativePath, Sha256, Slug


class MachineSettings(Record):
    """How machines of a run are made."""

    provider: Slug = "local"
    width: int = Field(default=1440, ge=640, le=7680, description="screen width, pixels")
    height: int = Field(default=900, ge=480, le=4320, description="screen height, pixels")
    memory_mb: int = Field(default=4096, ge=256, description="memory cap of the machine, MiB")
    processes: int = Field(default=512, ge=32, description="cap on processes of the machine")
    disk_mb: int = Field(default=2048, ge=64, description="largest file a process may write, MiB")
    isolated: bool = Field(default=True, description="False: --unsafe-local, no bubblewrap")
    accessibility: bool = Field(default=False, description="whether programs are asked to serve an accessibility tree")


class Provision(Document):
    """``provision.json``: the machine is up and its control server answered."""

    machine_id: Slug
    provider: Slug
    settings: MachineSettings
    desktop: bool
    started: UtcTime
    seconds: float = Field(ge=0, description="from the request to the first good probe, s")
    facts: dict[Text, JsonValue] = Field(default_factory=dict, description="versions and limits seen on the machine")


class SetupRecord(Record):
    """One set-up step and how it went."""

    step: Text
    seconds: float = Field(ge=0, description="s")
    detail: Text = ""


class PlacedFile(Record):
    """An input that was put into the work folder."""

    path: RelativePath
    sha256: Sha256
    size: int = Field(ge=0, description="bytes")


class Initialise(Document):
    """``initialise.json``: the inputs lie in the work folder and the programs show their windows."""

    machine_id: Slug
    placed: tuple[PlacedFile, ...]
    steps: tuple[SetupRecord, ...]
    finished: UtcTime
    seconds: float = Field(ge=0, description="s")


class Lease(Document):
    """``lease.json``: who works on an attempt, and until when nobody else may."""

    owner: Text = Field(description="host, process and a random part")
    resource: Text = Field(description="what is held, a path in the store or a machine id")
    acquired: UtcTime
    expires: UtcTime
    released: UtcTime | None = Field(default=None, description="when the owner gave it up; None while it binds")
    machine_id: Slug | None = None
    machine_pid: int | None = Field(default=None, ge=1, description="process that dies with the machine, on this host")
    machine_start: float | None = Field(default=None, description="start time of that process, s since boot")
    host: Text = ""
    flow_run_id: Text | None = None
