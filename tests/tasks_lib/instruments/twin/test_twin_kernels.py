"""The compiled loops: what they cost to import, where they are kept, and the parts that can be checked by hand."""

from __future__ import annotations

import errno
import subprocess
import sys

import numba
import numpy as np
import pytest

from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.twin import DRIVE, FLEX, LEVERS, _kernels
from tasks_lib.instruments.twin._plant import loop, zero_order_hold


def test_importing_the_twin_does_not_import_what_is_heavy():
    told = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, tasks_lib.instruments.twin; print(sorted({'numba', 'scipy'} & set(sys.modules)))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == "[]"


def test_a_function_that_cannot_be_kept_is_compiled_all_the_same():
    # A function without a file has no place for a cache, as one of an install that nobody can write to.
    space: dict[str, object] = {}
    exec(compile("def twice(x):\n    return 2 * x\n", "<nowhere>", "exec"), space)  # noqa: S102
    assert _kernels.compiled(space["twice"])(21) == 42


def test_the_actuator_is_exact_at_its_ticks():
    # Step answer of an under-damped second-order system.
    a11, a12, a21, a22, b1, b2 = zero_order_hold(FLEX)
    w, damping, dt = 2 * np.pi * 1500, 1 / 20, 1 / 50e3
    z = speed = 0.0
    for tick in range(1, 400):
        z, speed = a11 * z + a12 * speed + b1, a21 * z + a22 * speed + b2
        ring = w * np.sqrt(1 - damping**2) * tick * dt
        decay = np.exp(-damping * w * tick * dt)
        truth = 1 - decay * (np.cos(ring) + damping / np.sqrt(1 - damping**2) * np.sin(ring))
        assert z == pytest.approx(truth, abs=1e-9)


def constants(gains: Gains = Gains(p=10, i=4000)) -> _kernels.Loop:  # noqa: B008 - a frozen record
    return loop(DRIVE, gains, lever=LEVERS["Multi75Al-G"], adhesion_n=0.0, dynamic=False, target=0.0)


def test_the_integral_stands_still_while_the_drive_is_at_its_end():
    k = constants()
    total = slow = last = 0.0
    for _ in range(100_000):
        drive, total, slow = _kernels.regulate(1e-6, total, last, slow, k)
        last = 1e-6
    assert drive == k.reach
    assert k.reach - 2e-6 < total <= k.reach
    drive, after, slow = _kernels.regulate(-1e-6, total, last, slow, k)
    assert after < total
    assert drive < k.reach


def test_the_gains_act_on_the_calibrated_deflection():
    k = constants()
    assert k.ki_dt * 25e3 == pytest.approx(1.129 * 4000 * 80 / 382)
    assert k.kp == pytest.approx(2e-4 * 10 * 80 / 382)


def test_dilation_is_the_highest_place_that_the_tip_touches():
    chance = np.random.default_rng(0)
    strip = chance.normal(size=(3, 40))
    tip = np.abs(chance.normal(size=(3, 5)))
    tip[0, 0] = np.inf
    seen = _kernels.dilate(strip, tip)
    for at in range(40):
        reached = [
            strip[row, at + shift] - tip[row, shift + 2]
            for row in range(3)
            for shift in range(-2, 3)
            if 0 <= at + shift < 40
        ]
        assert seen[at] == max(strip[1, at], *reached)


def _double(value: float) -> float:
    return 2.0 * value


@pytest.fixture
def cache(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def test_a_full_disk_keeps_no_loop_from_running(cache, monkeypatch, caplog) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "save", full)
    assert _kernels.compiled(_double)(2.0) == 4.0
    assert "No space left on device" in caplog.text


def test_a_damaged_cache_is_compiled_anew_and_kept(cache) -> None:
    assert _kernels.compiled(_double)(2.0) == 4.0
    written = sorted(path for path in cache.rglob("*") if path.is_file())
    assert written
    for path in written:
        path.write_bytes(b"junk")
    assert _kernels.compiled(_double)(3.0) == 6.0
    again = _kernels.compiled(_double)
    assert again(4.0) == 8.0
    assert sum(again.stats.cache_hits.values()) == 1
