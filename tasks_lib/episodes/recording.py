"""An episode that a person plays: the phases of every other, and in the place of an agent the desktop in a browser."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

from tasks_lib.agents.recording import Draft
from tasks_lib.episodes import live
from tasks_lib.episodes.attempts import check_room
from tasks_lib.episodes.driver import EpisodeVoidError, drive, plain_phases
from tasks_lib.episodes.needs import needs_of
from tasks_lib.episodes.plan import PERSON, Player, episodes_for, make_manifest
from tasks_lib.episodes.sitting import Desk, Sitting
from tasks_lib.episodes.work import EpisodeWork
from tasks_lib.records import Ending, MachineSettings, Modality, RunManifest, Stage, Step, Verdict, VoidRecord
from tasks_lib.records.errors import ConfigurationError, MachineLostError
from tasks_lib.sandbox import Machine
from tasks_lib.store import AttemptFolder
from tasks_lib.taskdefs import LoadedTask


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
        folder = self._folder / stage.id
        folder.mkdir()
        sitting = Sitting(work, stage, machine.computer, folder)
        try:
            sitting.watch(self._desk, until=self._stop.is_set)
        except MachineLostError:
            self._desk.tell("the machine is lost; what was done until then is drafted")
            self._draft(sitting, stage)
            raise
        for step in self._draft(sitting, stage):
            work.store.append_line(attempt.stage(stage.id).trajectory, step.to_line())
        return Ending.DONE

    def _draft(self, sitting: Sitting, stage: Stage) -> list[Step]:
        """Draft the oracle; return the steps as a trajectory keeps them."""
        draft = sitting.draft(taken=sum(len(draft.targets) for draft in self._recording.drafts.values()))
        if draft is None:
            return []
        self._recording.drafts[stage.id] = draft
        for index, png in enumerate(sitting.screens(draft), start=1):
            self._recording.screens[stage.id, index] = png
        return sitting.steps(draft)


__all__ = ["Desk", "Recording", "record_episode", "recorded_stages", "recording_manifest"]
