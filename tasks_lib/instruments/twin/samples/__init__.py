"""Generators of samples with ground truth. Lengths in metres, angles in degrees; equal seeds make equal samples."""

from tasks_lib.instruments.twin.samples._grid import calibration_grid
from tasks_lib.instruments.twin.samples._indents import Indenter, indent
from tasks_lib.instruments.twin.samples._layers import LAYER_M, graphene_flakes, hopg_steps
from tasks_lib.instruments.twin.samples._measured import measured_surface
from tasks_lib.instruments.twin.samples._particles import nanoparticles
from tasks_lib.instruments.twin.samples._rough import rough_surface
from tasks_lib.instruments.twin.samples._sample import Sample

__all__ = [
    "LAYER_M",
    "Indenter",
    "Sample",
    "calibration_grid",
    "graphene_flakes",
    "hopg_steps",
    "indent",
    "measured_surface",
    "nanoparticles",
    "rough_surface",
]
