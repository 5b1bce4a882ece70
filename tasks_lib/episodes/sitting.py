"""A person at the desktop of a stage: what the hands did is fetched while they work, and becomes the stage's steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from tasks_lib.agents import parse_reply
from tasks_lib.agents.recording import DONE, Draft, DraftStep, Frames, draft_of
from tasks_lib.episodes.work import EpisodeWork
from tasks_lib.records import ActionRecord, Decision, Observation, Stage, Step, clean_json, now
from tasks_lib.sandbox import Computer, RecordedEvent, RecordedFrame
from tasks_lib.sandbox.viewing import ScreenServer


class Desk(Protocol):
    """What the one who asked a person to the desktop does meanwhile."""

    def begin(self, stage: Stage, url: str) -> None:
        """Tell the person that the desktop is there."""

    def is_done(self) -> bool:
        """Wait for a moment, and say whether the person has finished the stage."""

    def tell(self, text: str) -> None:
        """Pass a remark on."""


class Sitting:
    """One stage, done by hand; its screens lie in a folder, one file each.

    Parameters
    ----------
    work : EpisodeWork
    stage : Stage
        Done with mouse and keyboard.
    computer : Computer
        The machine.
    folder : Path
        For the screens; it is there and empty.
    """

    def __init__(self, work: EpisodeWork, stage: Stage, computer: Computer, folder: Path) -> None:
        self._work = work
        self._stage = stage
        self._computer = computer
        self._folder = folder
        self._events: list[RecordedEvent] = []
        self._frames: list[RecordedFrame] = []
        self._fault = ""
        self._now = 0.0
        self._cut = 0

    def begin(self) -> None:
        """Begin to record."""
        self._computer.settle()
        self._computer.start_recording()

    def end(self) -> None:
        """Record no more; what was done until now is fetched."""
        self._computer.settle()
        self._computer.stop_recording()
        self.fetch()

    def watch(self, desk: Desk, *, until: Callable[[], bool]) -> None:
        """Show the desktop and fetch what is done on it until the person is done, or something else ends it.

        Parameters
        ----------
        desk : Desk
        until : callable
            Whether it has to end whatever the person says.

        Raises
        ------
        MachineLostError
            If the machine stops answering; what was fetched can be drafted.
        """
        self.begin()
        with ScreenServer(self._computer.open_screen, desk.tell) as server:
            desk.begin(self._stage, server.url)
            while not until() and not desk.is_done():
                self.fetch()
        self.end()

    def hands(self, *, first: int) -> tuple[list[Step], tuple[str, ...]]:
        """Return what hands did since the last call or `skip`, numbered from `first` on, and remarks on it."""
        events, self._cut = self._events[self._cut :], len(self._events)
        if not events or not self._frames:
            return [], ()
        draft = draft_of(events, self._seen(), self._work.taskdefs)
        return self.steps(draft, done=False, first=first), draft.notes

    def skip(self) -> None:
        """Fetch what was done until now, and leave it out of `hands`: it was another's doing."""
        self.fetch()
        self._cut = len(self._events)

    def seen(self) -> Observation:
        """Return the newest screen that stood still."""
        frames = self._seen()
        return self._observation(frames.all[-1], frames)

    def draft(self, *, taken: int = 0) -> Draft | None:
        """Return what was done as an oracle's draft; None where nothing was seen.

        Parameters
        ----------
        taken : int
            How many targets were cut for the stages before.
        """
        if not self._frames:
            return None
        draft = draft_of(self._events, self._seen(), self._work.taskdefs, taken=taken)
        notes = [*draft.notes, self._fault] if self._fault else [*draft.notes]
        steps, most = len(draft.steps) + 1, self._stage.budget.steps
        if steps > most:
            notes.append(f"{steps} steps, the stage's budget has {most}")
        return replace(draft, notes=tuple(notes))

    def screens(self, draft: Draft) -> list[bytes]:
        """Return the screen before each step of a draft as PNG."""
        return [self._png(step.frame.number) for step in draft.steps]

    def steps(self, draft: Draft, *, done: bool = True, first: int = 1) -> list[Step]:
        """Return a draft as a trajectory keeps it, with DONE in the end where the person said so.

        Each screen is stored once.
        """
        frames = self._seen()
        last = DraftStep("", (), (), frames.all[-1], self._now)
        steps = []
        for index, step in enumerate([*draft.steps, *([last] if done else [])], start=first):
            reply = step.reply(named=False) if step is not last else DONE
            parsed = parse_reply(reply, self._stage.modality)
            steps.append(
                Step(
                    index=index,
                    started=now() - timedelta(seconds=max(0.0, self._now - step.began)),
                    observation=self._observation(step.frame, frames),
                    reply=reply,
                    decision=parsed.decision if step is not last else Decision.DONE,
                    actions=tuple(
                        ActionRecord(
                            text=action.text, kind=action.kind, arguments=clean_json(action.arguments), ok=True
                        )
                        for action in parsed.actions
                    ),
                )
            )
        return steps

    def _observation(self, frame: RecordedFrame, frames: Frames) -> Observation:
        height, width = frames.pixels(frames.all[0]).shape[:2]
        return Observation(
            screenshot=self._work.store.put_blob(self._png(frame.number), "image/png"),
            width=width,
            height=height,
            windows=frame.windows,
        )

    def _seen(self) -> Frames:
        return Frames(self._frames, self._png)

    def fetch(self) -> None:
        """Fetch what is new, so that a machine that is lost takes little along."""
        news = self._computer.recording_news(len(self._events), len(self._frames))
        for frame in news.frames:
            self._file(frame.number).write_bytes(self._computer.recorded_frame(frame.number))
            self._frames.append(frame)
        self._events += news.events
        self._fault, self._now = news.fault or self._fault, news.now

    def _png(self, number: int) -> bytes:
        return self._file(number).read_bytes()

    def _file(self, number: int) -> Path:
        return self._folder / f"{number}.png"
