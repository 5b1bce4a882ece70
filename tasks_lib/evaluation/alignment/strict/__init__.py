"""Strict mode's view of a call: what a tool takes, what each argument is, and how far two calls agree (docs/0017)."""

from tasks_lib.evaluation.alignment.strict.arguments import Arguments, filled
from tasks_lib.evaluation.alignment.strict.comparison import ArgumentScore, CallScore, compare
from tasks_lib.evaluation.alignment.strict.rules import ArgumentRule, Kind, rules_of
from tasks_lib.evaluation.alignment.strict.snapshot import Tool, ToolSnapshot, read_snapshot

__all__ = [
    "ArgumentRule",
    "ArgumentScore",
    "Arguments",
    "CallScore",
    "Kind",
    "Tool",
    "ToolSnapshot",
    "compare",
    "filled",
    "read_snapshot",
    "rules_of",
]
