"""What a machine gives back."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from tasks_lib.records import Observation, Record, Text, WindowState


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


class _Told(Record):
    model_config = ConfigDict(extra="ignore")


class AccessibleElement(_Told):
    """Something on a window, as its program tells assistive technologies."""

    role: Text = Field(description="in the words of AT-SPI, such as push button")
    name: Text = ""
    text: Text = Field(default="", description="what stands in a field")
    x: int = Field(description="left edge on the screen, pixels")
    y: int = Field(description="top edge on the screen, pixels")
    width: int = Field(ge=0, description="pixels")
    height: int = Field(ge=0, description="pixels")
    window: Text = Field(default="", description="the window that it belongs to")


class AccessibleTree(_Told):
    """What is to be seen of the accessibility tree."""

    elements: tuple[AccessibleElement, ...]
    problem: Text = Field(default="", description="why it is not whole; empty where it is")


class RecordedEvent(_Told):
    """Something that was done with mouse or keyboard, as the X server tells it."""

    number: int = Field(ge=0)
    time: float = Field(description="s on the host's monotonic clock")
    kind: Text = Field(description="motion, button or key")
    x: int = Field(description="place of the pointer, pixels")
    y: int
    down: bool = False
    button: int = 0
    text: Text = Field(default="", description="the sign that a key types")
    key: Text = Field(default="", description="the key's name, as keyboard.press takes it; empty where it has none")
    modifiers: tuple[Text, ...] = Field(default=(), description="keys held: ctrl, alt, win, shift")


class RecordedFrame(_Told):
    """A screen whose pixels stood still."""

    number: int = Field(ge=0)
    since: float = Field(description="when it came to be so at the earliest, s on the host's monotonic clock")
    seen: float = Field(description="when it was first seen so; later than `since` on a host that is busy")
    windows: tuple[WindowState, ...] = ()


class RecordingNews(_Told):
    """What a recording has that was not fetched before."""

    events: tuple[RecordedEvent, ...]
    frames: tuple[RecordedFrame, ...]
    fault: Text = Field(default="", description="why the recording is not whole; empty where it is")
    now: float = Field(description="s on the host's monotonic clock")
