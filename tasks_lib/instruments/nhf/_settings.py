"""What the instrument was set to when a `.nhf` file was written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from tasks_lib.instruments.lever import Lever
from tasks_lib.instruments.nhf._nodes import Node
from tasks_lib.records import Record

_CONFIGURATIONS = ("scan_configuration", "segment_configuration")


class NhfSettings(Record):
    """Settings in SI units, degrees and percent; None where the file does not have them.

    `line_rate_hz` counts lines with trace and retrace, as the program shows it; `time_per_line_s` of one direction is
    half its inverse. `setpoint` is as the file has it, in `setpoint_unit` (V, N, m or %). `taken_at` has the zone that
    the file names, UTC.
    """

    i_gain: int | None = None
    setpoint: float | None = None
    setpoint_unit: str = ""
    width_m: float | None = None
    height_m: float | None = None
    points: int | None = None
    lines: int | None = None
    lines_acquired: int | None = None
    line_rate_hz: float | None = None
    center_x_m: float | None = None
    center_y_m: float | None = None
    rotation_deg: float | None = None
    slope_x_deg: float | None = None
    slope_y_deg: float | None = None
    overscan_percent: float | None = None
    direction: Literal["up", "down"] | None = None
    mode: str = ""
    environment: str = ""
    lever: Lever = Lever()
    taken_at: datetime | None = None

    @property
    def time_per_line_s(self) -> float | None:
        """Time of a line in one direction, s."""
        return 0.5 / self.line_rate_hz if self.line_rate_hz else None

    @property
    def setpoint_native(self) -> float | None:
        """The setpoint in volts of deflection, or in percent; forces and deflections by the probe's constants.

        None where these constants are not in the file.
        """
        return self.lever.native_setpoint(self.setpoint, self.setpoint_unit)


def read_settings(nodes: Sequence[Node]) -> NhfSettings:
    """Gather the settings from a measurement and its segments; the first that has an attribute counts.

    Raises
    ------
    NhfError
        If an attribute has the wrong type, naming it.
    """
    read = _Reader(nodes)
    size, extent = read.pair("rect_axis_size"), read.pair("rect_axis_range")
    lever = Lever(
        name=read.text("spm_probe_model_name"),
        manufacturer=read.text("spm_probe_model_vendor"),
        spring_constant_n_per_m=read.number("spm_probe_calibration_spring_constant"),
        resonance_hz=read.number("spm_probe_calibration_resonance_frequency"),
        deflection_m_per_v=read.number("spm_probe_calibration_deflection_sensitivity"),
    )
    points, lines = read.count("image_points_per_line"), read.count("image_number_of_lines")
    width, height = read.number("image_size_x"), read.number("image_size_y")
    direction = read.text("image_scan_direction").casefold()
    return NhfSettings(
        i_gain=read.count("z_ctrl_i_gain"),
        setpoint=read.number("z_ctrl_setpoint_value"),
        setpoint_unit=unit_of(read.text("z_ctrl_setpoint_unit")),
        # Slow axis first, as arrays have it.
        width_m=extent[1] if width is None and extent else width,
        height_m=extent[0] if height is None and extent else height,
        points=int(size[1]) if points is None and size else points,
        lines=int(size[0]) if lines is None and size else lines,
        lines_acquired=read.count("image_number_of_lines_acquired"),
        line_rate_hz=read.number("image_line_rate"),
        center_x_m=read.number("scanner_offset_x"),
        center_y_m=read.number("scanner_offset_y"),
        rotation_deg=read.number("scanner_rotation", "rect_rotation"),
        slope_x_deg=read.number("scanner_slope_x"),
        slope_y_deg=read.number("scanner_slope_y"),
        overscan_percent=read.number("image_overscan"),
        direction="up" if direction == "up" else "down" if direction == "down" else None,
        mode=read.text("measurement_mode"),
        environment=read.text("measurement_environment"),
        lever=lever,
        taken_at=read.moment("created"),
    )


def unit_of(text: str) -> str:
    """Return the unit of a text such as ``Metre (m)``, or the text where it has no brackets."""
    inner = text.partition("(")[2].partition(")")[0].strip()
    return inner or text.strip()


class _Reader:
    """Looks attributes up, also among the properties that a segment's configuration holds as JSON."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._properties: dict[str, object] = {}
        for node in nodes:
            for name in _CONFIGURATIONS:
                for key, value in _properties(node, name).items():
                    self._properties.setdefault(key, value)

    def text(self, name: str) -> str:
        for node in self._nodes:
            if (found := node.text(name)) is not None:
                return found
        held = self._properties.get(name)
        return held if isinstance(held, str) else ""

    def number(self, *names: str) -> float | None:
        for name in names:
            for node in self._nodes:
                if (found := node.number(name)) is not None:
                    return float(found)
            held = self._properties.get(name)
            if isinstance(held, int | float) and not isinstance(held, bool) and abs(held) < float("inf"):
                return float(held)
        return None

    def count(self, name: str) -> int | None:
        found = self.number(name)
        if found is None:
            return None
        if not found.is_integer() or not 0 <= found < 2**31:
            raise self._nodes[0].refuse(f"is no whole number of zero or more: {found:g}", part=name)
        return int(found)

    def pair(self, name: str) -> tuple[float, float] | None:
        for node in self._nodes:
            if (found := node.pair(name)) is not None:
                return float(found[0]), float(found[1])
        return None

    def moment(self, name: str) -> datetime | None:
        try:
            return datetime.fromisoformat(self.text(name))
        except ValueError:
            return None


def _properties(node: Node, name: str) -> dict[str, object]:
    text = node.text(name)
    if text is None:
        return {}
    try:
        held = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise node.refuse(f"is no JSON: {error}", part=name) from None
    found = held.get("property") if isinstance(held, dict) else None
    if not isinstance(found, dict):
        return {}
    return {key: one["value"] for key, one in found.items() if isinstance(one, dict) and "value" in one}
