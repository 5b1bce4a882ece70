"""What goes wrong at a microscope, sorted by whose fault it is."""

from __future__ import annotations

from tasks_lib.records.errors import ActionError, MachineLostError, MatAssayError


class RefusedError(ActionError):
    """An order was outside the limits or out of turn: nothing was done, and who gave it is told the rule."""


class InstrumentError(MatAssayError):
    """The microscope took an order and did not carry it out."""


class InstrumentLostError(MachineLostError):
    """The microscope or its worker process does not answer."""
