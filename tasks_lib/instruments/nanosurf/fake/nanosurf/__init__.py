"""The documented object tree of Nanosurf's `nanosurf` 1.12, written from its names; it drives what a desk holds.

``NANOSURF_URL`` and ``NANOSURF_TOKEN`` say where the desk is. Nothing of the vendor's is in here: cantilevers have
identifiers of this fake, and what is not documented above is not there.
"""

from __future__ import annotations

import enum
import importlib
import os
import uuid
from typing import Any

from ._errors import com_error
from ._link import HttpLink, Link
from ._session import Session, Switches
from ._tree import Application

__all__ = ["SPM", "Spm", "Switches", "com_error"]
__version__ = "1.12.1"

MODE_NAMES = {
    1: "STM",
    2: "Static Force",
    3: "Dynamic Force",
    4: "Phase Contrast",
    5: "Force Modulation",
    6: "Spreading Resistance",
    7: "Constant Phase",
    8: "Delta F",
    9: "Lateral Force",
}
_LEVERS = (
    "ACL-A", "AN2-200", "ANSCM", "CONTR", "CONTSCPt", "CONTSCR", "ContAl-G", "Dyn190Al", "EFMR", "GLA-1", "LFMR",
    "MFMR", "Multi75Al-G", "Multi75E-G", "Multi75M-G", "NCLR", "PPP-FMR", "SICON-A", "Stat0-2LAuD", "Tap150Al-G",
    "Tap190Al-G", "USC-F0-3-k0-3", "USC-F1-2-k7-3", "XYCONTR", "XYNCHR", "pq-SCONT", "qp-CONT", "qp-fast-CB1",
    "qp-fast-CB2", "qp-fast-CB3",
)  # fmt: skip
LEVER_GUIDS = {name: "{" + str(uuid.uuid5(uuid.NAMESPACE_DNS, name)).upper() + "}" for name in _LEVERS}


def __getattr__(name: str) -> Any:
    """Load `studio` where it lies beside: it saves files, which takes more than Python itself."""
    if name == "studio":
        try:
            return importlib.import_module(".studio", __name__)
        except ModuleNotFoundError as error:
            raise AttributeError(f"module {__name__!r} has no attribute 'studio' here: {error}") from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Spm:
    """The microscope: `application` is its program, or None where none runs."""

    class OperatingMode(enum.IntEnum):
        User = 0
        STM = 1
        StaticAFM = 2
        DynamicAFM = 3
        PhaseContrast = 4
        ForceModulation = 5
        SpreadingResistivity = 6
        ContPhase = 7
        DeltaF = 8
        LateralForce = 9

    class ApproachStatus(enum.IntEnum):
        Standby = 0
        Initializing = 1
        Approaching = 2
        ApproachDone = 3
        ApproachAborted = 4
        MoveToParkPos = 5
        ParkPosReached = 6
        MoveAway = 7
        MoveToward = 8
        SensorFailed = 9
        LimitFailed = 10
        CalibrationFailed = 12
        UserAbort = 13
        MaxOut = 14
        Initdone = 15
        AdjustingTipPos = 16

    class ScanGroupID(enum.IntEnum):
        Forward = 0
        Backward = 1

    class ScanChannel(enum.IntEnum):
        Deflection_or_ZCtrlIn = 0
        Topography = 1

    class DataFilter(enum.IntEnum):
        RAW = 0
        MeanFit = 1
        LineFit = 2
        DerivedData = 3
        ParabolaFit = 4
        PolynomialFit = 5

    class DataConversion(enum.IntEnum):
        Binary16 = 0
        Physical = 1
        Binary32 = 2

    CantileverGUID: Any = type("CantileverGUID", (), {name.replace("-", "_"): one for name, one in LEVER_GUIDS.items()})

    def __init__(self, link: Link | None = None, switches: Switches | None = None) -> None:
        self.application: Application | None = None
        link = link or _from_environment()
        if link is None:
            print("There is no running application: set NANOSURF_URL and NANOSURF_TOKEN.")  # noqa: T201 - as the vendor's
            return
        self.application = Application(Session(link, switches or Switches.from_environment()))
        print("Connected to running app: CX")  # noqa: T201 - as the vendor's

    def is_connected(self) -> bool:
        return self.application is not None

    def is_scripting_enabled(self) -> bool:
        return self.application is not None


class SPM(Spm):
    """What scripts make."""


def _from_environment() -> HttpLink | None:
    url = os.environ.get("NANOSURF_URL", "")
    return HttpLink(url, os.environ.get("NANOSURF_TOKEN", "")) if url else None
