"""The documents of a tuning: what was ordered, how the instrument was found, each scan, and what came of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.protocol import State
from tasks_lib.instruments.reach import InstrumentOrder
from tasks_lib.instruments.tuning.box import GainBox
from tasks_lib.instruments.tuning.objective import Objective, Tracking
from tasks_lib.records import Document, Json, Record, Text, UtcTime
from tasks_lib.records.errors import ConfigurationError


class TuningOrder(InstrumentOrder):
    """What a tuning is asked for; it stands in the store before the first scan and never changes.

    Attributes
    ----------
    back_end, worker, may_approach
        As for `InstrumentOrder`; gains do not act on recorded files, so there is no tuning on `replay`.
    probe_lines : int or None
        Lines of a probe frame at a real microscope: a band as wide as the picture that is set, of pixels as high. Of
        all its lines where it is None. The twin's scenes have bands of their own.
    scene : str
        What is under the tip of the twin, and the settings of a probe frame.
    start : Gains
        Gains that the twin has before.
    strategy, objective, box, seed, budget
        As for `Search`.
    fresh_frames : int
        Frames that gains are measured with before the search, and again after it.
    candidates : int
        Gains at most that are measured again, where the first ones fall below what the search saw.
    tolerance : float
        How far below is still no fall, in units of the score.
    threshold : float
        Levelled similarity that counts as tuned; it is reported and decides nothing.
    """

    probe_lines: int | None = Field(default=None, ge=8, le=4096)
    scene: str = "particles"
    start: Gains = Gains(p=50, i=1000, d=0)
    strategy: str = "ramp-gp"
    objective: Objective = Objective.TRACKING
    box: GainBox = GainBox()
    seed: int = Field(default=0, ge=0)
    budget: int = Field(default=12, ge=1, le=10_000)
    fresh_frames: int = Field(default=3, ge=2, le=20)
    candidates: int = Field(default=3, ge=1, le=20)
    tolerance: float = Field(default=0.05, ge=0)
    threshold: float = Field(default=0.8, ge=-1, le=1)

    def check_reach(self) -> None:
        """Refuse recorded files too: see `InstrumentOrder.check_reach`."""
        if self.back_end == "replay":
            msg = (
                "recorded files cannot be tuned: each was made with the gains that it has, and gains that a search"
                " tries would not act on it; tune the twin or a microscope (--instrument twin or nanosurf)"
            )
            raise ConfigurationError(msg)
        super().check_reach()


class TuningStart(Document):
    """How the instrument was found; written before anything on it is changed, so that a kill cannot lose it."""

    instrument: str
    state: State
    at: UtcTime


class Role(StrEnum):
    """What a scan of a tuning is for."""

    BEFORE = "before"
    SEARCH = "search"
    VERIFY = "verify"


class ScanPlan(Record):
    """One scan to be made.

    Attributes
    ----------
    label : str
        Group and scan, as ``gen-03/scan-007``: the name of its task and of its folder in the store.
    number, generation : int or None
        Of a trial of the search, both from 0.
    """

    label: str
    role: Role
    gains: Gains
    number: int | None = None
    generation: int | None = None


class ScanRecord(Document):
    """One scan that was made.

    Attributes
    ----------
    serial : int
        Scans of this tuning that were recorded before it.
    folder : str
        Where its files lie in the store.
    tracking : Tracking
        The parts of the objective.
    score : float or None
        What the search hears; None for a void scan, whose `tracking.problems` say why.
    nid, picture : str or None
        Paths in the store; None where there was no line to keep.
    memory : Json
        What a simulated instrument needs to go on after this scan; None for a real one.
    """

    plan: ScanPlan
    serial: int
    folder: str
    began: UtcTime
    ended: UtcTime
    tracking: Tracking
    score: float | None
    lines_done: int
    nid: str | None
    picture: str | None
    memory: Json = None

    @property
    def void(self) -> bool:
        """Whether the frame could not be judged."""
        return self.score is None


class Measured(Record):
    """What fresh frames say of gains: means over those of `labels` that could be judged."""

    gains: Gains
    labels: tuple[str, ...]
    judged: int
    score: float | None
    ssim_levelled: float | None
    error_share: float | None


class TuningResult(Document):
    """What a tuning came to.

    Attributes
    ----------
    outcome : {"applied", "kept"}
        Whether new gains were applied, or those of before, which no candidate exceeded.
    gains : Gains
        What the instrument has now.
    before : Measured
        The previous gains, before the search.
    after : Measured
        The best candidate, after it.
    candidates : tuple of Measured
        All that were measured again, in the order of their scores in the search.
    best : str
        Label of the scan with the highest score of the search.
    scans, voids : int
        Scans of the search, and those of them that could not be judged.
    reached : bool
        Whether the levelled similarity with `gains` is at least `threshold`.
    """

    tuning_id: str
    instrument: str
    outcome: Literal["applied", "kept"]
    message: Text
    gains: Gains
    before: Measured
    after: Measured
    candidates: tuple[Measured, ...]
    best: str
    scans: int
    voids: int
    threshold: float
    reached: bool
    began: UtcTime
    ended: UtcTime


class TuningAttempt(Document):
    """How one process that worked on a tuning ended; a killed one leaves none."""

    began: UtcTime
    ended: UtcTime
    finished: bool
    message: Text
    gains: Gains | None
    """What the instrument was left with; None where it did not say."""
