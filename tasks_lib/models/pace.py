"""How many calls an endpoint takes at a time: the rule by which the number grows and shrinks, without any clock."""

from __future__ import annotations

from dataclasses import dataclass, replace

FIRST = 2.0
"""Calls at a time that a new endpoint is tried with."""
LONGEST_PAUSE = 300.0
"""Longest pause that an endpoint is granted, s; where it asks for more the tries end instead."""
IDLE = 600.0
"""After so long without a call, s, what was learnt of an endpoint is forgotten."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What is known of an endpoint. Slow start doubles the number each round; the first refusal ends it for good.

    Additive increase, multiplicative decrease: Chiu and Jain, Computer Networks and ISDN Systems 17 (1989) 1.

    Attributes
    ----------
    allowed : float
        Calls at a time; the whole part counts.
    doubling : bool
        Whether the endpoint has never refused: each success allows one more.
    epoch : int
        Number of the decreases so far. Calls that were let in before a decrease do not cause another one: a storm
        of refusals of one round is one sign, not many.
    closed_until : float
        Nobody is let in before, Unix time, s.
    used : float
        When somebody was let in last, Unix time, s.
    """

    allowed: float = FIRST
    doubling: bool = True
    epoch: int = 0
    closed_until: float = 0.0
    used: float = 0.0

    def places(self, ceiling: int) -> int:
        """Return how many calls may be under way, from 1 to `ceiling`."""
        return max(1, min(int(self.allowed), ceiling))

    def pause(self, at: float) -> float:
        """Return how long nobody is let in, s; a clock that was set back closes for `LONGEST_PAUSE` at most."""
        return min(max(0.0, self.closed_until - at), LONGEST_PAUSE)

    def entered(self, at: float) -> Pace:
        """Return the pace when a call is let in; after a long rest it begins anew."""
        if self.used and at - self.used > IDLE:
            return Pace(epoch=self.epoch + 1, used=at)
        return replace(self, used=at)

    def went_well(self, busy: int, ceiling: int) -> Pace:
        """Return the pace after a call that was not refused.

        Parameters
        ----------
        busy : int
            Calls under way, this one included. Where less than half of what is allowed is used, nothing was learnt.
        ceiling : int
            Never more than this.
        """
        if 2 * busy < self.places(ceiling):
            return self
        grown = self.allowed + (1.0 if self.doubling else 1.0 / max(1.0, self.allowed))
        return replace(self, allowed=max(1.0, min(grown, float(ceiling))))

    def refused(self, epoch: int, busy: int, at: float, retry_after: float | None) -> Pace:
        """Return the pace after a call that was refused for want of room.

        Parameters
        ----------
        epoch : int
            `Pace.epoch` when the call was let in.
        busy : int
            Calls under way, this one included.
        at : float
            Unix time, s.
        retry_after : float or None
            How long the endpoint wants to be left alone, s: by every caller.
        """
        closed = max(self.closed_until, at + min(retry_after or 0.0, LONGEST_PAUSE))
        if epoch < self.epoch:
            return replace(self, closed_until=closed)
        halved = max(1.0, min(self.allowed, float(busy)) / 2.0)
        return replace(self, allowed=halved, doubling=False, epoch=self.epoch + 1, closed_until=closed)
