"""Strict mode's view of a call: what a tool takes, and what each argument is (docs/0017)."""

from tasks_lib.evaluation.alignment.strict.arguments import Arguments, filled
from tasks_lib.evaluation.alignment.strict.rules import ArgumentRule, Kind, rules_of
from tasks_lib.evaluation.alignment.strict.snapshot import Tool, ToolSnapshot, read_snapshot

__all__ = ["ArgumentRule", "Arguments", "Kind", "Tool", "ToolSnapshot", "filled", "read_snapshot", "rules_of"]
