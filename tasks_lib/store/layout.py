"""Where everything of a run lies in the store; no other module spells these paths."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from tasks_lib.records import check_relative_path
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.records.identifiers import EpisodeId, RunId, Slug
from tasks_lib.store._store import Store

MAIN = "main"
_ATTEMPT = re.compile(r"attempt-(\d{3,})")
_NAMES: dict[str, TypeAdapter[str]] = {
    "run id": TypeAdapter(RunId),
    "episode id": TypeAdapter(EpisodeId),
    "stage": TypeAdapter(Slug),
    "night": TypeAdapter(RunId),
    "tuning": TypeAdapter(RunId),
    "experiment": TypeAdapter(RunId),
    "judge": TypeAdapter(RunId),
    "scoring": TypeAdapter(RunId),
}


def folder_name(kind: str, value: str) -> str:
    """Return the id of something that has a folder of its own.

    Raises
    ------
    ConfigurationError
        If it is no name of a folder.
    """
    try:
        return _NAMES[kind].validate_python(value)
    except ValidationError as error:
        rule = error.errors()[0]["msg"]
        msg = f"{kind} {value!r} is no name of a folder: {rule}; use lower case letters, digits, '-' and '.'"
        raise ConfigurationError(msg) from error


def runs(store: Store) -> list[str]:
    """Return the ids of all runs in a store, sorted."""
    return store.children("runs")


def night_purse(night: str) -> str:
    """Return where the purse lies that the runs of a night share."""
    return f"nights/{folder_name('night', night)}.purse.json"


def kept_reply(digest: str) -> str:
    """Return where the reply to a request of that digest is kept."""
    return f"replies/{digest[:2]}/{digest[2:]}.json"


def judge_requests(judge: str, asked: str) -> str:
    """Return the log of what a judge of trajectories was asked; `asked` is a digest of the task and the metric."""
    return f"judges/{folder_name('judge', judge)}/{asked}.jsonl"


@dataclass(frozen=True, slots=True)
class StageFolder:
    """What one stage of an attempt writes."""

    path: str

    @property
    def provision(self) -> str:
        """``provision.json``."""
        return f"{self.path}/provision.json"

    @property
    def initialise(self) -> str:
        """``initialise.json``."""
        return f"{self.path}/initialise.json"

    @property
    def trajectory(self) -> str:
        """``trajectory.jsonl``, one step a line."""
        return f"{self.path}/trajectory.jsonl"

    @property
    def evidence(self) -> str:
        """``evidence.json``."""
        return f"{self.path}/evidence.json"

    @property
    def exchanges(self) -> str:
        """``requests.jsonl``, what models were asked and what came back, one try a line; the pictures are blobs."""
        return f"{self.path}/requests.jsonl"

    def requests(self, endpoint: str) -> str:
        """``requests.<endpoint>.jsonl``, what the stage's database of that name was asked, one request a line."""
        return f"{self.path}/requests.{endpoint}.jsonl"

    @property
    def replies(self) -> str:
        """``replies.jsonl``, what live databases answered, one reply a line; the bodies are blobs."""
        return f"{self.path}/replies.jsonl"


@dataclass(frozen=True, slots=True)
class AttemptFolder:
    """One attempt at an episode."""

    path: str
    number: int

    @property
    def lease(self) -> str:
        """``lease.json``."""
        return f"{self.path}/lease.json"

    @property
    def void(self) -> str:
        """``void.json``, only where the attempt is VOID."""
        return f"{self.path}/void.json"

    @property
    def verdict(self) -> str:
        """``verdict.json``."""
        return f"{self.path}/verdict.json"

    def stage(self, stage_id: str = MAIN) -> StageFolder:
        """Return a stage's folder: the attempt's own for the single stage ``main``, one below ``stages/`` otherwise."""
        name = folder_name("stage", stage_id)
        return StageFolder(self.path if name == MAIN else f"{self.path}/stages/{name}")


@dataclass(frozen=True)
class EpisodeFolder:
    """One episode of a run and its attempts.

    Raises
    ------
    ConfigurationError
        If an id is no name of a folder.
    """

    store: Store
    run_id: str
    episode_id: str

    def __post_init__(self) -> None:
        folder_name("run id", self.run_id)
        folder_name("episode id", self.episode_id)

    @property
    def path(self) -> str:
        """The episode's folder."""
        return f"runs/{self.run_id}/episodes/{self.episode_id}"

    def attempt(self, number: int) -> AttemptFolder:
        """Return the attempt of that number, counted from 1, whether it exists or not."""
        if number < 1:
            msg = f"attempts count from 1, got {number}"
            raise ConfigurationError(msg)
        return AttemptFolder(f"{self.path}/attempt-{number:03d}", number)

    def attempts(self) -> list[int]:
        """Return the numbers of the attempts that were opened, in order."""
        found = (_ATTEMPT.fullmatch(name) for name in self.store.children(self.path))
        # A folder is there a moment before its first document, and an attempt is not.
        return sorted(
            int(match.group(1)) for match in found if match and self.store.list(f"{self.path}/{match.group()}")
        )

    def last(self) -> AttemptFolder | None:
        """Return the newest attempt, or None before the first."""
        numbers = self.attempts()
        return self.attempt(numbers[-1]) if numbers else None

    @property
    def handoffs(self) -> str:
        """The folder of what the stages gave each other."""
        return f"runs/{self.run_id}/handoffs/{self.episode_id}"

    def handoff(self, stage_id: str, artifact: str) -> str:
        """Return where an artifact lies that a stage gave the next."""
        try:
            return f"{self.handoffs}/{folder_name('stage', stage_id)}/{check_relative_path(artifact)}"
        except ValueError as error:
            msg = f"hand-off {artifact!r} of stage {stage_id!r} is no path inside its folder: {error}"
            raise ConfigurationError(msg) from error

    def handoff_check(self, stage_id: str, artifact: str) -> str:
        """Return where the check of that artifact lies."""
        return f"{self.handoff(stage_id, artifact)}.check.json"


@dataclass(frozen=True)
class RunFolder:
    """One run.

    Raises
    ------
    ConfigurationError
        If the id is no name of a folder.
    """

    store: Store
    run_id: str

    def __post_init__(self) -> None:
        folder_name("run id", self.run_id)

    @property
    def path(self) -> str:
        """The run's folder."""
        return f"runs/{self.run_id}"

    @property
    def manifest(self) -> str:
        """``manifest.json``."""
        return f"{self.path}/manifest.json"

    @property
    def summary(self) -> str:
        """``summary.json``."""
        return f"{self.path}/summary.json"

    @property
    def purse(self) -> str:
        """``purse.json``, what the run has spent at models, where it has a budget."""
        return f"{self.path}/purse.json"

    @property
    def report(self) -> str:
        """The folder of the static report."""
        return f"{self.path}/report"

    def explained(self, episode_id: str) -> str:
        """Return the folder of the evidence that `matassay explain` shows of an episode."""
        return f"{self.path}/explained/{folder_name('episode id', episode_id)}"

    def episode(self, episode_id: str) -> EpisodeFolder:
        """Return the folder of an episode."""
        return EpisodeFolder(self.store, self.run_id, episode_id)

    def episodes(self) -> list[str]:
        """Return the ids of the episodes that have a folder, sorted; the manifest says which there will be."""
        return self.store.children(f"{self.path}/episodes")
