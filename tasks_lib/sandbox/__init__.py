"""Machines that agents work on: providers, the control server inside, and `Computer`, its client."""

from tasks_lib.sandbox.computer import SCROLL_NOTCHES, Computer
from tasks_lib.sandbox.guest.excerpts import middle
from tasks_lib.sandbox.machine import Machine, Provider, provider, reap
from tasks_lib.sandbox.results import (
    AccessibleElement,
    AccessibleTree,
    FileEntry,
    RecordedEvent,
    RecordedFrame,
    RecordingNews,
    ScriptResult,
    Sight,
)

__all__ = [
    "SCROLL_NOTCHES",
    "AccessibleElement",
    "AccessibleTree",
    "Computer",
    "FileEntry",
    "Machine",
    "Provider",
    "RecordedEvent",
    "RecordedFrame",
    "RecordingNews",
    "ScriptResult",
    "Sight",
    "middle",
    "provider",
    "reap",
]
