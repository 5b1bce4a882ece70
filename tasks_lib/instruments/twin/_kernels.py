"""The compiled inner loops. numba keeps what it compiled beside this file, or in the user's cache, or not at all."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tasks_lib.instruments.twin.errors import TwinError
from tasks_lib.records.extras import install_command

try:
    import numba
except ImportError as error:
    raise TwinError(f"the digital twin needs numba: install the extra: {install_command('afm')}") from error

_log = logging.getLogger(__name__)

Array = NDArray[np.float64]
Function = TypeVar("Function", bound=Callable[..., Any])


class _Cache:
    """A cache of numba's that a full disk or a damaged file makes slow and not useless."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *arguments: Any) -> Any:
        try:
            return self._cache.load_overload(*arguments)
        except Exception:  # noqa: BLE001 - pickle and llvmlite raise whatever a damaged file makes of them
            self._quietly(self._cache.flush)
            return None

    def save_overload(self, *arguments: Any) -> None:
        self._quietly(self._cache.save_overload, *arguments)

    @staticmethod
    def _quietly(action: Callable[..., None], *arguments: Any) -> None:
        try:
            action(*arguments)
        except Exception as error:  # noqa: BLE001 - as above; what is not kept is compiled again
            _log.warning("a compiled loop of the twin is not kept for the next process: %s", error)


def compiled(function: Function) -> Function:
    dispatcher = numba.njit(function)
    try:
        dispatcher.enable_caching()
    except RuntimeError:  # no folder can be written: an install that is read-only, a user without a home
        return cast("Function", dispatcher)
    dispatcher._cache = _Cache(dispatcher._cache)  # noqa: SLF001 - numba has no public place for it
    return cast("Function", dispatcher)


class Loop(NamedTuple):
    """Constants of the loop, all floats so that numba sees one type. Lengths in metres, gains by true deflection."""

    kp: float
    ki_dt: float
    kd: float
    dt: float
    blend: float  # of the derivative's low pass, by tick
    reach: float
    a11: float
    a12: float
    a21: float
    a22: float
    b1: float
    b2: float
    dynamic: float
    target: float  # deflection, or amplitude in dynamic modes
    pull_off: float  # deflection at which the tip lets go, positive
    amplitude: float
    ring_down: float  # of the lever's amplitude, by tick
    hum: float
    hum_cos: float
    hum_sin: float
    spring: float
    adhesion: float
    lateral: float
    tilt: float
    uphill: float
    downhill: float
    lost: float  # hysteresis of the actuator, and the travel in which it builds up
    travel: float
    rest: float  # friction signal without friction


# Places in the state that passes hand on.
Z, SPEED, TOTAL, LAST, SLOW, LEVER, CONTACT, HUM_COS, HUM_SIN, HEAD, HELD, BEHIND, STATE = range(13)
# Rows of the sums by pixel.
DRIVE, POSITION, SIGNAL, LATERAL, TOUCHED, COUNT, SUMS = range(7)


@compiled
def regulate(error: float, total: float, last: float, slow: float, k: Loop) -> tuple[float, float, float]:
    """One tick of the controller: the drive, the integral and the filtered slope of the error."""
    slow += ((error - last) / k.dt - slow) * k.blend
    more = total + k.ki_dt * error
    drive = k.kp * error + more + k.kd * slow
    if drive > k.reach:
        return k.reach, more if error < 0.0 else total, slow  # anti-windup: the integral only ever comes back
    if drive < -k.reach:
        return -k.reach, more if error > 0.0 else total, slow
    return drive, more, slow


@compiled
def actuate(z: float, speed: float, drive: float, k: Loop) -> tuple[float, float]:
    """One tick of z'' + w/Q z' + w^2 z = w^2 u with u held, exactly."""
    return k.a11 * z + k.a12 * speed + k.b1 * drive, k.a21 * z + k.a22 * speed + k.b2 * drive


@compiled
def sweep(
    place: Array,
    pixel: NDArray[np.int64],
    height: Array,
    friction: Array,
    spacing: float,
    lean: float,
    lift: float,
    lift_by_tick: float,
    noise: NDArray[np.float32],
    sign: float,
    k: Loop,
    state: Array,
    ring: Array,
    sums: Array,
) -> None:
    """Drive the tip over one pass of a line and add what it shows to `sums`, a column by pixel.

    `place` is the tip's place on the profile in units of `spacing`, `pixel` the pixel that a tick counts for or -1;
    `lean` is the profile's mean slope by mounting, which is no edge.
    """
    z, speed, total, last, slow = state[Z], state[SPEED], state[TOTAL], state[LAST], state[SLOW]
    lever, contact, head = state[LEVER], state[CONTACT] > 0.5, int(state[HEAD])
    hum_cos, hum_sin, held, behind = state[HUM_COS], state[HUM_SIN], state[HELD], state[BEHIND]
    slots = ring.size
    top = height.size - 1.000001
    for tick in range(place.size):
        at = min(max(place[tick], 0.0), top)
        left = int(at)
        rise = height[left + 1] - height[left]
        gap = height[left] + rise * (at - left) + lift + lift_by_tick * tick - z
        hum_cos, hum_sin = hum_cos * k.hum_cos - hum_sin * k.hum_sin, hum_sin * k.hum_cos + hum_cos * k.hum_sin
        stray = noise[tick] + k.hum * hum_sin
        if k.dynamic > 0.5:
            contact = gap > 0.0
            lever += (min(max(k.amplitude - gap, 0.0), k.amplitude) - lever) * k.ring_down
            signal = lever + stray
            error = k.target - signal
            bend = 0.0
        else:
            contact = gap >= -k.pull_off if contact else gap > 0.0
            bend = gap if contact else 0.0
            signal = bend + stray
            error = signal - k.target
        drive, total, slow = regulate(error, total, last, slow, k)
        last = error
        ring[head] = drive
        head = head + 1 if head + 1 < slots else 0
        if k.lost > 0.0:
            move = ring[head] - held
            held = ring[head]
            behind += ((k.lost if move > 0.0 else -k.lost) - behind) * min(abs(move) / k.travel, 1.0)
        z, speed = actuate(z, speed, ring[head] - behind, k)
        column = pixel[tick]
        if column >= 0:
            slope = rise / spacing - lean
            load = max(k.spring * bend + k.adhesion, 0.0) if contact else 0.0
            climb = sign * slope
            drag = friction[left] + (k.uphill if climb > 0.0 else k.downhill) * climb * climb
            sums[DRIVE, column] += drive
            sums[POSITION, column] += z
            sums[SIGNAL, column] += signal
            sums[LATERAL, column] += k.rest + k.lateral * load * (sign * drag + k.tilt * slope)
            sums[TOUCHED, column] += 1.0 if contact else 0.0
            sums[COUNT, column] += 1.0
    state[Z], state[SPEED], state[TOTAL], state[LAST], state[SLOW] = z, speed, total, last, slow
    state[HELD], state[BEHIND] = held, behind
    state[LEVER], state[CONTACT], state[HEAD] = lever, 1.0 if contact else 0.0, head
    # The rotation is renewed to length 1, so that rounding never makes the hum grow.
    length = np.sqrt(hum_cos * hum_cos + hum_sin * hum_sin)
    state[HUM_COS], state[HUM_SIN] = hum_cos / length, hum_sin / length


@compiled
def dilate(strip: Array, tip: Array) -> Array:
    """Grey dilation of the middle row of a strip by the reflected tip, whose heights above the apex are `tip`."""
    rows, wide = tip.shape
    half = wide // 2
    out: Array = strip[rows // 2].copy()
    for row in range(rows):
        for column in range(wide):
            drop = tip[row, column]
            if drop == np.inf:
                continue
            shift = column - half
            for at in range(max(0, -shift), min(out.size, out.size - shift)):
                reached = strip[row, at + shift] - drop
                out[at] = max(out[at], reached)
    return out


@compiled
def tiled(tile: Array, x: Array, y: Array) -> Array:
    """Bilinear value of a tile that repeats; x and y in its pixels."""
    rows, columns = tile.shape
    out = np.empty(x.size)
    for i in range(x.size):
        left, low = int(np.floor(x[i])), int(np.floor(y[i]))
        a, b = x[i] - left, y[i] - low
        j0, i0 = left % columns, low % rows
        j1, i1 = (j0 + 1) % columns, (i0 + 1) % rows
        lower = tile[i0, j0] * (1.0 - a) + tile[i0, j1] * a
        upper = tile[i1, j0] * (1.0 - a) + tile[i1, j1] * a
        out[i] = lower * (1.0 - b) + upper * b
    return out


@compiled
def spheres(
    x: Array,
    y: Array,
    centers: Array,
    radii: Array,
    first: NDArray[np.int64],
    order: NDArray[np.int64],
    cell: float,
    columns: int,
    origin: float,
) -> Array:
    """Height of spheres that lie on a plane, 0 between them; `first` and `order` list them by the cells they touch."""
    out = np.zeros(x.size)
    for i in range(x.size):
        column, row = int((x[i] - origin) / cell), int((y[i] - origin) / cell)
        if column < 0 or row < 0 or column >= columns or row >= columns:
            continue
        bin_ = row * columns + column
        for at in range(first[bin_], first[bin_ + 1]):
            one = order[at]
            square = radii[one] ** 2 - (x[i] - centers[one, 0]) ** 2 - (y[i] - centers[one, 1]) ** 2
            if square > 0.0:
                out[i] = max(out[i], radii[one] + np.sqrt(square))
    return out
