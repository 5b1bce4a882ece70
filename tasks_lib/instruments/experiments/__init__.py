"""The five published experiments as procedures over an instrument: what they order, and what they report.

`scenes.experiment_scene` puts each before the digital twin, whose truth judges it; `run` does it on any instrument.
"""

from tasks_lib.instruments.experiments.calibration import PidCalibration
from tasks_lib.instruments.experiments.friction_load import FrictionAgainstLoad, LoadPoint
from tasks_lib.instruments.experiments.graphene import GrapheneLayers
from tasks_lib.instruments.experiments.indenter import IndenterIdentity
from tasks_lib.instruments.experiments.procedure import (
    Experiment,
    ExperimentError,
    FrameOrder,
    Procedure,
    perform,
    put_back,
    run,
    scan_for,
)
from tasks_lib.instruments.experiments.report import Finding, FrameUse, Quantity, Report, Series, Truth, Verdict
from tasks_lib.instruments.experiments.step_edge import StepEdge

__all__ = [
    "Experiment",
    "ExperimentError",
    "Finding",
    "FrameOrder",
    "FrameUse",
    "FrictionAgainstLoad",
    "GrapheneLayers",
    "IndenterIdentity",
    "LoadPoint",
    "PidCalibration",
    "Procedure",
    "Quantity",
    "Report",
    "Series",
    "StepEdge",
    "Truth",
    "Verdict",
    "perform",
    "put_back",
    "run",
    "scan_for",
]
