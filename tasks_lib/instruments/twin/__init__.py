"""The digital twin: a simulated atomic force microscope with a sample whose truth is known.

`Microscope` scans a `Sample` with an instrument's constants (`Preset`) and a `Lever`; `closed_loop_radius` tells
whether gains make a stable loop. docs/microscope.md holds equations, constants and the comparison with real files.
"""

from tasks_lib.instruments.twin import samples
from tasks_lib.instruments.twin._plant import closed_loop_radius
from tasks_lib.instruments.twin.backend import TwinBackEnd, twin_limits
from tasks_lib.instruments.twin.errors import TwinError
from tasks_lib.instruments.twin.microscope import CHANNELS, DYNAMIC, LATERAL, MODES, STATIC, Line, Microscope, Progress
from tasks_lib.instruments.twin.presets import DRIVE, FLEX, LEVERS, Lever, Preset
from tasks_lib.instruments.twin.samples import Sample

__all__ = [
    "CHANNELS",
    "DRIVE",
    "DYNAMIC",
    "FLEX",
    "LATERAL",
    "LEVERS",
    "MODES",
    "STATIC",
    "Lever",
    "Line",
    "Microscope",
    "Preset",
    "Progress",
    "Sample",
    "TwinBackEnd",
    "TwinError",
    "closed_loop_radius",
    "samples",
    "twin_limits",
]
