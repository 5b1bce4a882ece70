"""The one place where orders to a microscope queue up: one thread owns it, and nobody waits for ever."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from tasks_lib.instruments.frame import Frame, Samples
from tasks_lib.instruments.nanosurf.messages import Facts, Fault, Progress, ScannedLine
from tasks_lib.instruments.nid import NidError, write_nid
from tasks_lib.instruments.protocol import (
    ApproachStatus,
    Change,
    Instrument,
    InstrumentError,
    InstrumentLostError,
    LineReport,
    RefusedError,
    State,
    Value,
)
from tasks_lib.records.errors import MatAssayError

T = TypeVar("T")

MAX_WAITING = 256
# A scan that is refused says so within this time; one that began is followed by its lines.
_BEGIN_SECONDS = 5.0
# A line may take this many times of what it should before the instrument counts as lost.
_PATIENCE_LINES = 6
# An answer holds lines of so many numbers, and one line at least: the rest is asked for again.
_ANSWER_NUMBERS = 2**18


@dataclass
class _Scan:
    serial: int
    lines: list[LineReport] = field(default_factory=list)
    running: bool = True
    fault: Fault | None = None
    content: bytes | None = None
    sign: float = 0.0
    asked: float = 0.0
    patience: float = 0.0


def owner() -> ThreadPoolExecutor:
    """Return an executor of one thread, the only one that touches the instrument."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="instrument")


class Desk:
    """Takes orders from many threads and has them carried out by one.

    Every order passes the guard `Instrument`, so that whoever reaches the desk, by whatever face, meets its rules.

    Parameters
    ----------
    instrument : Instrument
        The guarded microscope.
    thread : ThreadPoolExecutor, optional
        Of one thread, see `owner`.
    call_seconds : float
        Time for the instrument to carry out an order other than approach and scan.
    abandon_seconds : float, optional
        A scan that nobody asked about for so long is stopped; by default it goes on.
    max_pixels : int
        Largest frame, in points times lines: a frame is kept in this process, about 200 bytes a pixel.
    encode : callable
        Turns a frame into the bytes of a `.nid` file.
    """

    def __init__(
        self,
        instrument: Instrument,
        *,
        thread: ThreadPoolExecutor | None = None,
        call_seconds: float = 30.0,
        abandon_seconds: float | None = None,
        max_pixels: int = 2**22,
        encode: Callable[[Frame], bytes] = write_nid,
    ) -> None:
        self._instrument = instrument
        self._thread = thread or owner()
        self._call_seconds = call_seconds
        self._abandon_seconds = abandon_seconds
        self._max_pixels = max_pixels
        self._encode = encode
        self._changed = threading.Condition()
        self._scan = _Scan(serial=0, running=False)
        self._approaching = False
        self._waiting = 0
        self._stuck: Future[object] | None = None
        self._facts = Facts(name=instrument.name, limits=instrument.limits)
        self._last = self._do("its state", instrument.snapshot)

    @property
    def instrument(self) -> Instrument:
        """The guarded microscope, for its log."""
        return self._instrument

    def close(self) -> None:
        """Stop a scan and let go of the thread; one that hangs is left behind."""
        self._instrument.stop()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def facts(self) -> Facts:
        """Return name and limits."""
        return self._facts

    def state(self) -> State:
        """Return the state; while an approach or a scan has the instrument, the last one known."""
        with self._changed:
            self._check_stuck()
            busy = {"scanning": True} if self._scan.running else {"approach": ApproachStatus.APPROACHING}
            if self._scan.running or self._approaching:
                self._check_alive()
                return self._last.model_copy(update=busy)
        return self._do("its state", self._instrument.snapshot)

    def set(self, values: dict[str, Value]) -> list[Change]:
        """Set parameters: all or none."""

        def work() -> list[Change]:
            changes = list(self._instrument.set(**values))
            self._last = self._instrument.snapshot()
            return changes

        return self._do("new settings", work)

    def set_mode(self, name: str) -> State:
        """Change the mode."""
        return self._do("another mode", lambda: self._then_read(self._instrument.set_mode, name))

    def select_lever(self, name: str) -> State:
        """Select a lever."""
        return self._do("another lever", lambda: self._then_read(self._instrument.select_lever, name))

    def approach(self, timeout_s: float) -> State:
        """Engage the tip and wait for it."""

        def work() -> State:
            try:
                return self._instrument.approach(timeout_s)
            finally:
                self._approaching = False

        # The guard withdraws after an approach that failed: twice the time, then.
        return self._do("the approach", work, timeout_s + 2 * self._call_seconds, approach=True)

    def withdraw(self) -> State:
        """Lift the tip."""
        return self._do("the withdrawal", self._instrument.withdraw, 4 * self._call_seconds)

    def retract(self) -> State:
        """Move the tip away."""
        return self._do("the retraction", self._instrument.retract, 4 * self._call_seconds)

    def begin_scan(self, name: str, *, continuous: bool = False) -> Progress:
        """Begin a frame; returns with its first line, or with what refused it.

        Raises
        ------
        RefusedError
            If a scan runs, the tip is not engaged, the scan would have no end, or its frame would be too large.
        """
        if continuous:
            msg = "a continuous scan has no end: scan frames, one after the other"
            raise RefusedError(msg)
        with self._changed:
            self._check_free()
            pixels = self._last.scan.points * self._last.scan.lines
            if pixels > self._max_pixels:
                msg = f"a frame has {self._max_pixels} pixels at most, not {pixels}: take fewer points or lines"
                raise RefusedError(msg)
            clock = time.monotonic()
            line = self._last.scan.time_per_line_s * 2
            scan = _Scan(self._scan.serial + 1, sign=clock, asked=clock)
            silent = _PATIENCE_LINES * line
            if not self._facts.limits.reports_lines:
                silent += 2 * self._last.scan.frame_time_s
            scan.patience = self._call_seconds + silent
            self._scan = scan
            self._submit(lambda: self._run_scan(scan, name))
            self._changed.wait_for(
                lambda: bool(scan.lines) or not scan.running, min(_BEGIN_SECONDS, self._call_seconds)
            )
            if scan.fault is not None and not scan.lines:
                raise _error(scan.fault)
        return self.progress(0)

    def progress(self, since: int, wait: float = 0.0) -> Progress:
        """Return how the last scan stands; waits for news up to `wait` s.

        With its lines from number `since` on, as many as an answer holds: who has fewer than `lines_done` asks again.
        """
        with self._changed:
            scan = self._scan
            scan.asked = time.monotonic()
            self._changed.wait_for(lambda: len(scan.lines) > since or not scan.running, min(max(wait, 0.0), 2.0))
            if scan.running:
                self._check_alive()
            return Progress(
                serial=scan.serial,
                running=scan.running,
                lines_done=len(scan.lines),
                lines=_told(scan.lines, since),
                fault=scan.fault,
            )

    def frame(self) -> bytes:
        """Return the last frame as a `.nid` file.

        Raises
        ------
        RefusedError
            If there is none, or it is still being scanned.
        """
        with self._changed:
            if self._scan.running:
                raise RefusedError("the frame is still being scanned: wait for its end")
            if self._scan.fault is not None:
                raise _error(self._scan.fault)
            if self._scan.content is None:
                raise RefusedError("no frame was scanned yet")
            return self._scan.content

    def stop(self) -> None:
        """End a scan at its next line; does not wait."""
        self._instrument.stop()

    # ------------------------------------------------------------------ in the thread that owns the instrument

    def _run_scan(self, scan: _Scan, name: str) -> None:
        def each(line: LineReport) -> bool:
            with self._changed:
                scan.sign = time.monotonic()
                scan.lines.append(line)
                self._changed.notify_all()
                return self._abandon_seconds is None or scan.sign - scan.asked < self._abandon_seconds

        fault, content = None, None
        try:
            content = self._encode(self._instrument.scan(name, each))
            self._last = self._instrument.snapshot()
        except NidError as error:
            fault = Fault(kind="failed", message=f"the frame {name} is no file: {error}")
        except MatAssayError as error:
            fault = _fault(error)
        except Exception as error:  # whoever waits for the scan must be told
            fault = Fault(kind="failed", message=f"the scan {name} broke: {type(error).__name__}: {error}")
            raise
        finally:
            with self._changed:
                scan.content, scan.fault, scan.running = content, fault, False
                self._changed.notify_all()

    def _then_read(self, order: Callable[[str], None], name: str) -> State:
        order(name)
        return self._instrument.snapshot()

    # ------------------------------------------------------------------ in any thread

    def _do(self, what: str, work: Callable[[], T], seconds: float | None = None, *, approach: bool = False) -> T:
        """Have work done by the thread that owns the instrument, and wait for it."""
        limit = self._call_seconds if seconds is None else seconds
        with self._changed:
            self._check_free()
            self._approaching = approach
            future = self._submit(work)
        try:
            result = future.result(limit)
        except TimeoutError as error:
            # What never began must not be carried out later, when nobody expects it any more.
            cancelled = future.cancel()
            with self._changed:
                if cancelled and approach:
                    self._approaching = False
                if not cancelled:
                    self._stuck = future  # type: ignore[assignment]
            msg = f"{self._facts.name} did not answer within {limit:g} s when it was asked for {what}"
            raise InstrumentLostError(msg) from error
        except CancelledError as error:
            msg = f"{self._facts.name} was closed before it was asked for {what}"
            raise InstrumentLostError(msg) from error
        if isinstance(result, State):
            self._last = result
        return result

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        if self._waiting >= MAX_WAITING:
            msg = f"{MAX_WAITING} orders wait already: send the next one when one has been answered"
            raise RefusedError(msg)
        try:
            future = self._thread.submit(work)
        except RuntimeError as error:  # it was shut down
            msg = f"the thread that owns the instrument has ended: {error}"
            raise InstrumentLostError(msg) from error
        self._waiting += 1
        future.add_done_callback(self._answered)
        return future

    def _answered(self, _: Future[T]) -> None:
        with self._changed:
            self._waiting -= 1

    def _check_free(self) -> None:
        self._check_stuck()
        if self._scan.running:
            self._check_alive()
        if self._scan.running or self._approaching:
            msg = f"{self._facts.name} is busy: wait for the order before, or stop the scan"
            raise RefusedError(msg)

    def _check_stuck(self) -> None:
        if self._stuck is not None and self._stuck.done():
            self._stuck = None
        if self._stuck is not None:
            msg = f"{self._facts.name} still hangs in an order before: look at the instrument and start its worker anew"
            raise InstrumentLostError(msg)

    def _check_alive(self) -> None:
        silent = time.monotonic() - self._scan.sign
        if self._scan.running and silent > self._scan.patience:
            msg = f"{self._facts.name} has given no line for {silent:.0f} s: look at the instrument"
            raise InstrumentLostError(msg)


def _told(lines: list[LineReport], since: int) -> tuple[ScannedLine, ...]:
    part = lines[since : since + max(1, _ANSWER_NUMBERS // (2 * lines[0].forward.size))] if lines else []
    return tuple(
        ScannedLine(index=line.index, forward=_numbers(line.forward), backward=_numbers(line.backward)) for line in part
    )


def _numbers(line: Samples) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in line.tolist()]


def _fault(error: MatAssayError) -> Fault:
    if isinstance(error, RefusedError):
        return Fault(kind="refused", message=str(error))
    return Fault(kind="lost" if isinstance(error, InstrumentLostError) else "failed", message=str(error))


def _error(fault: Fault) -> MatAssayError:
    kinds = {"refused": RefusedError, "lost": InstrumentLostError}
    return kinds.get(fault.kind, InstrumentError)(fault.message)
