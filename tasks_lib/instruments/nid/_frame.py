"""From the channels and settings of a file to a Frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from tasks_lib.instruments.frame import Z_AXIS, Z_SENSOR, Channel, Direction, Frame, ScanSettings
from tasks_lib.instruments.nid._channels import NidChannel
from tasks_lib.instruments.nid._errors import NidError
from tasks_lib.instruments.nid._header import NidHeader
from tasks_lib.instruments.nid._settings import Acquisition

# What `write_nid` adds so that a frame comes back whole; other readers pass over sections that they do not know.
OWN = "DataSet\\DataSetInfos\\MatAssay"
NOTE = "Note "

_SCANS = {"Scan forward": Direction.FORWARD, "Scan backward": Direction.BACKWARD}
_TODAY = {"Topography": Z_AXIS, "Z-Axis Sensor": Z_SENSOR}


def images(channels: Sequence[NidChannel]) -> list[NidChannel]:
    """Return the channels of the (first) scan."""
    return [channel for channel in channels if channel.frame in _SCANS]


def lines_done(channels: Sequence[NidChannel], settings: Acquisition) -> int | None:
    """Count the scanned lines.

    The current line is a row of the image: it rises to the last one in frames that are scanned up, and falls to 0 in
    those that are scanned down. The channel that is least far decides.
    """
    counted = []
    for channel in images(channels):
        if channel.current_line is None or settings.direction is None:
            return None
        up = settings.direction == "up"
        counted.append(channel.current_line + 1 if up else channel.codes.shape[0] - channel.current_line)
    return min(counted, default=None)


def to_frame(source: str, header: NidHeader, channels: Sequence[NidChannel], settings: Acquisition) -> Frame:
    """Build the Frame; `NidFile.frame` says how."""
    scanned = images(channels)
    if not scanned:
        raise NidError("the file holds no scanned image", source=source, channel="Scan forward")
    first = scanned[0]
    for channel in scanned[1:]:
        if (channel.codes.shape, _extent(channel)) != (first.codes.shape, _extent(first)):
            rule = f"shape {channel.codes.shape} and size {_extent(channel)} m are not those of {first.label}"
            raise NidError(rule, source=source, channel=channel.label, byte=channel.first_byte)
    needed: dict[str, Any] = {
        "scan direction and current line": lines_done(channels, settings),
        "time per line": settings.time_per_line_s,
        "gains": settings.gains,
        "setpoint in volts or percent": settings.setpoint_native,
        "size in metres": _extent(first),
    }
    missing = ", ".join(what for what, value in needed.items() if value is None)
    if missing:
        raise NidError(f"the header does not give {missing}, which a frame needs", source=source, byte=0)
    done, time_per_line_s, gains, setpoint, (width_m, height_m) = needed.values()
    try:
        scan = ScanSettings(
            width_m=width_m,
            height_m=height_m,
            points=first.codes.shape[1],
            lines=first.codes.shape[0],
            time_per_line_s=time_per_line_s,
            center_x_m=settings.center_x_m or 0.0,
            center_y_m=settings.center_y_m or 0.0,
            rotation_deg=settings.rotation_deg or 0.0,
            slope_x_deg=settings.slope_x_deg or 0.0,
            slope_y_deg=settings.slope_y_deg or 0.0,
            overscan_percent=settings.overscan_percent or 0.0,
            direction=settings.direction or "up",
        )
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise NidError(wrong, source=source, channel=first.label, byte=header.byte_of(first.described.name)) from None
    return Frame(
        channels=_channels(scanned),
        scan=scan,
        gains=gains,
        setpoint=setpoint,
        mode=settings.mode,
        lever=settings.lever.name,
        lines_done=done,
        engaged=_engaged(header),
        taken_at=settings.taken_at_local,
        source=str(value.value) if (value := header.value(OWN, "Source")) else source,
        notes=_notes(header, settings),
    )


def _extent(channel: NidChannel) -> tuple[float, float] | None:
    x, y = channel.x, channel.y
    return (x.extent, y.extent) if x and y and (x.unit, y.unit) == ("m", "m") else None


def _channels(scanned: Sequence[NidChannel]) -> Mapping[tuple[str, Direction], Channel]:
    there = {(channel.name, channel.frame) for channel in scanned}
    found = {}
    for channel in scanned:
        today = _TODAY.get(channel.name, channel.name)
        name = channel.name if (today, channel.frame) in there else today
        way = _SCANS[channel.frame]
        found[name, way] = Channel(name, way, channel.unit, channel.data)
    return MappingProxyType(found)


def _engaged(header: NidHeader) -> bool | None:
    found = header.value(OWN, "Engaged")
    return found.value if found and isinstance(found.value, bool) else None


def _notes(header: NidHeader, settings: Acquisition) -> Mapping[str, str]:
    notes = {}
    if settings.setpoint != settings.setpoint_native:
        notes["setpoint in the file"] = f"{settings.setpoint} {settings.setpoint_unit}"
    for key in header.get(OWN, ()):
        if key.startswith(NOTE):
            notes[key.removeprefix(NOTE)] = str(header[OWN][key].value)
    return MappingProxyType(notes)
