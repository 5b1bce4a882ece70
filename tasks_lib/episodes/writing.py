"""A person in the place of an agent: what they write is the reply, and what hands do meanwhile stands before it."""

from __future__ import annotations

import time
from collections.abc import Callable

from tasks_lib.agents import Reply, View
from tasks_lib.episodes.bench import Bench, decided
from tasks_lib.episodes.plan import HUMAN
from tasks_lib.episodes.sitting import Desk, Sitting
from tasks_lib.models import DeadlineError
from tasks_lib.records import Decision, Observation, Step
from tasks_lib.sandbox import Computer


class Writer:
    """Waits at the bench for each reply; see `tasks_lib.agents.Agent`.

    Steps of hands are cut when the next reply is there, for nobody knows earlier where the last of them has ended. They
    count for the stage's budget, and a reply for which nothing of it is left is not done.

    Parameters
    ----------
    computer : Computer
        The machine.
    desk : Desk
        Passes remarks on; ends the stage as well as the page does.
    bench : Bench
        The page.
    sitting : Sitting or None
        What hands do; None where there is no desktop. It has begun.
    most : int
        Steps of the stage's budget.
    clock : callable
        Seconds, as the loop counts them.

    Attributes
    ----------
    is_spent : bool
        Whether hands have taken the last of the budget.
    """

    name = HUMAN

    def __init__(
        self,
        computer: Computer,
        desk: Desk,
        bench: Bench,
        sitting: Sitting | None,
        *,
        most: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._computer = computer
        self._desk = desk
        self._bench = bench
        self._sitting = sitting
        self._most = most
        self._clock = clock
        self._count = 0
        self._hands: list[Step] = []
        self._seen = Observation()
        self.is_spent = False

    def reply(self, view: View) -> Reply:
        """Wait for the person.

        Raises
        ------
        DeadlineError
            If the time of the stage ends before they answer, or hands have spent its steps.
        MachineLostError
            If the machine stops answering.
        """
        began = self._clock()
        files = [f"{entry.path}  ({entry.size} bytes)" for entry in self._computer.list_files() if entry.kind == "file"]
        self._bench.ask(view, step=self._count + 1, steps_left=self._most - self._count, files=files)
        while (text := self._bench.taken()) is None:
            if self._clock() - began >= view.seconds_left:
                msg = f"no reply of the person within {view.seconds_left:.0f} s"
                raise DeadlineError(msg)
            # Asked in each turn, so that a machine that was taken away ends the waiting.
            self._computer.probe() if self._sitting is None else self._sitting.fetch()
            if self._desk.is_done():
                text = decided(Decision.DONE)
                break
        if self._sitting is not None:
            # What hands did since the last turn: after the reply it would be taken for the machine's own doing.
            self._computer.settle()
            self._sitting.fetch()
        self._hands = self._cut()
        if self._count + len(self._hands) >= self._most:
            self.is_spent = True
            msg = f"hands have spent the {self._most} steps of the stage"
            raise DeadlineError(msg)
        return Reply(text, seconds=self._clock() - began)

    def kept(self, step: Step) -> list[Step]:
        """Return what is kept for a step of the loop: steps of hands, then the step with its number among them."""
        hands, self._hands = self._hands, []
        self._count += len(hands) + 1
        changes: dict[str, object] = {"index": self._count}
        if self._sitting is not None:
            self._sitting.skip()  # the machine's own hands
            if hands:
                # The loop has looked before hands went to work.
                changes |= {"observation": self._seen, "unchanged": False}
        return [*hands, step.model_copy(update=changes)]

    def rest(self) -> list[Step]:
        """Return the steps of hands after which there was no reply; once."""
        hands, self._hands = self._hands, []
        self._count += len(hands)
        last = self._cut()
        self._count += len(last)
        return [*hands, *last]

    def close(self) -> None:
        """Hold nothing."""

    def _cut(self) -> list[Step]:
        if self._sitting is None:
            return []
        steps, notes = self._sitting.hands(first=self._count + 1)
        if steps:
            self._seen = self._sitting.seen()
        for note in notes:
            self._desk.tell(note)
        return steps


__all__ = ["Writer"]
