"""How anybody drives a microscope: states, limits, the small protocol of back ends, and the guard before them."""

from tasks_lib.instruments.protocol.backend import BackEnd, LineReport, OnLine
from tasks_lib.instruments.protocol.errors import InstrumentError, InstrumentLostError, RefusedError
from tasks_lib.instruments.protocol.instrument import Approve, Instrument, open_instrument
from tasks_lib.instruments.protocol.limits import CriticalAction, Lever, Limits, Parameter, SafetyPolicy, Span
from tasks_lib.instruments.protocol.state import ApproachStatus, Change, Event, EventKind, State, Value, same_value

__all__ = [
    "ApproachStatus",
    "Approve",
    "BackEnd",
    "Change",
    "CriticalAction",
    "Event",
    "EventKind",
    "Instrument",
    "InstrumentError",
    "InstrumentLostError",
    "Lever",
    "Limits",
    "LineReport",
    "OnLine",
    "Parameter",
    "RefusedError",
    "SafetyPolicy",
    "Span",
    "State",
    "Value",
    "open_instrument",
    "same_value",
]
