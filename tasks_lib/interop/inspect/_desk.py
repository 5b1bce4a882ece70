"""Our side of an ``inspect eval``: the runs in the store, and the course of one sample's episode."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tasks_lib.agents import LlmAgent
from tasks_lib.agents.settings import AgentSettings
from tasks_lib.episodes import (
    EPISODES_AT_ONCE,
    EpisodeVoidError,
    EpisodeWork,
    Player,
    build_environments,
    drive,
    episodes_for,
    live,
    load_work,
    make_manifest,
    needs_of,
    open_run,
    plain_phases,
)
from tasks_lib.interop.inspect._model import InspectChat
from tasks_lib.records import Ending, MachineSettings, RunManifest, Stage, Verdict, episode_id, now, slug
from tasks_lib.sandbox import Machine
from tasks_lib.store import AttemptFolder, Store
from tasks_lib.taskdefs import LoadedTask

_LOG = logging.getLogger(__name__)
INSPECT = "inspect"
"""The player of episodes that Inspect asks for; `episodes.plan.OUTSIDE` says how such an episode is played again."""


@dataclass
class Desk:
    """What the samples of one task share.

    Attributes
    ----------
    name : str
        Of the benchmark.
    tasks : sequence of LoadedTask
    digest : str
        Of the task set.
    root : Path
        Of the task definitions.
    store : Store
        Where the episodes are kept, as those of any other run.
    machine : MachineSettings
    settings : AgentSettings
        How the model is asked.
    """

    name: str
    tasks: Sequence[LoadedTask]
    digest: str
    root: Path
    store: Store
    machine: MachineSettings
    settings: AgentSettings
    _runs: dict[tuple[str, int], RunManifest] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _places: asyncio.Semaphore | None = None

    def work(self, task_id: str, model: str, epoch: int) -> EpisodeWork:
        """Return the episode of a sample; each model and epoch has a run of its own."""
        with self._lock:
            manifest = self._runs.get((model, epoch))
            if manifest is None:
                manifest = self._runs[model, epoch] = open_run(self.store, self._manifest(model, epoch))
                build_environments(manifest, self.root, _LOG.warning)
        identity = episode_id(task_id, Player(INSPECT, slug(model)).label, 1)
        return load_work(self.store, manifest.run_id, identity, self.root)

    def _manifest(self, model: str, epoch: int) -> RunManifest:
        created = now()
        # Two evals may start in one second: the microseconds keep their runs apart.
        name = f"{created:%Y%m%d-%H%M%S}-{created.microsecond:06d}-{slug(self.name)}-inspect"
        return make_manifest(
            self.name,
            episodes_for(self.tasks, [Player(INSPECT, slug(model))], trials=1, seed=epoch),
            run_id=name,
            seed=epoch,
            machine=self.machine,
            task_set_digest=self.digest,
            settings={
                "hints": self.settings.hints,
                "retries": 1,
                "agent": self.settings.model_dump(mode="json"),
                "inspect": {"model": model, "epoch": epoch},
                **needs_of(self.tasks),
            },
        )

    async def play(self, work: EpisodeWork, chat: InspectChat) -> Verdict:
        """Drive an episode whose agent asks Inspect's model.

        Raises
        ------
        EpisodeVoidError
            If it is VOID: an error of the sample, never a score of 0.
        LimitExceededError
            If a limit of Inspect's ended it.
        """

        async def act(work: EpisodeWork, attempt: AttemptFolder, stage: Stage, machine: Machine) -> Ending:
            agent = LlmAgent(chat, settings=self.settings, name=INSPECT)
            playing = asyncio.ensure_future(asyncio.to_thread(live.act, work, attempt, stage, machine, player=agent))
            try:
                return await asyncio.shield(playing)
            except asyncio.CancelledError:
                chat.stop()
                await asyncio.wait([playing])
                raise

        if self._places is None:
            self._places = asyncio.Semaphore(EPISODES_AT_ONCE)
        async with self._places:
            try:
                return await drive(work, replace(plain_phases(), act=act))
            except EpisodeVoidError:
                if chat.limit is not None:
                    raise chat.limit from None
                raise
