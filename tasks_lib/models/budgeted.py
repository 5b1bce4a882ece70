"""A chat model that is paid from purses."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from tasks_lib.models.estimates import most_of, price_of
from tasks_lib.models.messages import Message, ToolSpec
from tasks_lib.models.protocol import ChatModel, Completion, Exchange
from tasks_lib.models.purse import Price, SharedPurse
from tasks_lib.models.settings import ImageSettings, ModelSettings
from tasks_lib.records.errors import BudgetError, ConfigurationError, EndpointError, TransientEndpointError

_LOOK_AGAIN = 0.25  # s, between looks whether the calls under way have left something
_LONGEST_WAIT = 600.0  # s, of a caller who names no time
_BETWEEN_TRIES = 60.0  # s
# After the tries of a call, s: what is set aside longer than that is of a process that has died.
_GRACE = 60.0


class BudgetedChat:
    """Asks a model as long as every purse can pay for the call.

    Parameters
    ----------
    inner : ChatModel
        Who is asked.
    settings : ModelSettings
        Its prices, and how long a call may take.
    purses : sequence of SharedPurse
        Each has to have enough.
    owner : str
        Episode and attempt, as ``episode#attempt``.
    sleep, clock : callable
        Time, for tests.
    """

    def __init__(
        self,
        inner: ChatModel,
        settings: ModelSettings,
        purses: Sequence[SharedPurse],
        owner: str,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._inner = inner
        self._settings = settings
        self._purses = tuple(purses)
        self._owner = owner
        self._sleep = sleep
        self._clock = clock
        self._lost_tries = 0

    @property
    def name(self) -> str:
        """The model's name in the settings."""
        return self._inner.name

    @property
    def image(self) -> ImageSettings:
        """How pictures are to be prepared for it."""
        return self._inner.image

    def note(self, exchange: Exchange) -> None:
        """Take notice of a try: one that was sent and got no whole reply may have been charged all the same."""
        answered = exchange.status is None or 200 <= exchange.status < 300
        if exchange.error and answered and "cannot connect" not in exchange.error:
            self._lost_tries += 1

    def complete(
        self, messages: Sequence[Message], *, tools: Sequence[ToolSpec] = (), seconds: float | None = None
    ) -> Completion:
        """Ask where there is enough for it; see `ChatModel.complete`.

        Raises
        ------
        BudgetError
            If a purse has not enough left.
        TransientEndpointError
            If what is left stayed set aside for other calls until the caller's time was over.
        """
        began = self._clock()
        most = most_of(messages, tools, self._settings)
        tickets = self._set_aside(most, seconds)
        waited = self._clock() - began
        self._lost_tries = 0
        price, estimated = most, True
        try:
            left = None if seconds is None else max(0.0, seconds - waited)
            completion = self._inner.complete(messages, tools=tools, seconds=left)
            price, estimated = price_of(completion, messages, tools, self._settings)
        except (EndpointError, ConfigurationError):
            # The endpoint said no, or nothing, or was not asked: what got no whole reply counts below.
            price, estimated = Price(0.0, 0), False
            raise
        finally:
            lost = self._lost_tries
            total = Price(price.usd + lost * most.usd, price.tokens + lost * most.tokens)
            for purse, ticket in tickets:
                if total.tokens or total.usd:
                    purse.settle(ticket, total, estimated=int(estimated or lost > 0))
                else:
                    purse.give_back(ticket)
        return replace(completion, seconds=completion.seconds + waited, lost=completion.lost + waited)

    def close(self) -> None:
        """Close what is asked."""
        self._inner.close()

    def _set_aside(self, most: Price, seconds: float | None) -> list[tuple[SharedPurse, str]]:
        """Set the most that the call may cost aside in every purse, or in none."""
        longest = self._settings.attempts * (self._settings.read_seconds + _BETWEEN_TRIES)
        alive = (longest if seconds is None else min(longest, seconds)) + _GRACE
        limit = _LONGEST_WAIT if seconds is None else seconds
        began = self._clock()
        while True:
            taken: list[tuple[SharedPurse, str]] = []
            try:
                for purse in self._purses:
                    ticket = purse.set_aside(self._owner, most, alive)
                    if ticket is None:
                        break
                    taken.append((purse, ticket))
                else:
                    return taken
            except BudgetError:
                self._put_back(taken)
                raise
            self._put_back(taken)
            if self._clock() - began >= limit:
                msg = (
                    f"model {self.name!r}: what is left of the budget was set aside for other calls for {limit:.3g} s: "
                    "raise the budget, or lower the number of episodes at a time"
                )
                raise TransientEndpointError(msg)
            self._sleep(min(_LOOK_AGAIN, limit))

    @staticmethod
    def _put_back(taken: list[tuple[SharedPurse, str]]) -> None:
        for purse, ticket in taken:
            purse.give_back(ticket)
