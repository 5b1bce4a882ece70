"""The guard before every back end: checked orders, one client, approvals, envelopes, and a log that only grows."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pydantic import ValidationError

from tasks_lib.instruments.frame import Frame, Gains, ScanSettings
from tasks_lib.instruments.protocol._log import EventLog
from tasks_lib.instruments.protocol._shown import shown
from tasks_lib.instruments.protocol._writing import write_or_restore
from tasks_lib.instruments.protocol.backend import BackEnd, LineReport, OnLine
from tasks_lib.instruments.protocol.errors import InstrumentError, RefusedError, with_sequel
from tasks_lib.instruments.protocol.limits import CriticalAction, Limits, SafetyPolicy, is_number
from tasks_lib.instruments.protocol.state import Change, Event, EventKind, State, Value
from tasks_lib.records import Json, now
from tasks_lib.records.errors import LeaseHeldError

if TYPE_CHECKING:
    # Loaded when a lease is asked for: the worker beside a microscope runs on Windows, where the store does not.
    from tasks_lib.store import HeldLease, Store

# Asked before a critical action that the policy names: the action and what it is about, in words.
Approve = Callable[[CriticalAction, str], bool]

LEASE_SECONDS = 600.0
# A frame whose lines come all at its end renews no lease meanwhile; half of one is left when it begins.
MAX_SILENT_S = LEASE_SECONDS / 2 - 60
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
MAX_APPROACH_S = LEASE_SECONDS / 2


class Instrument:
    """A microscope in the hands of one client.

    Parameters
    ----------
    back_end : BackEnd
        The microscope.
    client : str
        Who drives it, for the log.
    lease : HeldLease, optional
        The lease of the instrument; it is renewed with every order and every line, and a lost one ends the work.
    policy : SafetyPolicy
        Which critical actions need a person's word.
    approve : callable, optional
        Asked for that word; without it such actions are refused.
    on_event : callable, optional
        Called with every entry of the log, for whoever keeps it.
    clock : callable
        Returns the present time, aware.
    """

    def __init__(
        self,
        back_end: BackEnd,
        *,
        client: str,
        lease: HeldLease | None = None,
        policy: SafetyPolicy | None = None,
        approve: Approve | None = None,
        on_event: Callable[[Event], None] | None = None,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self._back_end = back_end
        self._lease = lease
        self._policy = policy or SafetyPolicy()
        self._approve = approve
        self._clock = clock
        self._log = EventLog(client, on_event, clock)
        self._turn = threading.Lock()
        self._halted = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lease is not None:
            self._lease.release()

    @property
    def name(self) -> str:
        """Name of the instrument."""
        return self._back_end.name

    @property
    def limits(self) -> Limits:
        """What the instrument accepts."""
        return self._back_end.limits

    def events(self) -> tuple[Event, ...]:
        """Return the log so far, refused orders included."""
        return self._log.events()

    def snapshot(self) -> State:
        """Return everything that the instrument reports at this instant."""
        return self._back_end.read()

    def set(self, **values: Value) -> tuple[Change, ...]:
        """Set parameters: all of them or none.

        Parameters
        ----------
        **values
            Parameters by the names of `Parameter`, in SI units, degrees and percent.

        Returns
        -------
        tuple of Change
            What the instrument reported before and after, in order of name.

        Raises
        ------
        RefusedError
            If a value is out of range, the values together pass an envelope, or a scan is running; nothing was set.
        InstrumentError
            If the instrument did not take the values; those of before were written back.
        """
        with self._order(EventKind.SET, {"values": dict(values)}) as details:
            wanted = self.limits.checked(values)
            before = self._back_end.read()
            self.limits.check_state(_with(before, wanted))
            after = write_or_restore(self._back_end, before, wanted)
            old, new = before.values(), after.values()
            changes = tuple(Change(name=name, before=old[name], after=new[name]) for name in sorted(wanted))
            details["changes"] = [one.model_dump(mode="json") for one in changes]
            return changes

    def set_mode(self, mode: str) -> None:
        """Change the operating mode; the tip must be withdrawn.

        Raises
        ------
        RefusedError
            If the mode is unknown, the tip is engaged, approval is denied, or a scan is running.
        """
        with self._order(EventKind.MODE, {"mode": mode}):
            if mode not in self.limits.modes:
                msg = f"there is no mode {shown(mode)}; take one of {', '.join(self.limits.modes)}"
                raise RefusedError(msg)
            self._away(f"the mode becomes {mode}")
            self._ask(CriticalAction.MODE, f"change the operating mode to {mode}")
            self._back_end.set_mode(mode)
            self._expect("mode", mode, self._back_end.read().mode)

    def select_lever(self, name: str) -> None:
        """Tell the instrument which cantilever is mounted; the tip must be withdrawn.

        Raises
        ------
        RefusedError
            If the lever is unknown, its force at the present setpoint passes the envelope, the tip is engaged,
            approval is denied, or a scan is running.
        """
        with self._order(EventKind.LEVER, {"lever": name}):
            self.limits.lever(name)
            self._away(f"the lever becomes {name}")
            self.limits.check_state(self._back_end.read().model_copy(update={"lever": name}))
            self._ask(CriticalAction.LEVER, f"select the lever {name}")
            self._back_end.select_lever(name)
            self._expect("lever", name, self._back_end.read().lever)

    def approach(self, timeout_s: float = 120.0) -> State:
        """Engage the tip.

        Parameters
        ----------
        timeout_s : float
            Time that the approach may take, s; at most half the time of a lease, which is not renewed meanwhile.

        Raises
        ------
        RefusedError
            If approval is denied, the time is no positive number, or a scan is running.
        InstrumentError
            If the tip is not engaged at the end; it was withdrawn then.
        """
        with self._order(EventKind.APPROACH, {"timeout_s": timeout_s}) as details:
            if not is_number(timeout_s) or not 0 < timeout_s <= MAX_APPROACH_S:
                msg = f"the time of an approach lies between 0 and {MAX_APPROACH_S:g} s, not at {shown(timeout_s)}"
                raise RefusedError(msg)
            self.limits.check_state(self._back_end.read())
            self._ask(CriticalAction.APPROACH, f"bring the tip of {self.name} to the sample")
            try:
                self._back_end.approach(timeout_s)
                state = self._back_end.read()
                details["approach"] = state.approach.value
                if not state.engaged:
                    msg = (
                        f"the tip is not engaged after an approach of at most {timeout_s:g} s (it is {state.approach});"
                        " it was withdrawn: look at the sample, the setpoint and the laser, then approach again"
                    )
                    raise InstrumentError(msg)
            except RefusedError:
                raise
            except BaseException as error:  # Ctrl-C included: nobody watches a tip that is half way
                self._clean_up(error, self._back_end.withdraw, "withdraw the tip by hand")
                raise
            return state

    def withdraw(self) -> State:
        """Lift the tip by the z actuator."""
        with self._order(EventKind.WITHDRAW, {}):
            self._back_end.withdraw()
            return self._back_end.read()

    def retract(self) -> State:
        """Move the tip away by the motor."""
        with self._order(EventKind.RETRACT, {}):
            self._back_end.retract()
            return self._back_end.read()

    def scan(self, name: str, on_line: OnLine | None = None) -> Frame:
        """Scan one frame with the present settings and wait for it.

        Parameters
        ----------
        name : str
            Name of the frame: letters, digits, ``_ . -``, 100 at most.
        on_line : callable, optional
            Gets every line when it is there and says whether the scan goes on.

        Returns
        -------
        Frame
            Incomplete where the scan was stopped.

        Raises
        ------
        RefusedError
            If the tip is not engaged, the name is no name, or a scan is running already.
        LeaseHeldError
            If another took the instrument over meanwhile; the scan was stopped.
        """
        with self._order(EventKind.SCAN, {"name": name}) as details:
            self._halted.clear()
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                msg = f"a frame's name has letters, digits, '_', '.' and '-', 100 at most, not {shown(name)}"
                raise RefusedError(msg)
            state = self._back_end.read()
            if not state.engaged:
                msg = f"no scan without contact: the tip is {state.approach}: approach first"
                raise RefusedError(msg)
            self.limits.check_state(state)
            self._check_time(state)
            lost: list[LeaseHeldError] = []

            def each(line: LineReport) -> bool:
                if self._halted.is_set():
                    return False
                try:
                    self._renew()
                except LeaseHeldError as error:
                    lost.append(error)
                    return False
                return on_line is None or on_line(line)

            try:
                frame = self._back_end.scan(name, each)
            except BaseException as error:  # Ctrl-C and a listener that raised included: no scan goes on unattended
                self._clean_up(error, self._back_end.stop, "stop the scan by hand")
                raise
            details |= {"lines_done": frame.lines_done, "complete": frame.complete, "source": frame.source}
            if lost:
                raise lost[0]
            return frame

    def stop(self) -> None:
        """End a running scan at its next line; from any thread, and without waiting for a turn."""
        # A scan that is only about to begin has not told its back end yet.
        self._halted.set()
        self._back_end.stop()
        self._log.note(EventKind.STOP, {})

    @contextmanager
    def _order(self, kind: EventKind, details: dict[str, Json]) -> Iterator[dict[str, Json]]:
        """Take the turn, renew the lease, and log how the order ended."""
        if not self._turn.acquire(blocking=False):
            msg = f"{self.name} is busy: wait for the order before, or stop the scan"
            self._log.note(EventKind.REFUSED, {"order": kind.value, **details, "why": msg})
            raise RefusedError(msg)
        try:
            self._renew()
            yield details
        except RefusedError as error:
            self._log.note(EventKind.REFUSED, {"order": kind.value, **details, "why": str(error)})
            raise
        except BaseException as error:
            self._log.note(
                EventKind.FAILED, {"order": kind.value, **details, "why": str(error) or type(error).__name__}
            )
            raise
        else:
            self._log.note(kind, details)
        finally:
            self._turn.release()

    def _check_time(self, state: State) -> None:
        """Refuse a frame that would outlast the lease, where no line says meanwhile that somebody is there."""
        if not self.limits.reports_lines and state.scan.frame_time_s > MAX_SILENT_S:
            msg = (
                f"{self.name} reports no line while it scans, so a frame takes {MAX_SILENT_S:g} s at most, not"
                f" {state.scan.frame_time_s:g} s: take fewer lines or less time per line"
            )
            raise RefusedError(msg)

    def _renew(self) -> None:
        # A lease can be lost only when it ran out, so half of its time is early enough. One that was given back is no
        # lease: asking to renew it says so.
        if self._lease is None:
            return
        lease = self._lease.lease
        if lease.released is not None or lease.expires - self._clock() < timedelta(seconds=LEASE_SECONDS / 2):
            self._lease.renew()

    def _clean_up(self, error: BaseException, action: Callable[[], None], by_hand: str) -> None:
        """Leave the instrument safe after `error`; where that fails as well, raise what says both."""
        try:
            action()
        except Exception as worse:  # noqa: BLE001 - whatever it is, it is told
            raise with_sequel(error, f"and {self.name} did not answer to that either ({worse}): {by_hand}") from error

    def _ask(self, action: CriticalAction, words: str) -> None:
        if action in self._policy.needs_approval and not (self._approve is not None and self._approve(action, words)):
            msg = f"not approved: {words}; the policy of this session asks a person first"
            raise RefusedError(msg)

    def _away(self, what: str) -> None:
        if self._back_end.read().engaged:
            msg = f"the tip is engaged: withdraw it before {what}"
            raise RefusedError(msg)

    def _expect(self, what: str, wanted: str, reported: str) -> None:
        if wanted != reported:
            msg = f"{self.name} was told {what} = {wanted!r} and reports {reported!r}"
            raise InstrumentError(msg)


@contextmanager
def open_instrument(back_end: BackEnd, store: Store, *, client: str, **options: Any) -> Iterator[Instrument]:
    """Get the lease of an instrument and drive it; the lease is given back at the end.

    Parameters
    ----------
    back_end : BackEnd
        The microscope.
    store : Store
        Where the lease lies; everybody who could drive this instrument uses the same.
    client : str
        Who drives it, for the log.
    **options
        ``policy``, ``approve``, ``on_event`` and ``clock`` of `Instrument`.

    Raises
    ------
    LeaseHeldError
        If another client has the instrument.
    """
    from tasks_lib.store import acquire

    with (
        acquire(store, f"instruments/{back_end.name}", seconds=LEASE_SECONDS) as lease,
        Instrument(back_end, client=client, lease=lease, **options) as instrument,
    ):
        yield instrument


def _with(state: State, values: Mapping[str, Value]) -> State:
    """Return the state as it would be with these values."""
    whole = state.values() | dict(values)
    try:
        return state.model_copy(
            update={
                "scan": ScanSettings(**{name: whole[name] for name in ScanSettings.model_fields}),
                "gains": Gains(**{name: whole[name] for name in Gains.model_fields}),
                "setpoint": float(whole["setpoint"]),
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        msg = f"nothing was set: {'.'.join(map(str, first['loc']))}: {first['msg']}, not {first['input']!r}"
        raise RefusedError(msg) from None
