"""Cosine similarity that does not depend on batches, threads or the order of sums.

An encoder's vectors differ in their last bits with the batch that a text is in and with the number of threads. So a
vector is scaled to length 1 and rounded to multiples of 2⁻²⁰. Products of these are integers below 2⁵³, whose sums
double precision holds exactly: whatever library sums them in whatever order, the result is the same. The cosine is
rounded to 2⁻²⁰ as well, so that equal similarities are equal and a decision at a threshold cannot hang on noise. The
two roundings move a cosine by about 1e-6.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tasks_lib.records.errors import EvaluatorError

# A partial sum of products is at most |a|·|b| ≈ SCALE² = 2⁴⁰ (Cauchy and Schwarz), far below 2⁵³.
SCALE = 1 << 20
# The published program divides by the norm plus this, which makes a vector of zeros similar to nothing.
_EPSILON = 1e-8


def unit_vectors(vectors: ArrayLike) -> NDArray[np.int32]:
    """Scale vectors to length 1 and round them to multiples of 2⁻²⁰.

    Parameters
    ----------
    vectors : array_like of shape (n, d)
        Vectors of an encoder.

    Returns
    -------
    numpy.ndarray of int32 and shape (n, d)
        The vectors times 2²⁰; a vector of zeros stays one.

    Raises
    ------
    EvaluatorError
        If a value is not finite.
    """
    values = np.asarray(vectors, dtype=np.float64)
    if not np.isfinite(values).all():
        msg = "an encoder's vectors are finite numbers, NaN or infinity came: use another encoder"
        raise EvaluatorError(msg)
    norms = np.sqrt((values * values).sum(axis=-1, keepdims=True))
    units: NDArray[np.int32] = np.rint(values / (norms + _EPSILON) * SCALE).astype(np.int32)
    return units


def cosines(a: NDArray[np.int32], b: NDArray[np.int32]) -> NDArray[np.float64]:
    """Compare two sets of rounded unit vectors.

    Parameters
    ----------
    a : numpy.ndarray of int32 and shape (n, d)
        From `unit_vectors`.
    b : numpy.ndarray of int32 and shape (m, d)
        From `unit_vectors`.

    Returns
    -------
    numpy.ndarray of shape (n, m)
        Cosines in [-1, 1], multiples of 2⁻²⁰; exactly 1 for equal vectors, 0 where one of the two is zero.
    """
    x, y = a.astype(np.float64), b.astype(np.float64)
    lengths = np.sqrt((x * x).sum(axis=1))[:, None] * np.sqrt((y * y).sum(axis=1))[None, :]
    found = np.divide(x @ y.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    rounded: NDArray[np.float64] = np.clip(np.rint(found * SCALE) / SCALE, -1.0, 1.0)
    return rounded
