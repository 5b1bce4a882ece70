from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.instruments.frame import Z_AXIS
from tasks_lib.instruments.nid import Trouble, read_nid, sanity_report, write_nid
from tasks_lib.instruments.nid._sanity import noisy_stretches

LINES, POINTS = 24, 80


def smooth(bits: int = 32) -> np.ndarray:
    y, x = np.mgrid[0:LINES, 0:POINTS]
    level = 0.1 * np.sin(x / 9) + 0.002 * y + 1e-4 * np.random.default_rng(5).standard_normal((LINES, POINTS))
    return (level * 2**bits).astype(f"<i{bits // 8}")


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    start=st.integers(0, LINES * POINTS - 200),
    length=st.integers(100, LINES * POINTS),
    bits=st.sampled_from([16, 32]),
)
def test_random_bytes_over_a_scanned_channel_are_found_to_the_sample(seed, start, length, bits):
    codes = smooth(bits).ravel()
    end = min(start + length, codes.size)
    codes[start:end] = np.frombuffer(np.random.default_rng(seed).bytes((end - start) * bits // 8), codes.dtype)
    ((first, last),) = noisy_stretches(codes.reshape(LINES, POINTS))
    # A random sample may by chance be no jump from its smooth neighbour; a jump from the very first sample to the
    # second may be either's fault.
    assert start - (start == 1) <= first <= start + 8
    assert end - 9 <= last <= end - (end < codes.size - 1)


@pytest.mark.parametrize("bits", [16, 32])
def test_scanned_lines_with_steps_spikes_ringing_and_wrapped_phase_are_no_noise(bits):
    full = 2**bits
    steps = smooth(bits) // 4 + (np.arange(POINTS) // 20 % 2 * 0.45 * full).astype(np.int64)
    spikes = smooth(bits).astype(np.int64)
    spikes[:, ::37] = 0.45 * full
    ringing = (0.28 * full * np.sign(np.sin(np.arange(LINES * POINTS) * 1.1))).reshape(LINES, POINTS)
    parachuting = np.tile(np.r_[np.full(40, -full // 2), np.full(40, full // 2 - 1)], (LINES, 1))
    for codes in (steps, spikes, ringing, parachuting, np.zeros((LINES, POINTS)), smooth(bits)):
        assert noisy_stretches(codes.astype(f"<i{bits // 8}")) == []


def test_too_few_samples_are_not_judged():
    assert noisy_stretches(np.random.default_rng(0).integers(-(2**31), 2**31, (3, 5)).astype("<i4")) == []


def test_a_converter_at_its_limit_and_a_constant_row_are_reported(make_frame):
    frame = make_frame()
    z = frame.data(Z_AXIS)
    low, high = -1e-6, 1e-6
    z[1, :5] = low
    z[4] = 3e-8
    report = sanity_report(read_nid(write_nid(frame, ranges={Z_AXIS: (low, high)})))
    assert [(one.trouble, one.rows) for one in report.findings] == [(Trouble.CONSTANT, (4,)), (Trouble.SATURATED, (1,))]
    assert not report.clean
    assert report.rows("saturated", Z_AXIS, "forward") == (1,)
    assert report.rows("saturated", Z_AXIS, "backward") == ()


def test_the_bytes_of_a_finding_hold_its_rows(make_frame):
    frame = make_frame()
    frame.data(Z_AXIS)[2:4] = 0.0
    content = write_nid(frame)
    (finding,) = sanity_report(read_nid(content)).findings
    assert content[finding.first_byte : finding.last_byte + 1] == bytes(2 * 8 * 4)
    assert str(finding).startswith("Z-Axis forward: constant in rows 2–3 (bytes ")


def test_a_clean_frame_has_a_clean_report_with_its_digest(make_frame):
    content = write_nid(make_frame())
    report = sanity_report(read_nid(content, name="a.nid"))
    assert report.clean
    assert (report.source, report.lines, report.lines_done) == ("a.nid", 6, 6)
    assert len(report.sha256) == 64
    assert report.sha256 != sanity_report(read_nid(content.replace(b"I-Gain=6623", b"I-Gain=6624"))).sha256
    assert not sanity_report(read_nid(write_nid(make_frame(lines_done=3)))).clean
