"""An experiment at work, step by step: whoever schedules its frames asks for the next order and scans it.

The store decides what is scanned. A session that was killed at any frame goes on with the next one: the frames that
were kept are handed to a new procedure, which orders the same ones and takes them as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from tasks_lib.instruments.experiments.bench import ExperimentBench, open_bench
from tasks_lib.instruments.experiments.folder import ExperimentFolder, ExperimentStart, FrameRecord
from tasks_lib.instruments.experiments.procedure import ExperimentError, FrameOrder, put_back, scan_for
from tasks_lib.instruments.experiments.report import Report
from tasks_lib.instruments.experiments.showing import frames_picture
from tasks_lib.instruments.frame import Frame
from tasks_lib.instruments.nid import read_nid, write_nid
from tasks_lib.instruments.protocol import Instrument, RefusedError, Value, open_instrument
from tasks_lib.records import now
from tasks_lib.records.errors import ConfigurationError

# A real sample drifts by some hundredths of a nanometre to a nanometre a second. After a longer pause the next frame
# shows another place than the last, and no procedure here would see it.
MAX_PAUSE = timedelta(minutes=5)


class ExperimentSession:
    """A procedure between two frames: `next_order`, `scan`, and so on, then `finish`; made by `open_experiment`.

    Parameters
    ----------
    folder : ExperimentFolder
        Gets the frames and the report.
    bench : ExperimentBench
    instrument : Instrument
        With its lease held.

    Attributes
    ----------
    finished : bool
        Whether the report is kept and the settings of before are put back.
    """

    def __init__(self, folder: ExperimentFolder, bench: ExperimentBench, instrument: Instrument) -> None:
        self.folder = folder
        self.finished = False
        self._order = folder.order()
        self._bench = bench
        self._instrument = instrument
        self._kept = folder.frames()
        self._known = {one.order.name: one for one in self._kept}
        self._process = self._kept[-1].process + 1 if self._kept else 1
        self._steps = bench.experiment.steps()
        self._frames: list[tuple[str, Frame]] = []
        self._begun = False
        self._report: Report | None = None
        self._start: ExperimentStart | None = folder.start()
        self._approached = False

    # ------------------------------------------------------------------ the instrument

    def prepare(self) -> None:
        """Keep how the instrument was found, engage the tip where it is not, and set what the last kept frame had.

        Raises
        ------
        ConfigurationError
            If a real tip is not engaged and the order does not allow to approach, the experiment was begun on another
            instrument, or its next frame would not show the place of those that were kept.
        MatAssayError
            What the instrument has to say.
        """
        state = self._instrument.snapshot()
        if self._start is None:
            self._start = ExperimentStart(instrument=self._instrument.name, state=state, at=now())
        if self._start.instrument != self._instrument.name:
            msg = (
                f"experiment {self.folder.experiment_id} was begun on {self._start.instrument}, not on"
                f" {self._instrument.name}: go on there, or begin another"
            )
            raise ConfigurationError(msg)
        if self._kept:
            self._check_place(engaged=state.engaged)
        self._order.check_tip(state, self._instrument.name)
        self.folder.write_start(self._start)
        if not state.engaged:
            self._approached = True
            self._instrument.approach()
        if self._kept:
            self._resume()

    def _check_place(self, *, engaged: bool) -> None:
        """Refuse to go on where the next frame would show another place; the twin's clock stood still meanwhile."""
        if self._order.back_end != "nanosurf" or not self._bench.experiment.same_place:
            return
        last, pause = self._kept[-1], now() - self._kept[-1].at
        if engaged and pause <= MAX_PAUSE:
            return
        why = "the tip was lifted" if not engaged else f"{pause.total_seconds():.0f} s passed"
        msg = (
            f"experiment {self.folder.experiment_id} cannot go on: {why} since frame {last.order.name}, so the next"
            f" frame would show another place than the {len(self._kept)} that are kept; begin a new experiment"
        )
        raise ConfigurationError(msg)

    def _resume(self) -> None:
        """Set what the last kept frame was scanned with: an order says only what differs from the frame before."""
        wanted: dict[str, Value] = {}
        for one in self._kept:
            wanted |= one.order.values
        # Recorded files serve what an order asks for and know no settings besides.
        before = {} if self._order.back_end == "replay" else self._before()
        has = self._instrument.snapshot().values()
        if changed := {name: value for name, value in (before | wanted).items() if has[name] != value}:
            self._instrument.set(**changed)

    def _before(self) -> dict[str, Value]:
        return self._start.state.values() if self._start is not None else {}

    def leave(self) -> None:
        """Put the settings of before back, unless the report is there, and lift a tip that was lifted before."""
        try:
            if not self.finished and self._order.back_end != "replay" and self._start is not None:
                put_back(self._instrument, self._before())
        finally:
            if self._approached:
                self._instrument.withdraw()

    # ------------------------------------------------------------------ frames

    def next_order(self) -> FrameOrder | None:
        """Hand the last frame to the procedure and return its next order; None where it has come to its report.

        Frames that are kept are handed on without a scan. Where the procedure refused the last frame of an earlier
        process, whoever goes on has mended something, and it is ordered again.

        Raises
        ------
        ExperimentError
            If the frame is not valid, or does not hold what was looked for.
        ConfigurationError
            If a kept frame is not the one that this procedure orders.
        """
        while True:
            try:
                order = self._advance()
            except ExperimentError:
                if not self._drop_last():
                    raise
                continue
            if order is None or (known := self._known.get(order.name)) is None:
                return order
            if known.order != order:
                msg = (
                    f"frame {order.name} of experiment {self.folder.experiment_id} was ordered with"
                    f" {known.order.values}, and this version orders {order.values}: begin a new experiment"
                )
                raise ConfigurationError(msg)
            self._frames.append((order.name, self.folder.read_frame(known)))

    def _advance(self) -> FrameOrder | None:
        try:
            if not self._begun:
                self._begun = True
                return next(self._steps)
            return self._steps.send(self._frames[-1][1])
        except StopIteration as done:
            self._report = done.value
            return None

    def _drop_last(self) -> bool:
        """Begin the procedure again without the last kept frame, if an earlier process scanned it."""
        if not self._frames or (last := self._known.get(self._frames[-1][0])) is None or last.process == self._process:
            return False
        del self._known[last.order.name]
        self._steps.close()
        self._steps, self._frames, self._begun = self._bench.experiment.steps(), [], False
        return True

    def scan(self, order: FrameOrder, goes_on: Callable[[], bool] = lambda: True) -> str:
        """Scan a frame and keep it; return where it lies in the store.

        The procedure gets the frame as it was kept, so that one that is read back later is the same.

        Parameters
        ----------
        order : FrameOrder
        goes_on : callable
            Asked at every line; False ends the scan there, and nothing is kept.
        """
        frame = scan_for(self._instrument, order, lambda _: goes_on())
        path = self.folder.new_frame(order.name)
        if not goes_on():
            return path
        content = write_nid(frame)
        record = FrameRecord(
            order=order, serial=len(self._kept), process=self._process, at=now(), path=path,
            memory=self._bench.memory(),
        )  # fmt: skip
        self.folder.keep_frame(record, content)
        self._kept.append(record)
        self._known[order.name] = record
        self._frames.append((order.name, read_nid(content, name=path).frame()))
        return path

    # ------------------------------------------------------------------ the end

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
        report = self._report.against(self._bench.truth(self._report))
        remarks = [*report.remarks, *self._history()]
        try:
            put_back(self._instrument, self._before(), leave=self._bench.experiment.leaves)
        except RefusedError as refused:
            # A replay has no way back to what it served. The measurement stands.
            remarks.append(f"the settings of before were not put back: {refused}")
        report = report.model_copy(update={"remarks": tuple(remarks)})
        picture = frames_picture(self._frames, f"{self.folder.experiment_id}: {report.experiment}")
        self.folder.keep_report(report, picture)
        self.finished = True
        return report

    def _history(self) -> Iterator[str]:
        """Say which frames were scanned twice and where a real instrument stood still between two of them."""
        for one in self._kept:
            if (known := self._known[one.order.name]) is not one:
                again = known.path.rsplit("/", 1)[-1]
                yield f"frame {one.order.name} was refused and scanned again; {again} counts"
        if self._order.back_end != "nanosurf":
            return
        for last, first in zip(self._kept, self._kept[1:], strict=False):
            if last.process != first.process:
                pause = (first.at - last.at).total_seconds()
                yield (
                    f"cut after frame {last.order.name}; {first.order.name} was kept {pause:.0f} s later: what drifted"
                    " meanwhile is not in the uncertainties"
                )


@contextmanager
def open_experiment(folder: ExperimentFolder) -> Iterator[ExperimentSession]:
    """Lease the instrument of an experiment and engage it; at the end it is left as it was found.

    Raises
    ------
    ConfigurationError
        If the store has no such experiment, or it cannot go on; see `ExperimentSession.prepare`.
    LeaseHeldError
        If another process is at it.
    """
    order, kept = folder.order(), folder.frames()
    bench = open_bench(order, folder.experiment_id, kept[-1].memory if kept else None)
    try:
        client = folder.experiment_id
        with open_instrument(bench.back_end, folder.store, client=client, policy=order.policy) as instrument:
            session = ExperimentSession(folder, bench, instrument)
            try:
                session.prepare()
                yield session
            finally:
                session.leave()
    finally:
        bench.close()
