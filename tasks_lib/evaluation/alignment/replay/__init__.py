"""Says of each recorded call what became of it, from a snapshot of the tools and the recorded result alone."""

from tasks_lib.evaluation.alignment.replay.arguments import ArgumentChecker
from tasks_lib.evaluation.alignment.replay.labels import (
    CallClass,
    CallLabel,
    ClassCounts,
    PublishedCounts,
    ReplayReport,
)
from tasks_lib.evaluation.alignment.replay.replaying import replay, replay_call
from tasks_lib.evaluation.alignment.replay.results import ResultRead, read_result

__all__ = [
    "ArgumentChecker",
    "CallClass",
    "CallLabel",
    "ClassCounts",
    "PublishedCounts",
    "ReplayReport",
    "ResultRead",
    "read_result",
    "replay",
    "replay_call",
]
