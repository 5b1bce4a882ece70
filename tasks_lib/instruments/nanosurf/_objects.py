"""Attributes of the vendor's objects: read before they are set, read back after, and what they raise made ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tasks_lib.instruments.nanosurf import _vendor
from tasks_lib.instruments.protocol import InstrumentError, InstrumentLostError, Value, same_value


class VendorObjects:
    """The application of a microscope named `name`, and the exception that its objects raise."""

    def __init__(self, application: Any, com_error: type[Exception], name: str) -> None:
        self._application, self._com_error, self._name = application, com_error, name

    def get(self, place: str, attribute: str) -> Any:
        """Read an attribute."""
        with self._talking(f"read {place}.{attribute}"):
            return getattr(getattr(self._application, place), attribute)

    def put(self, place: str, attribute: str, value: Value) -> None:
        """Set a number and read it back."""
        # A wrapper may grow an attribute that the program does not have, and then reads it back: it is read first.
        self.get(place, attribute)
        self.put_text(place, attribute, value)
        reported = self.get(place, attribute)
        if not same_value(float(value), float(reported)):
            msg = f"{self._name} was told {place}.{attribute} = {value!r} and reports {reported!r}"
            raise InstrumentError(msg)

    def put_text(self, place: str, attribute: str, value: Value) -> None:
        """Set an attribute that the caller reads back."""
        with self._talking(f"set {place}.{attribute} = {value!r}"):
            setattr(getattr(self._application, place), attribute, value)

    def call(self, place: str, method: str, *arguments: Any) -> Any:
        """Call a method of an object, or of the application where `place` is empty."""
        with self._talking(f"carry out {place + '.' if place else ''}{method}"):
            found = getattr(self._application, place) if place else self._application
            return getattr(found, method)(*arguments)

    @contextmanager
    def _talking(self, what: str) -> Iterator[None]:
        try:
            yield
        except self._com_error as error:
            number = error.args[0] if error.args else None
            if number in _vendor.GONE:
                msg = f"the program of {self._name} is gone ({error}): start it again, then this worker"
                raise InstrumentLostError(msg) from error
            msg = f"{self._name} did not {what}: {error}"
            raise InstrumentError(msg) from error
        except (AttributeError, TypeError, ValueError) as error:
            msg = f"the program of {self._name} cannot {what}: {error}"
            raise InstrumentError(msg) from error
