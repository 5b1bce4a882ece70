"""Which microscope an order is for: what is missing or too many is named, and a real tip is not moved unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks_lib.instruments.experiments.bench import ExperimentOrder
from tasks_lib.instruments.frame import Gains, ScanSettings
from tasks_lib.instruments.protocol import ApproachStatus, CriticalAction, State
from tasks_lib.instruments.reach import TOKEN_VARIABLE, InstrumentOrder, nanosurf_back_end, replay_back_end
from tasks_lib.instruments.tuning.session_records import TuningOrder
from tasks_lib.records.errors import ConfigurationError

URL = "http://127.0.0.1:8765"
STATE = State(
    scan=ScanSettings(width_m=1e-6, height_m=1e-6, points=16, lines=16, time_per_line_s=0.1), gains=Gains(p=1, i=2),
    setpoint=0.2, mode="Static Force", lever="ContAl-G", approach=ApproachStatus.WITHDRAWN,
)  # fmt: skip


@pytest.mark.parametrize(
    ("order", "why"),
    [
        (InstrumentOrder(back_end="nanosurf"), "needs the address of the worker"),
        (InstrumentOrder(back_end="replay"), "needs a folder of .nid files"),
        (InstrumentOrder(worker=URL), "--worker is for the instrument nanosurf, and this order is for twin"),
        (InstrumentOrder(back_end="nanosurf", worker=URL, folder="x"), "--folder is for the instrument replay"),
        (TuningOrder(back_end="replay", folder="x"), "gains that a search tries would not act on it"),
        (ExperimentOrder(experiment="moon"), "no experiment 'moon'; take one of pid-calibration"),
        (
            ExperimentOrder(experiment="pid-calibration", back_end="replay", folder="x"),
            "the gains that a search tries would not act on them; only friction-load can",
        ),
        (ExperimentOrder(experiment="indenter", back_end="replay", folder="x"), "follows from the first one"),
        (ExperimentOrder(experiment="friction-load", setpoints_v=(0.1, 0.2)), "on recorded files or a microscope"),
        (
            ExperimentOrder(experiment="friction-load", back_end="replay", folder="x", setpoints_v=(0.1, 0.1)),
            "needs two setpoints at least",
        ),
    ],
)
def test_an_order_that_cannot_be_done_is_refused_with_the_reason(order: InstrumentOrder, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        order.check_reach()


def test_a_real_tip_is_brought_to_the_sample_only_where_the_order_allows_it() -> None:
    order = InstrumentOrder(back_end="nanosurf", worker=URL)
    assert order.policy.needs_approval == {CriticalAction.APPROACH}
    with pytest.raises(ConfigurationError, match=r"the tip of cx is withdrawn: engage it .* --approach"):
        order.check_tip(STATE, "cx")
    order.check_tip(STATE.model_copy(update={"approach": ApproachStatus.ENGAGED}), "cx")
    order.model_copy(update={"may_approach": True}).check_tip(STATE, "cx")
    InstrumentOrder().check_tip(STATE, "twin")


def test_the_secret_comes_from_the_environment_and_is_in_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    order = InstrumentOrder(back_end="nanosurf", worker=URL)
    with pytest.raises(ConfigurationError, match=f"set {TOKEN_VARIABLE} to the secret"):
        nanosurf_back_end(order)
    assert not any("token" in name for name in InstrumentOrder.model_fields)


def test_a_folder_without_recordings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no \.nid file to replay"):
        replay_back_end(InstrumentOrder(back_end="replay", folder=str(tmp_path)))
