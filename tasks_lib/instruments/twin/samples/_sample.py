"""What a sample is to the microscope: a height and a friction at every place, and the truth about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks_lib.instruments.twin.errors import TwinError, finite

Array = NDArray[np.float64]
Field = Callable[[Array, Array], Array]
Truth = Mapping[str, float | int | str]


@dataclass(frozen=True, eq=False)
class Sample:
    """A surface with its ground truth. The origin is the centre; x and y are the sample's own axes.

    Attributes
    ----------
    name : str
    size_m : (float, float)
        Extent along x and y; scans must stay inside.
    truth : mapping of str to float, int or str
        What an experiment should find, SI units; the unit stands in the name.
    relief_m : float
        Bound of the difference between highest and lowest place.
    steepest : float
        Bound of the slope, infinite where there are vertical walls; it bounds how far the flank of the tip matters.
    adhesion_n : float
        Pull-off force in air.
    tilt_deg : (float, float)
        How the sample is mounted, along x and y. The microscope adds it; `height` does not hold it.
    """

    name: str
    size_m: tuple[float, float]
    truth: Truth
    relief_m: float
    steepest: float
    _height: Field = field(repr=False)
    _friction: Field | float = field(repr=False, default=0.3)
    adhesion_n: float = 15e-9
    tilt_deg: tuple[float, float] = (0.0, 0.0)

    def height(self, x_m: ArrayLike, y_m: ArrayLike) -> Array:
        """Return the height in metres at places in metres; any shape, x and y broadcast."""
        x, y = _places(x_m, y_m)
        return self._height(x.ravel(), y.ravel()).reshape(x.shape)

    def friction(self, x_m: ArrayLike, y_m: ArrayLike) -> Array:
        """Return the coefficient of friction at places in metres; any shape, x and y broadcast."""
        x, y = _places(x_m, y_m)
        if isinstance(self._friction, float | int):
            return np.full(x.shape, float(self._friction))
        return self._friction(x.ravel(), y.ravel()).reshape(x.shape)

    def mounted(self, *, tilt_x_deg: float = 0.0, tilt_y_deg: float = 0.0, adhesion_n: float | None = None) -> Sample:
        """Return the same sample as it is mounted: tilted, in more or less humid air.

        Raises
        ------
        TwinError
            If a value is not finite, a tilt beyond ±30° or the adhesion negative.
        """
        for tilt in (tilt_x_deg, tilt_y_deg):
            if abs(finite(tilt, "the tilt")) > 30:
                raise TwinError(f"the tilt of the sample {self.name} must lie within ±30°, not {tilt}")
        pull = self.adhesion_n if adhesion_n is None else finite(adhesion_n, "the adhesion in N")
        if pull < 0:
            raise TwinError(f"the adhesion of the sample {self.name} must not be negative, not {pull} N")
        return replace(self, tilt_deg=(tilt_x_deg, tilt_y_deg), adhesion_n=pull)


def _places(x_m: ArrayLike, y_m: ArrayLike) -> tuple[Array, Array]:
    x, y = np.broadcast_arrays(np.asarray(x_m, float), np.asarray(y_m, float))
    return x, y


def truths(**values: float | int | str) -> Truth:
    return MappingProxyType(values)


def turned(x: Array, y: Array, degrees: float) -> tuple[Array, Array]:
    """Coordinates in a frame that is turned by `degrees` against the sample's."""
    angle = np.radians(degrees)
    return np.cos(angle) * x + np.sin(angle) * y, -np.sin(angle) * x + np.cos(angle) * y


def positive(**values: float) -> None:
    for name, value in values.items():
        if finite(value, name) <= 0:
            raise TwinError(f"{name} must be above 0, not {value}")


def not_negative(**values: float) -> None:
    for name, value in values.items():
        if finite(value, name) < 0:
            raise TwinError(f"{name} must not be negative, not {value}")


def logistic(value: Array) -> Array:
    """1 / (1 + exp(-value)) without overflow."""
    out: Array = 0.5 * (1.0 + np.tanh(0.5 * value))
    return out
