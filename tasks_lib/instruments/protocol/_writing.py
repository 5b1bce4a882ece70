"""Parameters written all or none: read back, and the old values restored where the new ones were not taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tasks_lib.instruments.protocol.backend import BackEnd
from tasks_lib.instruments.protocol.errors import InstrumentError, with_sequel
from tasks_lib.instruments.protocol.state import State, Value, same_value
from tasks_lib.records.errors import MatAssayError


def write_or_restore(back_end: BackEnd, before: State, values: Mapping[str, Value]) -> State:
    """Write parameters and return the state that the instrument reports then.

    Raises
    ------
    InstrumentError
        If a value was not taken, or the back end broke on the way; what had changed was written back, or the message
        names what could not be.
    InstrumentLostError
        If the instrument does not answer.
    """
    try:
        back_end.write(values)
        after = back_end.read()
        if wrong := _differing(after, values):
            name = wrong[0]
            msg = f"{back_end.name} was told {name} = {values[name]!r} and reports {after.values()[name]!r}"
            raise InstrumentError(msg)
    except BaseException as error:  # whatever went wrong, Ctrl-C included: the instrument is not left half set
        if failed := _restore(back_end, before, values):
            raise with_sequel(error, f"{failed} could not be written back either: look at the instrument") from error
        if isinstance(error, Exception) and not isinstance(error, MatAssayError):
            msg = f"{back_end.name} broke while it was set: {type(error).__name__}: {error}; nothing was set"
            raise InstrumentError(msg) from error
        raise
    return after


def _restore(back_end: BackEnd, before: State, names: Iterable[str]) -> str:
    """Write back what differs, each parameter by itself, so that one that sticks keeps no other; return those left."""
    old = before.values()
    wanted = {name: old[name] for name in sorted(names)}
    for name in _differing_now(back_end, wanted):
        try:
            back_end.write({name: wanted[name]})
        except Exception:  # noqa: BLE001, S112 - what is read afterwards decides
            continue
    return ", ".join(_differing_now(back_end, wanted))


def _differing_now(back_end: BackEnd, wanted: Mapping[str, Value]) -> list[str]:
    """Return the names of what the instrument reports otherwise; all of them where it reports nothing."""
    try:
        return _differing(back_end.read(), wanted)
    except Exception:  # noqa: BLE001 - an instrument that cannot be read has every value in doubt
        return list(wanted)


def _differing(state: State, wanted: Mapping[str, Value]) -> list[str]:
    reported = state.values()
    return [name for name, value in wanted.items() if not same_value(value, reported[name])]
