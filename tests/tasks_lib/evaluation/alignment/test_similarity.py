"""Cosines: near the exact ones, and the same bits however they are computed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from threadpoolctl import threadpool_limits

from tasks_lib.evaluation.alignment.similarity import SCALE, cosines, unit_vectors
from tasks_lib.records.errors import EvaluatorError

VECTORS = arrays(np.float64, st.tuples(st.integers(1, 6), st.just(8)), elements=st.floats(-1e3, 1e3, width=32))
NEAR = 2e-6


@given(VECTORS, VECTORS)
def test_cosines_are_near_the_exact_ones(a: np.ndarray, b: np.ndarray) -> None:
    lengths = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)[None, :]
    # Below this length the published 1e-8 in the denominator is no longer small.
    clear = (np.linalg.norm(a, axis=1)[:, None] > 1e-1) & (np.linalg.norm(b, axis=1)[None, :] > 1e-1)
    exact = np.divide(a @ b.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    found = cosines(unit_vectors(a), unit_vectors(b))
    assert np.abs(found - exact)[clear].max(initial=0) < NEAR
    assert (np.abs(found) <= 1).all()
    assert (found * SCALE == np.rint(found * SCALE)).all()


@given(VECTORS)
def test_equal_vectors_are_exactly_equal_unless_zero(a: np.ndarray) -> None:
    units = unit_vectors(a)
    assert (np.diag(cosines(units, units)) == (units != 0).any(axis=1)).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 29))
def test_no_split_order_or_number_of_threads_changes_a_bit(seed: int, cut: int) -> None:
    draw = np.random.default_rng(seed)
    a, b = unit_vectors(draw.normal(size=(30, 384))), unit_vectors(draw.normal(size=(17, 384)))
    whole = cosines(a, b)
    assert (np.concatenate([cosines(a[:cut], b), cosines(a[cut:], b)]) == whole).all()
    assert (np.array([[cosines(x[None], y[None])[0, 0] for y in b] for x in a[:3]]) == whole[:3]).all()
    assert (whole == cosines(b, a).T).all()
    order = draw.permutation(384)
    assert (cosines(a[:, order], b[:, order]) == whole).all()
    with threadpool_limits(1):
        assert (cosines(a, b) == whole).all()


@given(st.integers(0, 2**32 - 1))
def test_noise_of_an_encoder_in_double_precision_is_rounded_away(seed: int) -> None:
    draw = np.random.default_rng(seed)
    vectors = draw.normal(size=(4, 384))
    noisy = vectors * (1 + draw.uniform(-1e-14, 1e-14, size=vectors.shape))
    # The chance that one of 1,536 numbers lies within 1e-15 of the middle between two steps is some 1e-6.
    assert (unit_vectors(noisy) == unit_vectors(vectors)).mean() > 0.999


def test_zero_is_similar_to_nothing() -> None:
    assert cosines(unit_vectors([[0.0, 0.0]]), unit_vectors([[1.0, 0.0], [0.0, 0.0]])).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused(bad: float) -> None:
    with pytest.raises(EvaluatorError, match="finite"):
        unit_vectors([[1.0, bad]])
