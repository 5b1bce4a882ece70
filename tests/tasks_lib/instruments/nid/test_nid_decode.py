from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tasks_lib.instruments.nid._channels import decode

ANY = st.floats(-1e300, 1e300)


@settings(deadline=None)
@given(
    codes=st.sampled_from(["<i2", "<i4"]).flatmap(lambda kind: npst.arrays(np.dtype(kind), (2, 3))),
    start=st.one_of(ANY, st.floats(-1e-5, 1e-5)),
    extent=st.one_of(
        ANY, st.floats(-1e-5, 1e-5), st.floats(-1e-290, 1e-290), st.sampled_from([0.0, 5e-324, 2.0**-1022])
    ),
)
def test_samples_are_the_plain_formula_to_the_last_bit_whatever_the_scale(codes, start, extent):
    levels = 2.0 ** (8 * codes.itemsize)
    plain = (codes.astype(np.float64) + levels / 2) / levels * extent + start
    assert decode(codes, start, extent).tobytes() == plain.tobytes()


def test_the_lowest_code_is_the_start_and_the_highest_is_one_code_below_the_end():
    codes = np.array([[-(2**31), 0, 2**31 - 1]], dtype="<i4")
    assert decode(codes, -5.0, 10.0).tolist() == [[-5.0, 0.0, 5.0 - 10 / 2**32]]
