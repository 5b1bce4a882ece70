"""Judges what an agent left behind: getters read the evidence, metrics compare it, `judge` writes the verdict."""

from tasks_lib.evaluation import getters, metrics
from tasks_lib.evaluation._context import Context
from tasks_lib.evaluation._judging import check_criterion, check_handoff, judge
from tasks_lib.evaluation._registry import (
    GETTERS,
    METRICS,
    CallError,
    Judgement,
    Seen,
    Unreadable,
    describe,
    getter,
    metric,
)

__all__ = [
    "GETTERS",
    "METRICS",
    "CallError",
    "Context",
    "Judgement",
    "Seen",
    "Unreadable",
    "check_criterion",
    "check_handoff",
    "describe",
    "getter",
    "getters",
    "judge",
    "metric",
    "metrics",
]
