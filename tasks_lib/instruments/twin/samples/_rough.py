"""Self-affine rough surfaces."""

from __future__ import annotations

import numpy as np

from tasks_lib.instruments.twin.errors import TwinError, whole_seed, within
from tasks_lib.instruments.twin.samples._sample import Array, Field, Sample, not_negative, positive, truths

TILE = 1024  # pixels to a side; the tile repeats beyond the sample


def tile(size_m: float, rms_m: float, correlation_m: float, hurst: float, seed: int) -> Array:
    """Make a periodic Gaussian surface with the power spectrum (1 + (q ξ)²)^-(1 + H) and the rms `rms_m`."""
    q = 2 * np.pi * np.fft.fftfreq(TILE, size_m / TILE)
    power = (1 + (q[:, None] ** 2 + q[None, : TILE // 2 + 1] ** 2) * correlation_m**2) ** -(1 + hurst)
    power[0, 0] = 0.0
    noise = np.random.default_rng(whole_seed(seed)).standard_normal((TILE, TILE))
    raw = np.fft.irfft2(np.fft.rfft2(noise) * np.sqrt(power), s=(TILE, TILE))
    surface: Array = raw * (rms_m / raw.std())
    return surface


def texture(size_m: float, rms_m: float, correlation_m: float, hurst: float, seed: int) -> tuple[Field, float, float]:
    """Return the height of a rough surface with bounds of its relief and of its slope."""
    not_negative(roughness_m=rms_m)
    positive(correlation_m=correlation_m)
    within(hurst, 0.05, 1.0, "the Hurst exponent")
    if rms_m == 0:
        return (lambda x, y: np.zeros(x.size)), 0.0, 0.0
    from tasks_lib.instruments.twin import _kernels

    surface = tile(size_m, rms_m, correlation_m, hurst, seed)
    pixel = size_m / TILE
    slope = float(max(np.abs(np.diff(surface, axis=0)).max(), np.abs(np.diff(surface, axis=1)).max()) / pixel)

    def height(x: Array, y: Array) -> Array:
        return _kernels.tiled(surface, (x + size_m / 2) / pixel, (y + size_m / 2) / pixel)

    return height, float(np.ptp(surface)), slope


def rough_surface(
    *,
    size_m: float = 11e-6,
    rms_m: float = 30e-9,
    correlation_m: float = 250e-9,
    hurst: float = 0.9,
    friction: float = 0.3,
    seed: int = 0,
) -> Sample:
    """Return a self-affine Gaussian surface, like polished glass.

    The power spectrum is (1 + (q ξ)²)^-(1 + H) with the correlation length ξ and the Hurst exponent H; 0.7 to 0.9 is
    usual. The surface is a tile of 1024 × 1024 pixels, linear between them.

    Raises
    ------
    TwinError
        If a length is not above 0 or the Hurst exponent outside [0.05, 1].
    """
    positive(size_m=size_m, rms_m=rms_m)
    not_negative(friction=friction)
    if correlation_m > size_m / 8:
        raise TwinError(
            f"correlation_m {correlation_m:g} is too long for a sample of {size_m:g} m: an eighth of it at most"
        )
    height, relief, steepest = texture(size_m, rms_m, correlation_m, hurst, seed)
    return Sample(
        "rough surface",
        (size_m, size_m),
        truths(
            kind="rough surface", rms_m=rms_m, correlation_m=correlation_m, hurst=hurst, friction=friction,
            tile_pixel_m=size_m / TILE,
        ),
        relief,
        steepest,
        height,
        friction,
    )  # fmt: skip
