"""Figures of a run, with one definition each: rates with intervals, scores, agreement of raters, preferences."""

from tasks_lib.statistics._agreement import Agreement
from tasks_lib.statistics._alpha import AlphaInterval, alpha_interval, krippendorff_alpha
from tasks_lib.statistics._correlation import Correlation, DependentTest, spearman, williams_test
from tasks_lib.statistics._interval import wilson_interval
from tasks_lib.statistics._judges import (
    Comparison,
    JudgeAgreement,
    MetricAgreement,
    RankAgreement,
    judge_agreement,
)
from tasks_lib.statistics._preference import Choice, PreferenceShare, preference_share
from tasks_lib.statistics._rows import agent_row, agent_rows

__all__ = [
    "Agreement",
    "AlphaInterval",
    "Choice",
    "Comparison",
    "Correlation",
    "DependentTest",
    "JudgeAgreement",
    "MetricAgreement",
    "PreferenceShare",
    "RankAgreement",
    "agent_row",
    "agent_rows",
    "alpha_interval",
    "judge_agreement",
    "krippendorff_alpha",
    "preference_share",
    "spearman",
    "williams_test",
    "wilson_interval",
]
