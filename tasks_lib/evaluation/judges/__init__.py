"""Models that judge trajectories: what they are shown, how they answer, and what a panel of them says."""

from tasks_lib.evaluation.judges.asking import TRIES, Judge, ask
from tasks_lib.evaluation.judges.digests import LONGEST_DIGEST, SHORTEST_DIGEST, Digest, make_digest
from tasks_lib.evaluation.judges.kinship import Kinship, kinship
from tasks_lib.evaluation.judges.panel import Panel, judge_files
from tasks_lib.evaluation.judges.report import (
    JudgedBy,
    Judgement,
    JudgeReport,
    Metric,
    MetricSummary,
    Opinion,
)
from tasks_lib.evaluation.judges.rubrics import RUBRICS, Rubric, read_judgement

__all__ = [
    "LONGEST_DIGEST",
    "RUBRICS",
    "SHORTEST_DIGEST",
    "TRIES",
    "Digest",
    "Judge",
    "JudgeReport",
    "JudgedBy",
    "Judgement",
    "Kinship",
    "Metric",
    "MetricSummary",
    "Opinion",
    "Panel",
    "Rubric",
    "ask",
    "judge_files",
    "kinship",
    "make_digest",
    "read_judgement",
]
