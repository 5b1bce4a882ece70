"""The process beside the microscope: ``python -m tasks_lib.instruments.nanosurf.worker`` on Windows.

It needs Python, NumPy, pydantic and the vendor's `nanosurf` 1.12, and nothing of this house beyond the instruments. For
Nanosurf Studio it needs `nanosurf-core` (or `nanosurf` 1.14) and h5py instead.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from tasks_lib.instruments.nanosurf.classic import ClassicBackEnd, Timing
from tasks_lib.instruments.nanosurf.desk import Desk, owner
from tasks_lib.instruments.nanosurf.server import MIN_TOKEN, DeskServer
from tasks_lib.instruments.protocol import Instrument, Lever, Limits, Span
from tasks_lib.records.errors import ConfigurationError, MatAssayError

if TYPE_CHECKING:
    from tasks_lib.instruments.nanosurf.studio import StudioBackEnd

CLASSIC, STUDIO = "classic", "studio"
TOKEN_VARIABLE = "MATASSAY_WORKER_TOKEN"  # the name of a variable, no secret
PORT = 8765

# A start for the laboratory's own file: a DriveAFM's scanner, soft levers, gentle envelopes.
EXAMPLE = Limits(
    spans={
        "width_m": Span(low=1e-9, high=9e-5), "height_m": Span(low=1e-9, high=9e-5),
        "points": Span(low=8, high=2048), "lines": Span(low=1, high=2048), "time_per_line_s": Span(low=0.05, high=30),
        "center_x_m": Span(low=-4.5e-5, high=4.5e-5), "center_y_m": Span(low=-4.5e-5, high=4.5e-5),
        "rotation_deg": Span(low=-180, high=180), "slope_x_deg": Span(low=-5, high=5),
        "slope_y_deg": Span(low=-5, high=5), "overscan_percent": Span(low=0, high=30), "direction": Span(low=0, high=0),
        "p": Span(low=0, high=500), "i": Span(low=1, high=9000), "d": Span(low=0, high=100),
        "setpoint": Span(low=0.01, high=80),
    },
    modes=("Static Force", "Lateral Force", "Dynamic Force"), dynamic_modes=("Dynamic Force",),
    levers=(
        Lever(name="ContAl-G", spring_constant_n_per_m=0.2, resonance_hz=13e3, sensitivity_m_per_v=4e-7),
        Lever(name="Multi75Al-G", spring_constant_n_per_m=3.0, resonance_hz=75e3, sensitivity_m_per_v=4e-7),
        Lever(name="Tap190Al-G", spring_constant_n_per_m=48.0, resonance_hz=190e3, sensitivity_m_per_v=4e-7),
    ),
    max_speed_m_s=5e-4, max_force_n=1e-6,
)  # fmt: skip
# Nanosurf Studio has an I gain alone, in other numbers, and no mode of lateral forces.
EXAMPLE_STUDIO = EXAMPLE.model_copy(
    update={
        "spans": {name: span for name, span in EXAMPLE.spans.items() if name not in ("p", "d")}
        | {"i": Span(low=1, high=50_000)},
        "modes": ("Static Force", "Dynamic Force"),
        "reports_lines": False,
    }
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the worker until it is ended; returns the exit code."""
    options = _options().parse_args(arguments)
    if options.example_limits:
        _say((EXAMPLE_STUDIO if options.program == STUDIO else EXAMPLE).model_dump(mode="json"), indent=2)
        return 0
    try:
        return _serve(options)
    except MatAssayError as error:
        print(f"the worker did not start: {error}", file=sys.stderr)  # noqa: T201 - a program's last words
        return 2


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tasks_lib.instruments.nanosurf.worker", description=__doc__)
    parser.add_argument("--program", choices=(CLASSIC, STUDIO), default=CLASSIC, help="which program is driven")
    parser.add_argument("--limits", type=Path, help="JSON file of what the laboratory allows")
    parser.add_argument("--gallery", type=Path, help="folder that the program saves frames in; of this worker alone")
    parser.add_argument("--name", default="nanosurf", help="name of the instrument, the same for all who drive it")
    parser.add_argument("--port", type=int, default=PORT, help=f"port of loopback; {PORT} unless given, 0 for any")
    parser.add_argument("--seconds", type=float, default=30.0, help="time for the program to carry out an order")
    parser.add_argument("--abandon", type=float, default=120.0, help="a scan that nobody follows so long is stopped, s")
    parser.add_argument("--settle", type=float, default=2.0, help="time in which a motion shows that it began, s")
    parser.add_argument("--example-limits", action="store_true", help="print a limits file to begin with")
    return parser


def _serve(options: argparse.Namespace) -> int:
    token = _token()
    limits, gallery = _limits(options.limits), _gallery(options.gallery)
    thread = owner()
    connect: Callable[..., ClassicBackEnd | StudioBackEnd] = _connect_studio if options.program == STUDIO else _connect
    back_end = thread.submit(connect, limits, gallery, options).result()
    instrument = Instrument(back_end, client="worker")
    desk = Desk(
        instrument,
        thread=thread,
        call_seconds=options.seconds,
        abandon_seconds=options.abandon,
        max_pixels=2**26,
        encode=back_end.encode,
    )
    end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end.set())
    with DeskServer(desk, token, port=options.port) as server:
        _say({"url": server.url, "name": options.name})
        while not end.wait(0.5):  # in parts, so that Windows lets Ctrl-C through
            pass
        desk.close()
    # The owner's thread may hang in a call of the program; it must not keep the process.
    sys.stdout.flush()
    os._exit(0)


def _connect(limits: Limits, gallery: Path, options: argparse.Namespace) -> ClassicBackEnd:
    """Find the program; runs in the thread that owns it from then on."""
    # COM is initialised for this thread, and its objects must not be used from another.
    _import("pythoncom").CoInitialize()
    nanosurf = _import("nanosurf")
    if not hasattr(nanosurf, "SPM"):
        version = getattr(nanosurf, "__version__", "of unknown version")
        msg = f"nanosurf {version} has no SPM here: its classic interface needs Windows and nanosurf==1.12.1"
        raise ConfigurationError(msg)
    com_error = _import("pywintypes").com_error
    timing = Timing(settle=options.settle)
    return ClassicBackEnd(nanosurf.SPM(), limits, gallery, com_error=com_error, name=options.name, timing=timing)


def _connect_studio(limits: Limits, gallery: Path, options: argparse.Namespace) -> StudioBackEnd:
    """Find Nanosurf Studio, once here and once for every stop."""
    packages = "nanosurf-core h5py"
    _import("h5py", packages)
    nanosurf = _import("nanosurf", packages)
    vendor: Any = getattr(nanosurf, "studio", None)
    if not hasattr(vendor, "Studio"):
        version = getattr(nanosurf, "__version__", "of unknown version")
        msg = f"nanosurf {version} has no studio here: pip install {packages}"
        raise ConfigurationError(msg)
    from tasks_lib.instruments.nanosurf.studio import StudioBackEnd

    # Packages before 2.0 raise nothing of their own.
    script_error = getattr(vendor, "StudioScriptError", RuntimeError)

    def connect() -> Any:
        studio = vendor.Studio()
        try:
            return studio.spm if studio.connect() else None
        except (script_error, OSError) as error:
            msg = f"Nanosurf Studio does not answer ({error}): start it, open a session, then start this worker"
            raise ConfigurationError(msg) from error

    return StudioBackEnd(connect, limits, gallery, script_error=script_error, name=options.name)


def _import(name: str, packages: str = "nanosurf==1.12.1 pywin32") -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        msg = f"there is no {name} here ({error}): on Windows, pip install {packages}"
        raise ConfigurationError(msg) from error


def _token() -> str:
    token = os.environ.pop(TOKEN_VARIABLE, "")
    if len(token) < MIN_TOKEN:
        msg = (
            f"set {TOKEN_VARIABLE} to a secret of {MIN_TOKEN} characters at least, such as {secrets.token_urlsafe(24)},"
            " and give the same to whoever drives the microscope"
        )
        raise ConfigurationError(msg)
    return token


def _limits(path: Path | None) -> Limits:
    if path is None:
        msg = "name the laboratory's limits with --limits; --example-limits prints a file to begin with"
        raise ConfigurationError(msg)
    try:
        return Limits.model_validate_json(path.read_bytes())
    except OSError as error:
        msg = f"the limits cannot be read: {error}"
        raise ConfigurationError(msg) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        msg = f"the limits in {path.name} are none: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise ConfigurationError(msg) from error


def _gallery(path: Path | None) -> Path:
    if path is None:
        msg = "name a folder for the frames with --gallery; nothing else may save there"
        raise ConfigurationError(msg)
    return path.resolve()


def _say(what: dict[str, Any], indent: int | None = None) -> None:
    print(json.dumps(what, indent=indent), flush=True)  # noqa: T201 - whoever started this process reads it


if __name__ == "__main__":
    sys.exit(main())
