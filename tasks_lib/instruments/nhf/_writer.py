"""From a Frame to the bytes of a `.nhf` file."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from datetime import UTC
from typing import Any, Literal

import h5py
import numpy as np
from numpy.typing import NDArray

from tasks_lib.instruments.frame import Z_AXIS, Channel, Direction, Frame
from tasks_lib.instruments.lever import Lever
from tasks_lib.instruments.nhf._channels import bounds
from tasks_lib.instruments.nhf._errors import NhfError
from tasks_lib.instruments.nhf._frame import TOPOGRAPHY

_WIDE = 8.0
_KIND = "int32"


def write_nhf(
    frame: Frame,
    *,
    version: Literal["1.1", "2.0"] = "1.1",
    ranges: Mapping[str, tuple[float, float]] | None = None,
    lever: Lever | None = None,
) -> bytes:
    """Write a frame as a `.nhf` file that `read_nhf` and the vendor's readers take.

    Version 1.1 has the groups and attributes of the one recorded file; version 2.0 those that the vendor's reader asks
    for. Samples become signed 32-bit codes over a range per channel, and come back within half a code. ``Z-Axis`` is
    written as ``Topography``. P and D gains have no place in these files and are not written.

    Parameters
    ----------
    frame : Frame
    version : str
        Of the format.
    ranges : mapping of channel name to (lowest, highest), optional
        Full scales. A channel that is not named gets a range around 0, eight times as wide as its values need.
    lever : Lever, optional
        Constants of the probe.

    Raises
    ------
    NhfError
        If the frame has no channel, a channel has another shape than the scan, or a value is missing in a scanned line
        or beyond its range.
    """
    if not frame.channels:
        raise NhfError("the frame has no channel to write", source=frame.source, place="frame")
    numbers = (1, 1) if version == "1.1" else (2, 0)
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        moment = frame.taken_at.replace(tzinfo=UTC).isoformat(timespec="milliseconds") if frame.taken_at else ""
        created = {"created": moment.replace("+00:00", "Z")} if moment else {}
        _note(
            file,
            {
                **created,
                "nsf_file_version_major": np.uint32(numbers[0]),
                "nsf_file_version_minor": np.uint32(numbers[1]),
            },
        )
        measurement = file.create_group("measurement_0" if numbers == (1, 1) else "group_0000")
        _note(measurement, created | _settings(frame, lever or Lever(name=frame.lever)) | _naming(frame, numbers))
        for place, (way, title) in enumerate(((Direction.FORWARD, "Forward"), (Direction.BACKWARD, "Backward"))):
            held = [one for one in frame.channels.values() if one.direction is way]
            if not held:
                continue
            if numbers == (1, 1):
                segment = measurement.create_group(f"segment_{place}")
                _note(segment, {"name": title})
            else:
                segment = measurement.create_group(f"subgroup_{place:04d}")
                size = np.array([frame.scan.lines, frame.scan.points], np.uint64)
                extent = np.array([frame.scan.height_m, frame.scan.width_m])
                _note(segment, {"segment_name": title, "rect_axis_size": size, "rect_axis_range": extent})
            for number, channel in enumerate(held):
                _channel(segment, number, channel, frame, numbers, (ranges or {}).get(channel.name))
    return buffer.getvalue()


def _naming(frame: Frame, version: tuple[int, int]) -> dict[str, Any]:
    name = frame.source or "Image 1"
    if version == (1, 1):
        return {"name": name, "measurement_type": "image_line_based"}
    return {"measurement_name": name, "group_type": "image_line_based"}


def _settings(frame: Frame, lever: Lever) -> dict[str, Any]:
    scan = frame.scan
    constants = {
        "spm_probe_calibration_spring_constant": lever.spring_constant_n_per_m,
        "spm_probe_calibration_resonance_frequency": lever.resonance_hz,
        "spm_probe_calibration_deflection_sensitivity": lever.deflection_m_per_v,
    }
    return {
        "image_points_per_line": np.uint32(scan.points),
        "image_number_of_lines": np.uint32(scan.lines),
        "image_number_of_lines_acquired": np.uint32(frame.lines_done),
        "image_size_x": scan.width_m,
        "image_size_y": scan.height_m,
        "image_line_rate": 0.5 / scan.time_per_line_s,
        "image_overscan": scan.overscan_percent,
        "image_scan_direction": scan.direction,
        "scanner_offset_x": scan.center_x_m,
        "scanner_offset_y": scan.center_y_m,
        "scanner_rotation": scan.rotation_deg,
        "scanner_slope_x": scan.slope_x_deg,
        "scanner_slope_y": scan.slope_y_deg,
        "measurement_mode": frame.mode,
        "z_ctrl_i_gain": np.uint32(frame.gains.i),
        "z_ctrl_setpoint_value": frame.setpoint,
        # A percentage belongs to a free amplitude, which modes with a vibrating lever alone have.
        "z_ctrl_setpoint_unit": "%" if "dynamic" in frame.mode.casefold() else "V",
        "spm_probe_model_name": lever.name or frame.lever,
        "spm_probe_model_vendor": lever.manufacturer,
        **{name: value for name, value in constants.items() if value is not None},
    }


def _channel(
    segment: Any, number: int, channel: Channel, frame: Frame, version: tuple[int, int],
    given: tuple[float, float] | None,
) -> None:  # fmt: skip
    name = TOPOGRAPHY if channel.name == Z_AXIS else channel.name
    low, high = _range(channel, given, frame)
    codes, missing = _codes(channel, low, high, frame, version)
    if version == (1, 1):
        dataset = segment.create_dataset(f"dataset_{number}", data=codes.ravel(), fillvalue=missing)
        about = {
            "name": name, "dataset_element_type": np.uint32(0), "dataset_size": np.uint64(codes.size),
            "base_calibration_min": low, "base_calibration_max": high, "base_calibration_unit": channel.unit,
        }  # fmt: skip
    else:
        dataset = segment.create_dataset(f"dataset_{number:04d}", data=codes.ravel(), fillvalue=missing)
        signal = name.casefold().replace(" ", "_")
        about = {
            "signal_name": name, "signal_id": signal, "signal_selected": signal, "signal_unit": channel.unit,
            "dataset_element_type": _KIND, "signal_calibration_min": low, "signal_calibration_max": high,
            "signal_calibration_unit": channel.unit,
        }  # fmt: skip
    _note(dataset, about)


def _range(channel: Channel, given: tuple[float, float] | None, frame: Frame) -> tuple[float, float]:
    if given is None:
        largest = float(np.nanmax(np.abs(channel.data), initial=0.0))
        half = _WIDE * largest if largest > 1e-200 else 1.0
        given = (-half, half)
    low, high = given
    if not (math.isfinite(low) and math.isfinite(high - low) and high > low):
        rule = f"the range {low!r} to {high!r} is empty or not finite"
        raise NhfError(rule, source=frame.source, place=_label(channel))
    return float(low), float(high)


def _codes(
    channel: Channel, low: float, high: float, frame: Frame, version: tuple[int, int]
) -> tuple[NDArray[np.int32], int]:
    scan, data = frame.scan, np.asarray(channel.data, dtype=np.float64)
    if data.shape != (scan.lines, scan.points):
        rule = f"shape {data.shape} is not {scan.lines} lines of {scan.points} points"
        raise NhfError(rule, source=frame.source, place=_label(channel))
    scanned = slice(frame.lines_done) if scan.direction == "up" else slice(scan.lines - frame.lines_done, None)
    absent = np.isnan(data)
    if absent[scanned].any():
        raise NhfError("a scanned line has missing samples (NaN)", source=frame.source, place=_label(channel))
    least, most = bounds(_KIND, version)
    wanted = np.rint((data - low) / (high - low) * (most - least) + least)
    if ((wanted < least - 1) | (wanted > most + 1))[~absent].any():
        rule = f"a value lies beyond the range {low!r} to {high!r}; give `ranges` that hold it"
        raise NhfError(rule, source=frame.source, place=_label(channel))
    missing = int(np.iinfo(_KIND).min)
    return np.where(absent, missing, np.clip(wanted, least, most)).astype("<i4"), missing


def _note(item: Any, attributes: Mapping[str, Any]) -> None:
    for name, value in attributes.items():
        item.attrs[name] = np.float64(value) if isinstance(value, float) else value


def _label(channel: Channel) -> str:
    return f"{channel.direction} {channel.name}"
