"""The numbers and names of the vendor's classic interface that are used here, as its documentation has them."""

from __future__ import annotations

import re
from enum import IntEnum

FORWARD, BACKWARD = 0, 1  # groups of GetLine
TOPOGRAPHY = 1  # its channel of heights
RAW = 0  # its filter
PHYSICAL = 1  # its conversion


class Status(IntEnum):
    """What `Approach.Status` may say."""

    STANDBY = 0
    INITIALIZING = 1
    APPROACHING = 2
    DONE = 3
    ABORTED = 4
    TO_PARK_POSITION = 5
    PARK_POSITION_REACHED = 6
    MOVING_AWAY = 7
    MOVING_TOWARD = 8
    SENSOR_FAILED = 9
    LIMIT_FAILED = 10
    CALIBRATION_FAILED = 12
    USER_ABORT = 13
    MAX_OUT = 14
    INIT_DONE = 15
    ADJUSTING_TIP = 16


MOVING = frozenset(
    {
        Status.INITIALIZING,
        Status.APPROACHING,
        Status.TO_PARK_POSITION,
        Status.MOVING_AWAY,
        Status.MOVING_TOWARD,
        Status.ADJUSTING_TIP,
    }
)

# Names as files of the classic programs and the rest of this house have them.
MODES = {
    "STM": 1,
    "Static Force": 2,
    "Dynamic Force": 3,
    "Phase Contrast": 4,
    "Force Modulation": 5,
    "Spreading Resistance": 6,
    "Constant Phase": 7,
    "Delta F": 8,
    "Lateral Force": 9,
}

# Parameter of the protocol -> object of the application, attribute.
PLACES = {
    "width_m": ("Scan", "ImageWidth"),
    "height_m": ("Scan", "ImageHeight"),
    "points": ("Scan", "Points"),
    "lines": ("Scan", "Lines"),
    "time_per_line_s": ("Scan", "Scantime"),
    "center_x_m": ("Scan", "CenterPosX"),
    "center_y_m": ("Scan", "CenterPosY"),
    "rotation_deg": ("Scan", "Rotation"),
    "slope_x_deg": ("Scan", "SlopeX"),
    "slope_y_deg": ("Scan", "SlopeY"),
    "overscan_percent": ("Scan", "Overscan"),
    "p": ("ZController", "PGain"),
    "i": ("ZController", "IGain"),
    "d": ("ZController", "DGain"),
    "setpoint": ("ZController", "SetPoint"),
}

# What Windows reports when the program that served the objects is gone.
GONE = frozenset({-2147023174, -2147023170, -2147417848, -2147417842, -2147221008})


def lever_attribute(name: str) -> str:
    """Return how a lever is called in `CantileverGUID`: Multi75Al-G is Multi75Al_G there."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)
