"""Strict mode: calls are compared by what their arguments mean, orders by what waits for what (docs/0017)."""

from tasks_lib.evaluation.alignment.strict.arguments import Arguments, filled
from tasks_lib.evaluation.alignment.strict.baselines import argument_swap, copies, family_template
from tasks_lib.evaluation.alignment.strict.comparison import ArgumentScore, CallScore, compare
from tasks_lib.evaluation.alignment.strict.files import MOST_CALLS, score_strictly
from tasks_lib.evaluation.alignment.strict.inference import with_inferred
from tasks_lib.evaluation.alignment.strict.order import Dependencies, dependencies, order_score
from tasks_lib.evaluation.alignment.strict.report import (
    Baselines,
    StrictGroup,
    StrictMatch,
    StrictReport,
    StrictScores,
    StrictTask,
)
from tasks_lib.evaluation.alignment.strict.rules import ArgumentRule, Kind, rules_of
from tasks_lib.evaluation.alignment.strict.snapshot import Tool, ToolSnapshot, read_snapshot
from tasks_lib.evaluation.alignment.strict.stated import ArgumentRules, StatedRule, read_rules
from tasks_lib.evaluation.alignment.strict.study import BaselineStudy, Strategy, baseline_study
from tasks_lib.evaluation.alignment.strict.texts import TextSimilarity

__all__ = [
    "MOST_CALLS",
    "ArgumentRule",
    "ArgumentRules",
    "ArgumentScore",
    "Arguments",
    "BaselineStudy",
    "Baselines",
    "CallScore",
    "Dependencies",
    "Kind",
    "StatedRule",
    "Strategy",
    "StrictGroup",
    "StrictMatch",
    "StrictReport",
    "StrictScores",
    "StrictTask",
    "TextSimilarity",
    "Tool",
    "ToolSnapshot",
    "argument_swap",
    "baseline_study",
    "compare",
    "copies",
    "dependencies",
    "family_template",
    "filled",
    "order_score",
    "read_rules",
    "read_snapshot",
    "rules_of",
    "score_strictly",
    "with_inferred",
]
