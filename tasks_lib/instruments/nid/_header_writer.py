"""The header of a `.nid` file that is written: sections, keys, and what may stand in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from tasks_lib.instruments.frame import Channel, Frame
from tasks_lib.instruments.lever import Lever
from tasks_lib.instruments.nid._errors import NidError
from tasks_lib.instruments.nid._frame import NOTE, OWN
from tasks_lib.instruments.nid._header import MAX_HEADER_BYTES, MAX_HEADER_LINES
from tasks_lib.instruments.nid._settings import CANTILEVER, FEEDBACK, IMAGING, INFO, SCANHEAD

Section = dict[str, str]

# Modes whose setpoint is a share of the free amplitude.
_PERCENT_MODES = frozenset({"Dynamic Force", "Phase Contrast"})
_INFOS = "DataSet\\DataSetInfos"
_FULL_SCALE_V = 5.0


def listing(groups: Sequence[Sequence[Channel]]) -> Section:
    """Return the section that lists groups and channels."""
    section = {"Version": "2", "GroupCount": str(len(groups))}
    for number, group in enumerate(groups):
        section |= {f"Gr{number}-Name": f"Scan {group[0].direction}", f"Gr{number}-ID": "0"}
        section[f"Gr{number}-Count"] = str(len(group))
    for number, group in enumerate(groups):
        section |= {f"Gr{number}-Ch{place}": f"DataSet-{number}:{place}" for place in range(len(group))}
    return section | {"SetInfos": INFO, **_listed("InfoSet", ["DataSetInfos", "Calibration", "Parameters"])}


def settings(frame: Frame, lever: Lever | None) -> dict[str, Section]:
    """Return the sections of settings: as displayed, as parameters, and the calibration."""
    scan, gains = frame.scan, frame.gains
    unit = "%" if frame.mode in _PERCENT_MODES else "V"
    shown = {
        "Scan": {
            "Image size": f"{_number(scan.width_m)} m",
            "Scan direction": scan.direction.capitalize(),
            "Time/Line": f"{_number(scan.time_per_line_s)} s",
            "Points": str(scan.points),
            "Lines": str(scan.lines),
            "X-Slope": f"{_number(scan.slope_x_deg)} °",
            "Y-Slope": f"{_number(scan.slope_y_deg)} °",
            "Rotation": f"{_number(scan.rotation_deg)} °",
            "X-Pos": f"{_number(scan.center_x_m)} m",
            "Y-Pos": f"{_number(scan.center_y_m)} m",
            "Overscan": f"{_number(scan.overscan_percent)} %",
        },
        "Feedback": {
            "Setpoint": f"{_number(frame.setpoint)} {unit}",
            "P-Gain": _gain(gains.p),
            "I-Gain": _gain(gains.i),
            "D-Gain": _gain(gains.d),
        },
        "Global": {"Op. mode": frame.mode, "Cantilever type": frame.lever},
    }
    if frame.taken_at is not None:
        day = frame.taken_at
        shown["Scan"] |= {"Date": f"{day:%d-%m-}{day.year:04}", "Time": f"{day:%H:%M:%S}"}
    own = {"Source": _text(frame.source)}
    if frame.engaged is not None:
        own["Engaged"] = f"B[{int(frame.engaged)}]*[]"
    own |= {f"{NOTE}{key}": _text(value) for key, value in frame.notes.items()}
    calibration = _calibration(frame, lever or Lever())
    info: Section = {}
    for title, values in shown.items():
        info |= {f"-- {title} --": "--------", **values}
    return {
        INFO: info,
        _INFOS: _listed("SubSection", [*shown, "MatAssay"]),
        **{f"{_INFOS}\\{title}": _ended(values) for title, values in shown.items()},
        OWN: _ended(own),
        "DataSet\\Calibration": _listed("SubSection", [name.rpartition("\\")[2] for name in calibration]),
        **calibration,
        "DataSet\\Parameters": _listed("SubSection", ["ZFeedback", "Imaging"]),
        FEEDBACK: _ended({
            "PGain": f"L[{gains.p}]*[]",
            "IGain": f"L[{gains.i}]*[]",
            "DGain": f"L[{gains.d}]*[]",
            "SetPoint": f"D[{_number(frame.setpoint)}]*[{unit}]",
        }),
        IMAGING: _ended({
            "ScanRange": _vector((scan.width_m, scan.height_m, 0.0), "m"),
            "ScanOffset": _vector((scan.center_x_m, scan.center_y_m, 0.0), "m"),
            "ScanRotation": _vector((scan.slope_y_deg, scan.slope_x_deg, scan.rotation_deg), "°"),
            "ScanTime": _vector((scan.time_per_line_s, scan.time_per_line_s, 0.0), "s"),
            "Datapoints": f"V[{scan.points},{scan.lines},0]*[,,]",
            "OverScanSize": f"D[{_number(scan.overscan_percent)}]*[%]",
        }),
    }  # fmt: skip


def _calibration(frame: Frame, lever: Lever) -> dict[str, Section]:
    sections: dict[str, Section] = {}
    if lever.deflection_m_per_v:
        # Nanosurf's reader takes the sensitivity from the inputs numbered 0 and 5.
        sections[SCANHEAD] = _ended({
            "InCount": "2",
            "In0": f"0,Channel0,Deflection,V,{_number(_FULL_SCALE_V)},0",
            "In5": f"5,TipSignalDC,Deflection,m,{_number(lever.deflection_m_per_v * _FULL_SCALE_V)},0",
        })  # fmt: skip
    properties = {
        f"Prop{place}": f"D[{_number(value)}]*[{unit}]"
        for place, (value, unit) in enumerate(((lever.spring_constant_n_per_m, "N/m"), (lever.resonance_hz, "Hz")))
        if value is not None
    }
    # Properties are counted from 0, and a reader asks for all below the count.
    count = len(properties) if "Prop0" in properties else 0
    sections[CANTILEVER] = _ended({
        "Name": frame.lever or lever.name, "Manufacturer": lever.manufacturer, "PropCount": str(count), **properties,
    })  # fmt: skip
    return sections


def description(frame: Frame, channel: Channel, bits: int, low: float, extent: float) -> Section:
    """Return the section of one channel."""
    scan = frame.scan
    line = frame.lines_done - 1 if scan.direction == "up" else scan.lines - frame.lines_done
    return {
        "Version": "2",
        "Points": str(scan.points),
        "Lines": str(scan.lines),
        "Frame": f"Scan {channel.direction}",
        "CurLine": str(line),
        **_dimension(0, "X*", "m", scan.width_m, 0.0),
        **_dimension(1, "Y*", "m", scan.height_m, 0.0),
        **_dimension(2, channel.name, channel.unit, extent, low),
        "SaveMode": "Binary",
        "SaveBits": str(bits),
        "SaveSign": "Signed",
        "SaveOrder": "Intel",
    }


def _dimension(number: int, name: str, unit: str, extent: float, start: float) -> Section:
    dim = f"Dim{number}"
    values = {"Name": name, "Unit": unit, "Range": _number(extent), "Min": _number(start)}
    return {f"{dim}{key}": value for key, value in values.items()}


def _listed(word: str, names: Iterable[str]) -> Section:
    names = list(names)
    return {f"{word}Count": str(len(names)), **{f"{word}{place}": name for place, name in enumerate(names)}}


def _ended(section: Section) -> Section:
    return {"SubSectionCount": "0", **section}


def _vector(values: tuple[float, ...], unit: str) -> str:
    return f"V[{','.join(map(_number, values))}]*[{','.join([unit] * len(values))}]"


def _text(text: str) -> str:
    return f"S[{text}]*[]"


def _gain(gain: int) -> str:
    if gain >= 2**31:
        raise NidError(f"the gain {gain} is beyond what an instrument takes", channel="header")
    return str(gain)


def _number(value: float) -> str:
    """Write the shortest decimals that give the same float back."""
    if not math.isfinite(value):
        raise NidError(f"{value!r} cannot stand in the header", channel="header")
    return repr(float(value))


def rendered(frame: Frame, sections: Mapping[str, Section]) -> bytes:
    """Return the header's bytes, up to the marker.

    Raises
    ------
    NidError
        If a text would not come back as it is, or the header is larger than `read_nid` takes.
    """
    lines: list[str] = []
    for name, section in sections.items():
        lines.append(f"[{name}]")
        for key, value in section.items():
            _check(frame, name, key, value)
            lines.append(f"{key}={value}")
        lines.append("")
    text = ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8")
    if len(text) > MAX_HEADER_BYTES or len(lines) + 2 > MAX_HEADER_LINES:
        rule = f"the header has {len(text)} bytes in {len(lines)} lines; too many notes"
        raise NidError(rule, source=frame.source)
    return text


def _check(frame: Frame, section: str, key: str, value: str) -> None:
    """Refuse text that would not come back as it is, or would end its line."""
    bad = "=" in key or key != key.strip() or value != value.strip() or key.startswith("[")
    if bad or not key.isprintable() or not value.isprintable():
        rule = f"[{section}] {key!r}: {value!r} cannot stand in the header (control signs, outer spaces, '=' in a key)"
        raise NidError(rule, source=frame.source, channel="header")
