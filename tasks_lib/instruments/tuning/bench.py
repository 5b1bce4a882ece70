"""The microscopes that a tuning can be done on, by the name that its order gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.protocol import BackEnd, State, Value
from tasks_lib.instruments.reach import nanosurf_back_end
from tasks_lib.instruments.tuning.scenes import scene
from tasks_lib.instruments.tuning.session_records import TuningOrder
from tasks_lib.records import Json


def _nothing() -> Json:
    return None


@dataclass(frozen=True)
class Bench:
    """A microscope and how probe frames are taken with it.

    Attributes
    ----------
    back_end : BackEnd
    probe : mapping of str to Value
        Scan settings and setpoint of a probe frame; empty where the instrument stays as it is set.
    memory : callable
        Returns what a simulated instrument needs to go on; None for a real one.
    close : callable
        Lets go of the way to the microscope, which stays as it is.
    """

    back_end: BackEnd
    probe: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    memory: Callable[[], Json] = _nothing
    close: Callable[[], Json] = _nothing


def open_bench(order: TuningOrder, tuning_id: str, memory: Json = None) -> Bench:
    """Return the microscope of an order.

    Parameters
    ----------
    order : TuningOrder
    tuning_id : str
        Every tuning on the twin has a twin of its own, which bears its name.
    memory : Json
        What the last scan that was recorded says of a simulated instrument: it goes on there, with the gains it had.

    Raises
    ------
    ConfigurationError
        If there is no such scene, or no way to the microscope is given.
    InstrumentError, InstrumentLostError
        If its worker refuses the token or does not answer.
    """
    if order.back_end == "nanosurf":
        back_end = nanosurf_back_end(order)
        try:
            probe = _band(back_end.read(), order.probe_lines)
        except BaseException:
            back_end.close()
            raise
        return Bench(back_end, probe, close=back_end.close)
    order.check_reach()
    # The twin compiles its loops on import.
    from tasks_lib.instruments.twin import Progress, TwinBackEnd

    place = scene(order.scene)
    microscope = place.microscope(order.seed)
    gains = order.start
    if memory is not None:
        microscope.progress = Progress.of_json(memory)
        gains = Gains.model_validate(memory["gains"])
    picture = place.scan.model_copy(update={"lines": place.scan.points, "height_m": place.scan.width_m})
    twin = TwinBackEnd(microscope, picture, gains, place.setpoint, name=f"twin-{tuning_id}")

    def remember() -> Json:
        return {**microscope.progress.to_json(), "gains": twin.read().gains.model_dump(mode="json")}

    return Bench(twin, {**place.scan.model_dump(), "setpoint": place.setpoint}, remember)


def _band(state: State, lines: int | None) -> dict[str, Value]:
    """Return what makes a band of the picture: found on a band that a killed process left, it is the same band."""
    if lines is None:
        return {}
    return {"lines": lines, "height_m": state.scan.height_m * lines / state.scan.lines}
