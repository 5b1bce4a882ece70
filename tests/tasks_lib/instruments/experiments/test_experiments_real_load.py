"""Friction against load on real frames, served as an instrument."""

from __future__ import annotations

import pytest

from tasks_lib.instruments.experiments import FrictionAgainstLoad, run
from tasks_lib.instruments.protocol import Instrument
from tasks_lib.instruments.replay import ReplayBackEnd

# Terrace friction / mV, mean friction / V, Sq after a plane and after lines / nm of the reference, by setpoint.
REFERENCE = {
    0.2: (0.178, 3.0594588963595e-4, 1.58085042, 0.178789807),
    0.4: (0.225, 3.8430301742665e-4, 1.18944421, 0.179153127),
    0.6: (0.301, 4.9296794998099e-4, 1.74996422, 0.181267116),
}


def test_the_published_sweep_is_reproduced(real_load_files):
    back_end = ReplayBackEnd(real_load_files, order="settings")
    setpoints = tuple(sorted(one.state.setpoint for one in back_end.remaining))
    instrument = Instrument(back_end, client="test")
    instrument.approach()
    report = run(FrictionAgainstLoad(setpoints, free_deflection_v=-0.394), instrument)
    assert "the settings of before were not put back" in report.remarks[-1]
    (series,) = report.series
    assert [row[0] for row in series.rows] == pytest.approx(setpoints)
    for row in series.rows:
        terrace_mv, mean_v, plane_nm, lines_nm = REFERENCE[round(row[0], 3)]
        assert row[1] * 1e3 == pytest.approx(terrace_mv, rel=0.01)
        assert row[3] == pytest.approx(mean_v, rel=1e-9)
        assert row[7] * 1e9 == pytest.approx(plane_nm, rel=1e-8)
        assert row[8] * 1e9 == pytest.approx(lines_nm, rel=1e-8)
    slope = report.quantity("slope")
    # Through 0.178 and 0.301 mV at 0.2 and 0.6 V.
    assert slope.value == pytest.approx(0.3075e-3, rel=0.02)
    assert slope.value > 4 * slope.uncertainty
    assert report.quantity("friction at setpoint 0").value == pytest.approx(0.117e-3, rel=0.03)
    # Counted from the free lever, nothing is left that adhesion would have to explain.
    adhesion = report.quantity("adhesion intercept")
    assert abs(adhesion.value) < adhesion.expanded
    assert "N" not in {one.unit for one in report.quantities}
