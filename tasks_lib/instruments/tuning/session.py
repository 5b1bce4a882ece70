"""A tuning at an instrument: what is to be scanned next, each scan kept, the best gains applied or the old restored.

The store decides what is done. A session that was killed at any scan goes on with the next one: the recorded scores
are told to a new search, and the gains of before are those that the first session found.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from tasks_lib.instruments.frame import Frame, Gains
from tasks_lib.instruments.nid import NidError, write_nid
from tasks_lib.instruments.protocol import (
    Event,
    Instrument,
    InstrumentError,
    RefusedError,
    SafetyPolicy,
    Value,
    open_instrument,
)
from tasks_lib.instruments.tuning.bench import Bench
from tasks_lib.instruments.tuning.folder import TuningFolder, settled
from tasks_lib.instruments.tuning.objective import Tracking, tracking
from tasks_lib.instruments.tuning.progress import tell
from tasks_lib.instruments.tuning.search import Search, Trial
from tasks_lib.instruments.tuning.session_records import (
    Measured,
    Role,
    ScanPlan,
    ScanRecord,
    TuningAttempt,
    TuningOrder,
    TuningResult,
    TuningStart,
)
from tasks_lib.records import now
from tasks_lib.records.errors import ConfigurationError, MatAssayError, StoreError

_log = logging.getLogger(__name__)

# Void scans one after the other that end a search: then it is the tip or the sample, not the gains.
VOID_LIMIT = 3


class TuningFailedError(MatAssayError):
    """A tuning ended without gains that hold; the instrument has its previous ones, or the message says that not."""


@dataclass(frozen=True)
class Group:
    """Scans that belong together: the frames of before, a generation, the frames that verify a candidate."""

    name: str
    plans: tuple[ScanPlan, ...]


class TuningSession:
    """One process at work on a tuning; made by `open_session`.

    Parameters
    ----------
    folder : TuningFolder
    order : TuningOrder
    instrument : Instrument
        With its lease held.
    bench : Bench

    Attributes
    ----------
    finished : bool
        Whether the instrument has the gains of the result.
    touched : bool
        Whether this process, or a killed one before it, may have changed the instrument.
    """

    def __init__(self, folder: TuningFolder, order: TuningOrder, instrument: Instrument, bench: Bench) -> None:
        from tasks_lib.instruments.tuning.strategies import STRATEGIES

        if order.strategy not in STRATEGIES:
            msg = f"there is no strategy {order.strategy!r}; take one of {', '.join(STRATEGIES)}"
            raise ConfigurationError(msg)
        self.folder = folder
        self.order = order
        self.finished = False
        self.touched = False
        self._instrument = instrument
        self._bench = bench
        everything = folder.scans()
        self._serial = len(everything)
        self._records = settled(everything, VOID_LIMIT)
        self._search = Search(STRATEGIES[order.strategy], order.box, seed=order.seed, budget=order.budget)
        self._replayed = False
        self._start: TuningStart | None = folder.start()

    # ------------------------------------------------------------------ the instrument

    @property
    def start(self) -> TuningStart:
        """How the instrument was found by the first session."""
        if self._start is None:
            msg = f"tuning {self.folder.tuning_id} has not looked at its instrument yet: call prepare first"
            raise TuningFailedError(msg)
        return self._start

    def prepare(self) -> None:
        """Keep how the instrument was found, engage the tip where it is not, and set what probe frames need.

        Raises
        ------
        ConfigurationError
            If the tuning was begun on another instrument, the box is beyond the instrument's limits, or a real tip is
            not engaged and the order does not allow to approach.
        MatAssayError
            What the instrument has to say.
        """
        self._check_box()
        state = self._instrument.snapshot()
        self.order.check_tip(state, self._instrument.name)
        if self._start is None:
            self._start = TuningStart(instrument=self._instrument.name, state=state, at=now())
            self.folder.write_start(self._start)
        if self._start.instrument != self._instrument.name:
            msg = (
                f"tuning {self.folder.tuning_id} was begun on {self._start.instrument}, not on"
                f" {self._instrument.name}: go on there, or begin another"
            )
            raise ConfigurationError(msg)
        self.touched = True
        self._set(self._bench.probe)
        if not state.engaged:
            self._instrument.approach()

    def restore(self) -> None:
        """Give the instrument what it had before the tuning: gains, scan settings, setpoint, and the tip's place."""
        self._leave_with(self.start.state.gains)

    def _leave_with(self, gains: Gains) -> None:
        before = self.start.state
        self._set(before.values() | gains.model_dump())
        if not before.engaged and self._instrument.snapshot().engaged:
            self._instrument.withdraw()

    def _set(self, wanted: Mapping[str, Value]) -> None:
        """Set what differs: an instrument may have parameters that cannot be set."""
        has = self._instrument.snapshot().values()
        if values := {name: value for name, value in wanted.items() if has[name] != value}:
            self._instrument.set(**values)

    def _check_box(self) -> None:
        spans = self._instrument.limits.spans
        for name in ("p", "i", "d"):
            low, high = getattr(self.order.box, name)
            span = spans.get(name)
            # What cannot be set reads as 0, and a box that leaves it there asks for nothing.
            outside = (low, high) != (0, 0) if span is None else low < span.low or high > span.high
            if outside:
                rule = (
                    f"cannot be set: search without it, --{name} 0,0"
                    if span is None
                    else f"lies between {span.low:g} and {span.high:g}"
                )
                msg = f"the box has {name} from {low} to {high}, and on {self._instrument.name} {name} {rule}"
                raise ConfigurationError(msg)

    # ------------------------------------------------------------------ what is to be done

    def next_group(self) -> Group | None:
        """Return the scans that are to be made next; None where `finish` can decide.

        Raises
        ------
        ConfigurationError
            If recorded scans are not those that this search makes.
        TuningFailedError
            If too many scans in a row were void, or no frame of the search could be judged.
        """
        if plans := self._missing(self._fresh("before", Role.BEFORE, self.start.state.gains)):
            return Group("before", plans)
        self._hear()
        if plans := self._missing(self._generation()):
            return Group(plans[0].label.split("/")[0], plans)
        for rank, gains in enumerate(self._candidates(), start=1):
            fresh = self._fresh(f"verify-{rank}", Role.VERIFY, gains)
            if plans := self._missing(fresh):
                return Group(f"verify-{rank}", plans)
            if self._holds(gains, fresh):
                break
        return None

    def _missing(self, plans: tuple[ScanPlan, ...]) -> tuple[ScanPlan, ...]:
        return tuple(plan for plan in plans if plan.label not in self._records)

    def _fresh(self, group: str, role: Role, gains: Gains) -> tuple[ScanPlan, ...]:
        count = self.order.fresh_frames
        return tuple(
            ScanPlan(label=f"{group}/frame-{number}", role=role, gains=gains) for number in range(1, count + 1)
        )

    def _generation(self) -> tuple[ScanPlan, ...]:
        """Return the scans of the present generation; numbers in labels count from 1."""
        trials = self._search.trials
        at = trials[-1].generation + 1 if trials else 0
        return tuple(
            ScanPlan(
                label=f"gen-{at + 1:02d}/scan-{number + 1:03d}",
                role=Role.SEARCH,
                gains=gains,
                number=number,
                generation=at,
            )
            for number, gains in enumerate(self._search.generation, start=len(trials))
        )

    def _hear(self) -> None:
        """Tell the search every generation that is whole."""
        if not self._replayed:
            self._search.replay(self._trials())
            self._replayed = True
        while self._search.generation and not self._missing(plans := self._generation()):
            self._search.tell([self._records[plan.label].score for plan in plans])

    def _trials(self) -> list[Trial]:
        return [
            Trial(number=one.plan.number, generation=one.plan.generation or 0, gains=one.plan.gains, score=one.score)
            for one in self.trials
            if one.plan.number is not None
        ]

    @property
    def trials(self) -> list[ScanRecord]:
        """The recorded scans of the search, by number."""
        found = [one for one in self._records.values() if one.plan.role is Role.SEARCH]
        return sorted(found, key=lambda one: one.plan.number or 0)

    @property
    def best(self) -> ScanRecord | None:
        """The scan with the highest score of the search so far, the earliest of equals."""
        judged = [one for one in self.trials if one.score is not None]
        return max(judged, key=lambda one: (one.score, -(one.plan.number or 0)), default=None)

    def _candidates(self) -> list[Gains]:
        """Return the gains with the highest scores, best first, each once.

        Raises
        ------
        TuningFailedError
            If no frame of the search could be judged.
        """
        judged = sorted(
            (one for one in self.trials if one.score is not None), key=lambda one: (-(one.score or 0.0), one.serial)
        )
        if not judged:
            msg = f"none of {len(self.trials)} frames of the search could be judged: {self._last_problem()}"
            raise TuningFailedError(msg)
        return list(dict.fromkeys(one.plan.gains for one in judged))[: self.order.candidates]

    def _last_problem(self) -> str:
        problems = [problem for one in self.trials for problem in one.tracking.problems]
        return problems[-1] if problems else "they say no reason"

    # ------------------------------------------------------------------ scans

    def scan(self, plan: ScanPlan, go_on: Callable[[], bool] = lambda: True) -> ScanRecord | None:
        """Set the gains of a plan, scan, judge, keep all of it; a frame that cannot be judged is a void scan.

        Parameters
        ----------
        plan : ScanPlan
        go_on : callable
            Asked at every line; where it says False the scan is stopped and nothing is kept.

        Returns
        -------
        ScanRecord or None
            None where the scan was stopped by `go_on`.

        Raises
        ------
        TuningFailedError
            If this was one void scan too many in a row.
        MatAssayError
            If the gains cannot be set, the instrument is lost or the store fails.
        """
        tell("scan-started", self.folder.tuning_id, plan)
        began = now()
        self._set(plan.gains.model_dump())
        frame: Frame | None = None
        try:
            frame = self._instrument.scan(plan.label.replace("/", "-"), lambda _: go_on())
            found = tracking(frame)
        except (RefusedError, InstrumentError) as error:
            found = Tracking(problems=(str(error),))
        if not go_on():
            return None
        record = self._keep(plan, frame, found, began)
        self._records[plan.label] = record
        self._serial += 1
        tell("scan-ended", self.folder.tuning_id, plan, record)
        self._check_voids()
        return record

    def _keep(self, plan: ScanPlan, frame: Frame | None, found: Tracking, began: datetime) -> ScanRecord:
        from tasks_lib.instruments.tuning.pictures import scan_picture

        path = self.folder.new_scan(plan)
        nid = picture = None
        if frame is not None and frame.lines_done:
            try:
                self.folder.store.write_bytes(f"{path}/frame.nid", write_nid(frame))
                nid = f"{path}/frame.nid"
            except NidError as error:
                found = Tracking(problems=(*found.problems, str(error)))
            self.folder.store.write_bytes(f"{path}/frame.png", scan_picture(frame, found, plan.label))
            picture = f"{path}/frame.png"
        record = ScanRecord(
            plan=plan,
            serial=self._serial,
            folder=path,
            began=began,
            ended=now(),
            tracking=found,
            score=found.score(self.order.objective),
            lines_done=frame.lines_done if frame is not None else 0,
            nid=nid,
            picture=picture,
            memory=self._bench.memory(),
        )
        self.folder.write_scan(record)
        return record

    def _check_voids(self) -> None:
        last = self.trials[-VOID_LIMIT:]
        if len(last) == VOID_LIMIT and all(one.void for one in last):
            msg = (
                f"{VOID_LIMIT} scans in a row could not be judged, the last, {last[-1].plan.label}, because:"
                f" {'; '.join(last[-1].tracking.problems) or 'no reason'}. Look at tip and sample, then go on with the"
                " same tuning: these scans are made again"
            )
            raise TuningFailedError(msg)

    def group(self, name: str) -> list[ScanRecord]:
        """Return the recorded scans of a group, by label."""
        found = [one for label, one in self._records.items() if label.split("/")[0] == name]
        return sorted(found, key=lambda one: one.plan.label)

    def record(self, label: str) -> ScanRecord | None:
        """Return the scan of that label, or None before it was made."""
        return self._records.get(label)

    def recent(self, most: int | None = None) -> list[ScanRecord]:
        """Return the recorded scans in the order in which they were made, the last `most` of them."""
        found = sorted(self._records.values(), key=lambda one: one.serial)
        return found if most is None else found[-most:]

    # ------------------------------------------------------------------ the end

    def measured(self, gains: Gains, plans: tuple[ScanPlan, ...]) -> Measured:
        """Return the means over the frames of `plans` that could be judged."""
        records = [self._records[plan.label] for plan in plans]
        judged = [one for one in records if not one.void]
        # One frame says nothing of what the next will: gains count as measured from two frames on.
        enough = len(judged) >= 2
        return Measured(
            gains=gains,
            labels=tuple(plan.label for plan in plans),
            judged=len(judged),
            score=_mean([one.score for one in judged]) if enough else None,
            ssim_levelled=_mean([one.tracking.ssim_levelled for one in judged]) if enough else None,
            error_share=_mean([one.tracking.error_share for one in judged]) if enough else None,
        )

    def _holds(self, gains: Gains, plans: tuple[ScanPlan, ...]) -> bool:
        """Whether fresh frames confirm what the search saw."""
        seen = max(one.score for one in self.trials if one.plan.gains == gains and one.score is not None)
        fresh = self.measured(gains, plans).score
        return fresh is not None and fresh >= seen - self.order.tolerance

    def finish(self) -> TuningResult:
        """Apply the best candidate, or the gains of before where none exceeds them, and write the result.

        Raises
        ------
        TuningFailedError
            If fresh frames of no candidate could be judged.
        """
        before = self.measured(
            self.start.state.gains, self._fresh("before", Role.BEFORE, self.start.state.gains)
        )  # fmt: skip
        found = []
        for rank, gains in enumerate(self._candidates(), start=1):
            plans = self._fresh(f"verify-{rank}", Role.VERIFY, gains)
            if not self._missing(plans):
                found.append(self.measured(gains, plans))
        judged = [one for one in found if one.score is not None]
        if not judged:
            msg = (
                f"the fresh frames of {len(found)} candidates could not be judged; the previous gains are restored."
                " Look at tip and sample, then go on with the same tuning"
            )
            raise TuningFailedError(msg)
        after = max(judged, key=lambda one: one.score or 0.0)
        better = before.score is None or (after.score is not None and after.score > before.score)
        gains = after.gains if better else before.gains
        self._leave_with(gains)
        result = self._result(before, after, tuple(found), better=better)
        self.folder.store.write_document(self.folder.result, result)
        self.finished = True
        return result

    def _result(
        self, before: Measured, after: Measured, candidates: tuple[Measured, ...], *, better: bool
    ) -> TuningResult:
        trials, best, now_has = self.trials, self.best, after if better else before
        similar = now_has.ssim_levelled
        was = "void" if before.score is None else f"{before.score:.3f}"
        if better:
            message = f"{_words(after.gains)} applied: score {after.score:.3f} on fresh frames, {was} before"
        else:
            message = f"{_words(before.gains)} kept: score {was}, and {after.score:.3f} with {_words(after.gains)}"
        return TuningResult(
            tuning_id=self.folder.tuning_id,
            instrument=self.start.instrument,
            outcome="applied" if better else "kept",
            message=message,
            gains=now_has.gains,
            before=before,
            after=after,
            candidates=candidates,
            best=best.plan.label if best is not None else "",
            scans=len(trials),
            voids=sum(one.void for one in trials),
            threshold=self.order.threshold,
            reached=similar is not None and similar >= self.order.threshold,
            began=self.start.at,
            ended=now(),
        )


@contextmanager
def open_session(folder: TuningFolder, bench: Bench, *, policy: SafetyPolicy | None = None) -> Iterator[TuningSession]:
    """Take the instrument's lease, prepare it, and see to it that it is left with good gains or its previous ones.

    Parameters
    ----------
    folder : TuningFolder
        With the order.
    bench : Bench
        The microscope of the order.
    policy : SafetyPolicy, optional
        Which critical actions need approval, by default those of the order: a tip that is not engaged cannot be engaged
        then.

    Raises
    ------
    LeaseHeldError
        If another client has the instrument.
    TuningFailedError
        If the previous gains could not be restored; the message says which those are.
    """
    began = now()
    client = f"tuning {folder.tuning_id}"
    note = _noter(folder, folder.new_events())
    order = folder.order()
    guard = {"policy": policy or order.policy, "on_event": note}
    with open_instrument(bench.back_end, folder.store, client=client, **guard) as instrument:
        session = TuningSession(folder, order, instrument, bench)
        message = "left before its end"
        try:
            session.prepare()
            yield session
            message = "done" if session.finished else message
        except BaseException as error:
            message = str(error) or type(error).__name__
            raise
        finally:
            try:
                if not session.finished:
                    _restore(session, message)
            finally:
                _note_attempt(folder, instrument, began, message, finished=session.finished)


def _restore(session: TuningSession, why: str) -> None:
    """Restore what is to be restored, also after a failure; where that fails too, say both."""
    if not session.touched:
        return
    try:
        session.restore()
    except MatAssayError as error:
        gains = _words(session.start.state.gains)
        msg = f"{why}; AND the previous gains, {gains}, could not be restored: {error}; set them by hand"
        raise TuningFailedError(msg) from error


def _noter(folder: TuningFolder, path: str) -> Callable[[Event], None]:
    """Return who keeps the instrument's log. A store that is full must not keep gains from being restored."""

    def note(event: Event) -> None:
        try:
            folder.store.append_line(path, event.model_dump_json())
        except (StoreError, OSError) as error:
            _log.warning("event %d of %s is not kept: %s", event.number, folder.path, error)

    return note


def _note_attempt(
    folder: TuningFolder, instrument: Instrument, began: datetime, message: str, *, finished: bool
) -> None:
    try:
        gains: Gains | None = instrument.snapshot().gains
    except MatAssayError:
        gains = None
    attempt = TuningAttempt(began=began, ended=now(), finished=finished, message=message, gains=gains)
    try:
        folder.store.append_line(folder.attempts, attempt.to_line())
    except (StoreError, OSError) as error:
        _log.warning("the end of this attempt at %s is not kept: %s", folder.path, error)


def _words(gains: Gains) -> str:
    return f"P {gains.p}, I {gains.i}, D {gains.d}"


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
