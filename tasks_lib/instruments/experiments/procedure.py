"""An experiment as a procedure: it orders frames, is sent them, and ends with a report; who scans is not its matter."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Protocol

from pydantic import Field

from tasks_lib.instruments.analysis import AnalysisError, Validity, frame_validity
from tasks_lib.instruments.experiments.report import FrameUse, Report
from tasks_lib.instruments.frame import Frame
from tasks_lib.instruments.protocol import Instrument, OnLine, RefusedError, Value
from tasks_lib.records import Record
from tasks_lib.records.errors import MatAssayError


class ExperimentError(MatAssayError):
    """An experiment has no answer; the message names the frame, what is wrong with it and what to do."""


class FrameOrder(Record):
    """A frame that an experiment wants.

    Attributes
    ----------
    name : str
        Unique within the experiment; a name that `Instrument.scan` takes.
    purpose : str
        What it is for, in words.
    values : dict
        Parameters of `Instrument.set` that differ from the frame before.
    """

    name: str
    purpose: str
    values: dict[str, Value] = Field(default_factory=dict)


# Yields what is to be scanned, is sent the frame, and returns the report.
Procedure = Generator[FrameOrder, Frame, Report]
Take = Callable[[FrameOrder], Frame]


class Experiment(Protocol):
    """One of the published experiments with its settings.

    The settings of the instrument when it begins are those of the first frame; a plan says only what changes.
    """

    @property
    def name(self) -> str:
        """Name of the experiment."""
        ...

    @property
    def leaves(self) -> frozenset[str]:
        """Parameters that the instrument keeps after a good end; all others are put back."""
        ...

    @property
    def same_place(self) -> bool:
        """Whether its frames are worth something together only where they show one place of the sample."""
        ...

    def plan(self) -> tuple[FrameOrder, ...]:
        """Return the frames that are known before the first one is scanned."""
        ...

    def steps(self) -> Procedure:
        """Begin: the same frames give the same report.

        Raises
        ------
        ExperimentError
            While it runs: a frame that is not valid, or does not hold what was looked for.
        """
        ...


def taken(order: FrameOrder) -> Generator[FrameOrder, Frame, Frame]:
    """Order a frame and refuse one that is not engaged, incomplete, saturated or constant.

    Raises
    ------
    ExperimentError
        With the frame and all that is wrong with it.
    """
    frame = yield order
    check(frame, order.name)
    return frame


def check(frame: Frame, name: str) -> None:
    """Refuse a frame that is not valid.

    Raises
    ------
    ExperimentError
        With the frame and all that is wrong with it.
    """
    try:
        found: Validity = frame_validity(frame)
    except AnalysisError as error:
        raise ExperimentError(f"frame {name} ({frame.source}): {error}") from error
    if not found.valid:
        raise ExperimentError(f"frame {name} ({frame.source}) is not valid: {'; '.join(found.problems)}")


def use(order: FrameOrder, frame: Frame) -> FrameUse:
    """Return the entry of a report for a frame."""
    return FrameUse(
        name=order.name,
        purpose=order.purpose,
        source=frame.source,
        scan=frame.scan,
        gains=frame.gains,
        setpoint=frame.setpoint,
    )


def perform(experiment: Experiment, take: Take) -> Report:
    """Run a procedure with frames from `take`.

    Raises
    ------
    ExperimentError
        As the procedure does.
    """
    steps = experiment.steps()
    try:
        order = next(steps)
        while True:
            order = steps.send(take(order))
    except StopIteration as done:
        report: Report = done.value
        return report
    finally:
        steps.close()


def scan_for(instrument: Instrument, order: FrameOrder, on_line: OnLine | None = None) -> Frame:
    """Set what an order asks for and scan the frame.

    Raises
    ------
    RefusedError
        If the values are out of range or the tip is not engaged.
    InstrumentError
        If the instrument fails.
    """
    if order.values:
        instrument.set(**order.values)
    return instrument.scan(order.name, on_line)


def run(
    experiment: Experiment, instrument: Instrument, on_frame: Callable[[FrameOrder, Frame], None] | None = None
) -> Report:
    """Run an experiment on an instrument whose tip is engaged.

    Parameters
    ----------
    experiment : Experiment
    instrument : Instrument
    on_frame : callable, optional
        Gets every frame, for whoever keeps or draws it.

    Returns
    -------
    Report
        Without a truth: `Report.against` adds it.

    Raises
    ------
    ExperimentError
        If a frame is not valid or does not hold what was looked for.
    RefusedError, InstrumentError
        As `scan_for` does.

    Notes
    -----
    Afterwards the parameters are those of before, except the ones that a good end `leaves` changed.
    """

    def take(order: FrameOrder) -> Frame:
        frame = scan_for(instrument, order)
        if on_frame is not None:
            on_frame(order, frame)
        return frame

    before = instrument.snapshot().values()
    try:
        report = perform(experiment, take)
    except BaseException as error:
        # What went wrong first is what has to be read first.
        try:
            put_back(instrument, before)
        except MatAssayError as second:
            error.add_note(f"and the settings of before were not put back: {second}")
        raise
    try:
        put_back(instrument, before, leave=experiment.leaves)
    except RefusedError as refused:
        # A replay has no way back to what it served. The measurement stands.
        remark = f"the settings of before were not put back: {refused}"
        return report.model_copy(update={"remarks": (*report.remarks, remark)})
    return report


def put_back(instrument: Instrument, before: Mapping[str, Value], leave: frozenset[str] = frozenset()) -> None:
    """Set the parameters that differ from those of before, but for the ones to leave."""
    now = instrument.snapshot().values()
    if changed := {name: value for name, value in before.items() if now[name] != value and name not in leave}:
        instrument.set(**changed)
