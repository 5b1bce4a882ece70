"""Figures of a run: rates with intervals, scores, and the two efficiency measures, with one definition each."""

from tasks_lib.statistics._agreement import Agreement
from tasks_lib.statistics._interval import wilson_interval
from tasks_lib.statistics._rows import agent_row, agent_rows

__all__ = ["Agreement", "agent_row", "agent_rows", "wilson_interval"]
