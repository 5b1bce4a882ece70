"""From the channels and settings of a file to a Frame."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import numpy as np
from pydantic import ValidationError

from tasks_lib.instruments.frame import Z_AXIS, Channel, Direction, Frame, Gains, ScanSettings
from tasks_lib.instruments.nhf._errors import NhfError
from tasks_lib.instruments.nhf._settings import NhfSettings

TOPOGRAPHY = "Topography"


def to_frame(
    source: str,
    channels: Mapping[tuple[str, Direction], Channel],
    settings: NhfSettings,
    known: NhfSettings,
    lines_done: int | None,
) -> Frame:
    """Build the Frame; `NhfFile.frame` says how."""

    def first(name: str) -> Any:
        found = getattr(settings, name)
        return getattr(known, name) if found is None else found

    done = first("lines_acquired") if lines_done is None else lines_done
    setpoint = known.setpoint_native if settings.setpoint is None else settings.setpoint_native
    needed = {
        "image_number_of_lines_acquired": done,
        "image_scan_direction": first("direction"),
        "image_line_rate": first("time_per_line_s"),
        "image_size_x": first("width_m"),
        "image_size_y": first("height_m"),
        "z_ctrl_i_gain": first("i_gain"),
        "z_ctrl_setpoint_value in volts or percent": setpoint,
    }
    if missing := [what for what, value in needed.items() if value is None]:
        raise NhfError(f"does not give {', '.join(missing)}, which a frame needs", source=source, place="measurement")
    try:
        scan = ScanSettings(
            width_m=first("width_m"),
            height_m=first("height_m"),
            points=settings.points,
            lines=settings.lines,
            time_per_line_s=first("time_per_line_s"),
            center_x_m=first("center_x_m") or 0.0,
            center_y_m=first("center_y_m") or 0.0,
            rotation_deg=first("rotation_deg") or 0.0,
            slope_x_deg=first("slope_x_deg") or 0.0,
            slope_y_deg=first("slope_y_deg") or 0.0,
            overscan_percent=first("overscan_percent") or 0.0,
            direction=first("direction"),
        )
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise NhfError(wrong, source=source, place="measurement") from None
    taken_at, notes = _when(settings.taken_at)
    if settings.setpoint is not None and settings.setpoint != setpoint:
        notes["setpoint in the file"] = f"{settings.setpoint} {settings.setpoint_unit}"
    return Frame(
        channels=_channels(channels, scan, int(done)),
        scan=scan,
        gains=Gains(p=0, i=first("i_gain"), d=0),
        setpoint=float(setpoint),  # type: ignore[arg-type] # what is missing was told
        mode=settings.mode or known.mode,
        lever=settings.lever.name or known.lever.name,
        lines_done=int(done),
        taken_at=taken_at,
        source=source,
        notes=MappingProxyType(notes),
    )


def _channels(
    found: Mapping[tuple[str, Direction], Channel], scan: ScanSettings, done: int
) -> Mapping[tuple[str, Direction], Channel]:
    absent = slice(done, None) if scan.direction == "up" else slice(None, scan.lines - done)
    made = {}
    for (name, way), one in found.items():
        called = Z_AXIS if name == TOPOGRAPHY and (Z_AXIS, way) not in found else name
        data = one.data
        if done < scan.lines:
            data = data.copy()
            data[absent] = np.nan
        made[called, way] = Channel(called, way, one.unit, data)
    return MappingProxyType(made)


def _when(moment: datetime | None) -> tuple[datetime | None, dict[str, str]]:
    if moment is None or moment.tzinfo is None:
        return moment, {}
    return moment.astimezone(UTC).replace(tzinfo=None), {"taken at": "UTC"}
