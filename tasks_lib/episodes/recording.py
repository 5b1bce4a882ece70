"""An episode that a person plays: the phases of every other, and in the place of an agent the desktop in a browser."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from tasks_lib.agents import parse_reply
from tasks_lib.agents.recording import DONE, Draft, DraftStep, Frames, draft_of
from tasks_lib.episodes import live
from tasks_lib.episodes.attempts import check_room
from tasks_lib.episodes.driver import EpisodeVoidError, drive, plain_phases
from tasks_lib.episodes.needs import needs_of
from tasks_lib.episodes.plan import PERSON, Player, episodes_for, make_manifest
from tasks_lib.episodes.work import EpisodeWork
from tasks_lib.records import (
    ActionRecord,
    Decision,
    Ending,
    MachineSettings,
    Modality,
    Observation,
    RunManifest,
    Stage,
    Step,
    Verdict,
    VoidRecord,
    clean_json,
    now,
)
from tasks_lib.records.errors import ConfigurationError, MachineLostError
from tasks_lib.sandbox import Computer, Machine, RecordedEvent, RecordedFrame
from tasks_lib.sandbox.viewing import ScreenServer
from tasks_lib.store import AttemptFolder
from tasks_lib.taskdefs import LoadedTask


class Desk(Protocol):
    """What the one who asked for a recording does meanwhile."""

    def begin(self, stage: Stage, url: str) -> None:
        """Tell the person that the desktop is there."""

    def is_done(self) -> bool:
        """Wait for a moment, and say whether the person has finished the stage."""

    def tell(self, text: str) -> None:
        """Pass a remark on."""


@dataclass
class Recording:
    """What became of it.

    Attributes
    ----------
    verdict : Verdict or None
        None where the episode was interrupted or is VOID.
    void : VoidRecord or None
        Why it is VOID.
    interrupted : bool
        Whether the person gave up (Ctrl-C).
    drafts : dict of str to Draft
        Of each stage that the person came to, by the stage's id.
    screens : dict of (str, int) to bytes
        The screen before each step as PNG, by stage and number of the step, counted from 1.
    """

    verdict: Verdict | None = None
    void: VoidRecord | None = None
    interrupted: bool = False
    drafts: dict[str, Draft] = field(default_factory=dict)
    screens: dict[tuple[str, int], bytes] = field(default_factory=dict)


def recording_manifest(loaded: LoadedTask, digest: str, machine: MachineSettings, *, hints: bool = True) -> RunManifest:
    """Write down the run of a recording.

    Parameters
    ----------
    loaded : LoadedTask
    digest : str
        Digest of the task set.
    machine : MachineSettings
    hints : bool
        Whether the set-up is that of runs with hints.

    Raises
    ------
    ConfigurationError
        If no stage of the task is done with mouse and keyboard.
    """
    if not recorded_stages(loaded):
        kinds = ", ".join(sorted({str(stage.modality) for stage in loaded.task.stages}))
        msg = f"task {loaded.id} has no stage of modality gui ({kinds}): write its oracle by hand"
        raise ConfigurationError(msg)
    return make_manifest(
        "record",
        episodes_for([loaded], [Player(PERSON)], trials=1, seed=0),
        seed=0,
        machine=machine,
        task_set_digest=digest,
        settings={"hints": hints, "retries": 0, **needs_of([loaded])},
    )


def recorded_stages(loaded: LoadedTask) -> list[Stage]:
    """Return the stages that a person does; the others of a mixed task are the oracle's."""
    return [stage for stage in loaded.task.stages if stage.modality is Modality.GUI]


def record_episode(work: EpisodeWork, desk: Desk) -> Recording:
    """Let a person play an episode, judge it, and draft the oracle; whatever happens, what was done is drafted.

    Parameters
    ----------
    work : EpisodeWork
        Its run is `recording_manifest`'s.
    desk : Desk
        Says when the person is done; a ``KeyboardInterrupt`` ends the recording.
    """
    check_room(work.store)
    recording = Recording()
    with tempfile.TemporaryDirectory(prefix="matassay-recording-") as folder:
        person = _Person(desk, recording, Path(folder))
        phases = replace(plain_phases(), act=person.act)
        try:
            recording.verdict = asyncio.run(drive(work, phases))
        except EpisodeVoidError as error:
            recording.void = error.record
        except KeyboardInterrupt:
            recording.interrupted = True
    return recording


class _Person:
    """The act phase of a person."""

    def __init__(self, desk: Desk, recording: Recording, folder: Path) -> None:
        self._desk = desk
        self._recording = recording
        self._folder = folder
        self._stop = threading.Event()

    async def act(self, work: EpisodeWork, attempt: AttemptFolder, stage: Stage, machine: Machine) -> Ending:
        if stage.modality is not Modality.GUI:
            self._desk.tell(f"stage {stage.id} ({stage.modality}) is played by the oracle")
            oracle = replace(work, spec=work.spec.model_copy(update={"agent": "oracle"}))
            return await asyncio.to_thread(live.act, oracle, attempt, stage, machine)
        playing = asyncio.ensure_future(asyncio.to_thread(self._play, work, attempt, stage, machine))
        try:
            return await asyncio.shield(playing)
        except asyncio.CancelledError:
            self._stop.set()
            await asyncio.wait([playing])
            raise

    def _play(self, work: EpisodeWork, attempt: AttemptFolder, stage: Stage, machine: Machine) -> Ending:
        computer = machine.computer
        folder = self._folder / stage.id
        folder.mkdir()
        taken = _Taken(computer, folder)
        computer.settle()
        computer.start_recording()
        try:
            with ScreenServer(computer.open_screen, self._desk.tell) as server:
                self._desk.begin(stage, server.url)
                while not self._stop.is_set() and not self._desk.is_done():
                    taken.fetch()
            taken.fetch_last()
        except MachineLostError:
            self._desk.tell("the machine is lost; what was done until then is drafted")
            self._draft(work, stage, taken)
            raise
        for step in self._draft(work, stage, taken):
            work.store.append_line(attempt.stage(stage.id).trajectory, step.to_line())
        return Ending.DONE

    def _draft(self, work: EpisodeWork, stage: Stage, taken: _Taken) -> list[Step]:
        """Draft the oracle; return the steps as a trajectory keeps them, each screen stored once."""
        if not taken.frames:
            return []
        frames = Frames(taken.frames, taken.png)
        cut = sum(len(draft.targets) for draft in self._recording.drafts.values())
        draft = draft_of(taken.events, frames, work.taskdefs, taken=cut)
        if taken.fault:
            draft = replace(draft, notes=(*draft.notes, taken.fault))
        if len(draft.steps) + 1 > stage.budget.steps:
            note = f"{len(draft.steps) + 1} steps, the stage's budget has {stage.budget.steps}"
            draft = replace(draft, notes=(*draft.notes, note))
        self._recording.drafts[stage.id] = draft
        size = frames.pixels(frames.all[0]).shape[1::-1]
        steps = []
        last = DraftStep("", (), (), frames.all[-1], taken.now)
        for index, step in enumerate((*draft.steps, last), start=1):
            png = taken.png(step.frame.number)
            if step is not last:
                self._recording.screens[stage.id, index] = png
            reply = step.reply(named=False) if step is not last else DONE
            parsed = parse_reply(reply, stage.modality)
            steps.append(
                Step(
                    index=index,
                    started=now() - timedelta(seconds=max(0.0, taken.now - step.began)),
                    observation=Observation(
                        screenshot=work.store.put_blob(png, "image/png"),
                        width=size[0],
                        height=size[1],
                        windows=step.frame.windows,
                    ),
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


class _Taken:
    """What was fetched of a recording; its screens lie in a folder, one file each."""

    def __init__(self, computer: Computer, folder: Path) -> None:
        self._computer = computer
        self._folder = folder
        self.events: list[RecordedEvent] = []
        self.frames: list[RecordedFrame] = []
        self.fault = ""
        self.now = 0.0

    def fetch(self) -> None:
        """Fetch what is new, so that a machine that is lost takes little along."""
        news = self._computer.recording_news(len(self.events), len(self.frames))
        for frame in news.frames:
            self._file(frame.number).write_bytes(self._computer.recorded_frame(frame.number))
            self.frames.append(frame)
        self.events += news.events
        self.fault, self.now = news.fault or self.fault, news.now

    def fetch_last(self) -> None:
        """Wait until the screen is still, end the recording and fetch the rest."""
        self._computer.settle()
        self._computer.stop_recording()
        self.fetch()

    def png(self, number: int) -> bytes:
        """Return a screen."""
        return self._file(number).read_bytes()

    def _file(self, number: int) -> Path:
        return self._folder / f"{number}.png"
