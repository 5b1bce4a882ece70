"""What a machine gives back."""

from __future__ import annotations

from pydantic import Field

from tasks_lib.records import Observation, Record, Text


class Sight(Record):
    """What the machine shows: the picture, and the observation without its reference to a stored picture."""

    png: bytes | None = None
    observation: Observation


class ScriptResult(Record):
    """How a script of the agent went."""

    stdout: Text
    stderr: Text
    returncode: int = Field(description="negative: the signal that ended it")
    timed_out: bool
    truncated: bool = Field(description="of a stream above 64 KiB both ends were kept, with a mark between them")
    seconds: float = Field(ge=0, description="s")


class FileEntry(Record):
    """Something in the work folder."""

    path: Text
    size: int = Field(ge=0, description="bytes; 0 for what is no file")
    kind: Text = Field(description="file, folder, link, pipe, socket, device or other")
