"""A purse in the store: what a run or a night has spent at models, shared by all processes and machines at work on it.

Before a call the most that it may cost is set aside, afterwards what it did cost is entered. Every change swaps the
whole document from exactly what was read, so nothing is counted twice and the limit is not passed by calls that are
under way at the same time. What a killed process had set aside counts as spent: the endpoint may have charged it.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from tasks_lib.records import Account, Purse, Reservation, Spending, SpendingLimit, now
from tasks_lib.records.errors import BudgetError, ConfigurationError, StoreError
from tasks_lib.store import Store

_PATIENCE = 60.0  # s, for other writers of one purse
_SYSTEM = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class Price:
    """What a call costs, or may cost at most: US dollars, and tokens in and out together."""

    usd: float
    tokens: int


class SharedPurse:
    """One purse of a store.

    Parameters
    ----------
    store : Store
    path : str
        Where the purse lies; it is made with the first call.
    name : str
        Whose it is, for messages: ``run …`` or ``night …``.
    limit : SpendingLimit
        How much may be spent, unless the purse there says otherwise: a limit that was raised is kept there.
    remedy : str
        How the limit is raised, for messages.
    clock : callable
        Returns the present time, aware.
    """

    def __init__(
        self,
        store: Store,
        path: str,
        name: str,
        limit: SpendingLimit,
        *,
        remedy: str = "",
        clock: Callable[[], datetime] = now,
    ) -> None:
        self._store = store
        self._path = path
        self._fresh = Purse(account=Account(name=name, limit=limit))
        self._remedy = remedy
        self._clock = clock

    def account(self) -> Account:
        """Return the limit and what is spent, with what is set aside for calls under way or was for dead ones."""
        purse = self._read()[1]
        spent = purse.account.spent
        for held in purse.open:
            spent = spent.plus(held.usd, held.tokens, estimated=1)
        return purse.account.model_copy(update={"spent": spent})

    def check(self) -> None:
        """Refuse where the purse is closed, and close it where nothing is left.

        Raises
        ------
        BudgetError
            If it is closed: until its limit is raised.
        """
        account = self._read()[1].account
        if not account.closed and _fits(account.limit, account.spent, Price(0.0, 0), Price(0.0, 1)):
            return

        def close(purse: Purse) -> Purse:
            return _with(purse, purse.account.model_copy(update={"closed": True}))

        self._change(close)
        raise BudgetError(self._told(account))

    def set_aside(self, owner: str, most: Price, seconds: float) -> str | None:
        """Set the most that a call may cost aside.

        Parameters
        ----------
        owner : str
            Episode and attempt, as ``episode#attempt``.
        most : Price
            The most that it may cost.
        seconds : float
            Until when the call is over in any case, s from now.

        Returns
        -------
        str or None
            By which it is settled. None where the limit would be passed only together with other calls that are under
            way: wait until they are settled.

        Raises
        ------
        BudgetError
            If what is left is less; the purse is closed then, until its limit is raised.
        """
        ticket = secrets.token_hex(8)

        def change(purse: Purse) -> Purse | None:
            purse = self._overdue_settled(purse)
            account = purse.account
            if account.closed:
                raise BudgetError(self._told(account))
            held = Price(sum(entry.usd for entry in purse.open), sum(entry.tokens for entry in purse.open))
            if not _fits(account.limit, account.spent, Price(0.0, 0), most):
                return _with(purse, account.model_copy(update={"closed": True}))
            if not _fits(account.limit, account.spent, held, most):
                return None
            until = self._clock() + timedelta(seconds=seconds)
            mine = Reservation(id=ticket, owner=owner, usd=most.usd, tokens=most.tokens, until=until)
            return purse.model_copy(update={"open": (*purse.open, mine)})

        purse = self._change(change)
        if purse is None:
            return None
        if purse.account.closed:
            raise BudgetError(self._told(purse.account, most))
        return ticket

    def settle(self, ticket: str, price: Price, *, estimated: int = 0) -> None:
        """Enter what a call did cost; a ticket that is settled already, or was given up for dead, changes nothing.

        Parameters
        ----------
        ticket : str
            As `set_aside` gave it.
        price : Price
        estimated : int
            1 where the price is an upper estimate.
        """

        def change(purse: Purse) -> Purse | None:
            rest = tuple(entry for entry in purse.open if entry.id != ticket)
            if len(rest) == len(purse.open):
                return None
            spent = purse.account.spent.plus(price.usd, price.tokens, estimated=estimated)
            return _with(purse, purse.account.model_copy(update={"spent": spent}), rest)

        self._change(change)

    def give_back(self, ticket: str) -> None:
        """Put what was set aside back: the call cost nothing."""

        def change(purse: Purse) -> Purse | None:
            rest = tuple(entry for entry in purse.open if entry.id != ticket)
            return None if len(rest) == len(purse.open) else _with(purse, purse.account, rest)

        self._change(change)

    def bury(self, episode: str, attempt: str) -> None:
        """Count as spent what earlier attempts of an episode had set aside: this one has the episode to itself."""

        def change(purse: Purse) -> Purse | None:
            dead = [
                entry for entry in purse.open
                if entry.owner.partition("#")[0] == episode and entry.owner != f"{episode}#{attempt}"
            ]  # fmt: skip
            return _settled(purse, dead) if dead else None

        self._change(change)

    def raise_limit(self, limit: SpendingLimit) -> Account:
        """Set another limit, for the parts that are given, and open the purse again.

        Raises
        ------
        ConfigurationError
            If as much is spent already.
        """

        def change(purse: Purse) -> Purse:
            account = purse.account
            given = {name: value for name, value in limit.model_dump().items() if value is not None}
            raised = account.model_copy(update={"limit": account.limit.model_copy(update=given), "closed": False})
            if not _fits(raised.limit, raised.spent, Price(0.0, 0), Price(0.0, 1)):
                msg = f"{account.name} has spent {spent_text(account.spent)} already: give a larger budget than that"
                raise ConfigurationError(msg)
            return _with(purse, raised)

        self._change(change)
        return self.account()

    def _overdue_settled(self, purse: Purse) -> Purse:
        at = self._clock()
        dead = [entry for entry in purse.open if entry.until <= at]
        return _settled(purse, dead) if dead else purse

    def _told(self, account: Account, most: Price | None = None) -> str:
        limit = " and ".join(
            text for text in (
                None if account.limit.usd is None else f"{account.limit.usd:g} US dollars",
                None if account.limit.tokens is None else f"{account.limit.tokens} tokens",
            ) if text
        )  # fmt: skip
        text = f"{account.name} may spend {limit} at models, and {spent_text(account.spent)} are spent"
        if most is not None:
            text += f"; the next call may cost up to {_amount(most.usd, most.tokens)}"
        return f"{text}: {self._remedy}" if self._remedy else text

    def _read(self) -> tuple[bytes | None, Purse]:
        try:
            data = self._store.read_bytes(self._path)
        except FileNotFoundError:
            return None, self._fresh
        try:
            return data, Purse.from_json(data)
        except ValueError:
            # Say path and field as for every other document.
            return data, self._store.read_document(self._path, Purse)

    def _change(self, change: Callable[[Purse], Purse | None]) -> Purse | None:
        """Swap the purse for what `change` makes of it, and return that; None where nothing is to be changed."""
        began = time.monotonic()
        with _lock(f"{self._store.url} {self._path}"):
            while True:
                data, purse = self._read()
                changed = change(purse)
                if changed is None:
                    return None
                new = changed.to_json().encode()
                if data == new:
                    return changed
                written = (
                    self._store.create(self._path, new) if data is None else self._store.swap(self._path, data, new)
                )
                if written:
                    return changed
                if time.monotonic() - began > _PATIENCE:
                    msg = (
                        f"others changed {self._path!r} in the store {self._store.url} all the time for "
                        f"{_PATIENCE:.0f} s: lower the number of episodes at a time, then retry"
                    )
                    raise StoreError(msg)
                time.sleep(_SYSTEM.uniform(0.001, 0.02))


def spent_text(spent: Spending) -> str:
    """Return a spending as words."""
    text = f"{_amount(spent.usd, spent.tokens)} in {spent.calls} calls"
    if not spent.estimated:
        return text
    return f"{text} ({spent.estimated} of them by an upper estimate, the endpoint did not tell their usage)"


def _amount(usd: float, tokens: int) -> str:
    # Models without prices cost tokens alone.
    return f"{usd:.4f} US dollars and {tokens} tokens" if usd else f"{tokens} tokens"


def _fits(limit: SpendingLimit, spent: Spending, held: Price, most: Price) -> bool:
    # A millionth of a cent: sums of floats are not exact.
    dollars = limit.usd is None or spent.usd + held.usd + most.usd <= limit.usd + 1e-8
    tokens = limit.tokens is None or spent.tokens + held.tokens + most.tokens <= limit.tokens
    return dollars and tokens


def _with(purse: Purse, account: Account, rest: tuple[Reservation, ...] | None = None) -> Purse:
    return purse.model_copy(update={"account": account, "open": purse.open if rest is None else rest})


def _settled(purse: Purse, dead: list[Reservation]) -> Purse:
    spent = purse.account.spent
    for entry in dead:
        spent = spent.plus(entry.usd, entry.tokens, estimated=1)
    rest = tuple(entry for entry in purse.open if entry not in dead)
    return _with(purse, purse.account.model_copy(update={"spent": spent}), rest)


@cache
def _lock(key: str) -> threading.Lock:
    """Return the lock of this process for a purse: its threads need not fight over the store."""
    return threading.Lock()
