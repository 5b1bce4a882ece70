"""An experiment at work, step by step: whoever schedules its frames asks for the next order and scans it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tasks_lib.instruments.experiments.folder import ExperimentFolder
from tasks_lib.instruments.experiments.procedure import FrameOrder, put_back, scan_for
from tasks_lib.instruments.experiments.report import Report
from tasks_lib.instruments.experiments.scenes import ExperimentScene
from tasks_lib.instruments.experiments.showing import frames_picture
from tasks_lib.instruments.frame import Frame
from tasks_lib.instruments.protocol import Instrument, open_instrument


class ExperimentSession:
    """A procedure between two frames: `next_order`, `scan`, and so on, then `finish`.

    Parameters
    ----------
    folder : ExperimentFolder
        Gets the frames and the report.
    scene : ExperimentScene
    instrument : Instrument
        Engaged.
    """

    def __init__(self, folder: ExperimentFolder, scene: ExperimentScene, instrument: Instrument) -> None:
        self.folder = folder
        self._scene = scene
        self._instrument = instrument
        self._steps = scene.experiment.steps()
        self._frames: list[tuple[str, Frame]] = []
        self._begun = False
        self._report: Report | None = None

    def next_order(self) -> FrameOrder | None:
        """Hand the last frame to the procedure and return its next order; None where it has come to its report.

        Raises
        ------
        ExperimentError
            If the frame is not valid, or does not hold what was looked for.
        """
        try:
            if not self._begun:
                self._begun = True
                return next(self._steps)
            return self._steps.send(self._frames[-1][1])
        except StopIteration as done:
            self._report = done.value
            return None

    def scan(self, order: FrameOrder, goes_on: Callable[[], bool] = lambda: True) -> str:
        """Scan a frame and keep it; return where it lies in the store.

        Parameters
        ----------
        order : FrameOrder
        goes_on : callable
            Asked at every line; False ends the scan there.
        """
        frame = scan_for(self._instrument, order, lambda _: goes_on())
        self._frames.append((order.name, frame))
        return self.folder.keep_frame(order.name, frame)

    def finish(self) -> Report:
        """Put the settings of before back, judge the report by the truth of the twin, and keep it with a picture.

        Raises
        ------
        RuntimeError
            If the procedure has not come to its report.
        """
        if self._report is None:
            msg = "the experiment is not over: take its next order"
            raise RuntimeError(msg)
        report = self._report.against(self._scene.truth(self._report))
        picture = frames_picture(self._frames, f"{self.folder.experiment_id}: {report.experiment}")
        self.folder.keep_report(report, picture)
        return report

    @property
    def leaves(self) -> frozenset[str]:
        """What the instrument keeps: nothing before the report is there."""
        return self._scene.experiment.leaves if self._report is not None else frozenset()


@contextmanager
def open_experiment(folder: ExperimentFolder) -> Iterator[ExperimentSession]:
    """Lease the twin of an experiment and engage it; at the end its settings are put back and its tip is lifted.

    Raises
    ------
    ConfigurationError
        If the store has no such experiment.
    LeaseHeldError
        If another process is at it.
    """
    scene = folder.scene()
    with open_instrument(scene.back_end, folder.store, client=folder.experiment_id) as instrument:
        before = instrument.snapshot().values()
        session = ExperimentSession(folder, scene, instrument)
        instrument.approach()
        try:
            yield session
        finally:
            try:
                put_back(instrument, before, leave=session.leaves)
            finally:
                instrument.withdraw()
