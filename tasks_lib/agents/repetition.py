"""Whether an agent goes round in circles: the same replies on the same screens."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

LONGEST_CIRCLE = 4
# Steps that are remembered: a long row of repetitions is counted up to here.
_REMEMBERED = 256


@dataclass(slots=True)
class Repetition:
    """Watches what is done where.

    Attributes
    ----------
    repeats : int
        Times in a row that the last reply, or the circle of replies that it closes, was given again; 0: it is new.
    circle : int
        Replies of that circle: 1 where a single one is repeated, up to `LONGEST_CIRCLE`.
    """

    repeats: int = 0
    circle: int = 0
    _deeds: deque[Hashable] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def note(self, screen: Hashable, deed: Hashable) -> None:
        """Take in a step.

        Parameters
        ----------
        screen : hashable
            Which screen it was, or what else stands for the state of affairs.
        deed : hashable
            What the reply asked for.
        """
        self._deeds.append((screen, deed))
        deeds = list(self._deeds)
        rounds = {circle: _rounds(deeds, circle) for circle in range(1, LONGEST_CIRCLE + 1)}
        # In "xaa xaa xaa" the "aa" is a circle as well, but not the one that goes on.
        circle = max(rounds, key=lambda length: (rounds[length], -length))
        self.repeats, self.circle = (rounds[circle], circle) if rounds[circle] else (0, 0)

    def notice(self) -> str:
        """Return what the agent is to be told; empty where it does something new."""
        if not self.repeats:
            return ""
        times = f"{self.repeats + 1} times in a row"
        if self.circle == 1:
            return f"You have given the same reply with the same outcome {times}. Try something else."
        return (
            f"Your last {self.circle} replies, on the same screens, have been given {times}: you go round in circles. "
            "Try something else."
        )


def _rounds(deeds: list[Hashable], circle: int) -> int:
    """Return how often the last `circle` deeds stand directly before themselves."""
    last = deeds[-circle:]
    rounds = 0
    while deeds[-(rounds + 2) * circle : -(rounds + 1) * circle] == last:
        rounds += 1
    return rounds if len(last) == circle else 0
