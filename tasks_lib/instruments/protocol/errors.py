"""What goes wrong at a microscope, sorted by whose fault it is."""

from __future__ import annotations

from tasks_lib.records.errors import ActionError, MachineLostError, MatAssayError


class RefusedError(ActionError):
    """An order was outside the limits or out of turn: nothing was done, and who gave it is told the rule."""


class InstrumentError(MatAssayError):
    """The microscope took an order and did not carry it out."""


class InstrumentLostError(MachineLostError):
    """The microscope or its worker process does not answer."""


def with_sequel(error: BaseException, sequel: str) -> BaseException:
    """Return the error to raise where something failed and cleaning up after it failed too; it says both.

    A lost microscope stays a lost one, and Ctrl-C stays Ctrl-C, with a note.
    """
    if not isinstance(error, Exception):
        error.add_note(sequel)
        return error
    kind = InstrumentLostError if isinstance(error, InstrumentLostError) else InstrumentError
    return kind(f"{str(error) or type(error).__name__}; {sequel}")
