"""The rules a task is held to, each a small function with an id, a severity and one line that says it."""

from tasks_lib.taskdefs.rules import blanks, criteria, files, points, proofs, targets, text, variants
from tasks_lib.taskdefs.rules.registry import RULES, Called, Known, Rule, run_rules

__all__ = [
    "RULES",
    "Called",
    "Known",
    "Rule",
    "blanks",
    "criteria",
    "files",
    "points",
    "proofs",
    "run_rules",
    "targets",
    "text",
    "variants",
]
