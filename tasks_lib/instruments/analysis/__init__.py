"""Image analysis: pure functions on heights and signals, sizes in metres, every result with its unit and its terms.

Images have the shape (lines, points), row 0 is the lowest line, and NaN marks what was not scanned. Masks are boolean
and True on the samples that count. What an image cannot answer raises `AnalysisError`.
"""

from tasks_lib.instruments.analysis._field import AnalysisError, Mask
from tasks_lib.instruments.analysis.friction import (
    FrictionForce,
    FrictionSignal,
    LateralCalibration,
    frame_friction,
    friction,
)
from tasks_lib.instruments.analysis.grains import Grain, Segmentation, segment
from tasks_lib.instruments.analysis.indents import AREA_OVER_DEPTH2, Indent, Indenter, analyse_indent
from tasks_lib.instruments.analysis.layers import GRAPHENE_LAYER_M, Flake, LayerCount, count_layers, find_flakes
from tasks_lib.instruments.analysis.levelling import (
    PLANE,
    RAW,
    ROWS,
    Levelled,
    Levelling,
    Tilt,
    ground_mask,
    level,
    tilt,
)
from tasks_lib.instruments.analysis.pitch import Pitch, grid_pitch
from tasks_lib.instruments.analysis.profiles import Profile, profile
from tasks_lib.instruments.analysis.roughness import Roughness, roughness
from tasks_lib.instruments.analysis.shift import Shift, trace_retrace_shift
from tasks_lib.instruments.analysis.similarity import Similarity, trace_retrace_similarity
from tasks_lib.instruments.analysis.steps import (
    StepHeight,
    step_height,
    step_height_by_line,
    step_masks,
    two_level_fit,
)
from tasks_lib.instruments.analysis.validity import Validity, frame_validity

__all__ = [
    "AREA_OVER_DEPTH2",
    "GRAPHENE_LAYER_M",
    "PLANE",
    "RAW",
    "ROWS",
    "AnalysisError",
    "Flake",
    "FrictionForce",
    "FrictionSignal",
    "Grain",
    "Indent",
    "Indenter",
    "LateralCalibration",
    "LayerCount",
    "Levelled",
    "Levelling",
    "Mask",
    "Pitch",
    "Profile",
    "Roughness",
    "Segmentation",
    "Shift",
    "Similarity",
    "StepHeight",
    "Tilt",
    "Validity",
    "analyse_indent",
    "count_layers",
    "find_flakes",
    "frame_friction",
    "frame_validity",
    "friction",
    "grid_pitch",
    "ground_mask",
    "level",
    "profile",
    "roughness",
    "segment",
    "step_height",
    "step_height_by_line",
    "step_masks",
    "tilt",
    "trace_retrace_shift",
    "trace_retrace_similarity",
    "two_level_fit",
]
