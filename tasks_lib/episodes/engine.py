"""The seam between the command line and the orchestrator: an engine runs what a manifest in the store says.

`flows` provides one under the entry point group ``matassay.engine``; the command line never imports it by name.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, cast

from tasks_lib.episodes.progress import Listener
from tasks_lib.records import RunSummary
from tasks_lib.records.errors import ConfigurationError

if TYPE_CHECKING:
    from tasks_lib.instruments.experiments import Report
    from tasks_lib.instruments.tuning.progress import ScanListener
    from tasks_lib.instruments.tuning.session_records import TuningResult

Executor = Literal["inline", "deployments"]


def episodes_at_once(cores: int) -> int:
    """Return how many episodes run at once on so many cores: two a core, eight at most.

    An episode on the desktop uses about a quarter of a core and waits for still pixels the rest of its time; a model
    lets it wait longer. One of scripts alone uses a whole core, and more than one a core gain little there.
    """
    return max(2, min(8, 2 * cores))


EPISODES_AT_ONCE = episodes_at_once(os.cpu_count() or 1)
"""Where neither the settings nor the command line say how many."""


@dataclass(frozen=True)
class RunOrder:
    """What an engine is asked to run.

    Attributes
    ----------
    store_url : str
        Where the manifest is and everything goes.
    run_id : str
        The run; its manifest says which episodes.
    taskdefs : Path
        Root of the task definitions.
    concurrency : int
        Episodes at once.
    models_file : Path or None
        ``matassay.toml`` with the models, if any.
    executor : {"inline", "deployments"}
        In this process, or as deployments of a Prefect server that `matassay serve` started.
    episodes : tuple of str
        Only these episodes; empty: all that are not done.
    model_check : bool
        Whether the engine tries the models first, where their keys are; a run that fails it is refused.
    """

    store_url: str
    run_id: str
    taskdefs: Path
    concurrency: int
    models_file: Path | None = None
    executor: Executor = "inline"
    episodes: tuple[str, ...] = ()
    model_check: bool = False


@dataclass(frozen=True)
class ServeOrder:
    """What `matassay serve` is asked to keep up.

    Attributes
    ----------
    store_url, taskdefs, models_file
        As in `RunOrder`.
    state : Path
        Folder for the database and the server's own files.
    database_url : str or None
        A PostgreSQL server that is there; None starts an embedded one.
    port : int
        Port of the Prefect UI and API on loopback; 0 takes a free one.
    episodes_at_once : int
        Limit of the episode runner.
    nightly_cron, time_zone : str
        When the nightly run starts.
    nightly_benchmark : str
        What it runs.
    """

    store_url: str
    taskdefs: Path
    models_file: Path | None
    state: Path
    database_url: str | None
    port: int
    episodes_at_once: int
    nightly_cron: str
    time_zone: str
    nightly_benchmark: str


class Engine(Protocol):
    """Runs manifests and serves deployments."""

    def warm_up(self) -> None:
        """Begin to start what a run will need, in the background."""

    def run(self, order: RunOrder, listener: Listener | None = None) -> RunSummary:
        """Do what is missing of a run, write summary and report, return the summary.

        Raises
        ------
        KeyboardInterrupt
            If the user interrupts; what is done is kept.
        """

    def tune(self, store_url: str, tuning_id: str, listener: ScanListener | None = None) -> TuningResult:
        """Do what is missing of the tuning of a microscope whose order is in the store, and return its result.

        Raises
        ------
        TuningFailedError
            If no gains hold; the previous ones are restored.
        KeyboardInterrupt
            If the user interrupts; what is done is kept, and the previous gains are restored.
        """

    def experiment(self, store_url: str, experiment_id: str) -> Report:
        """Do the experiment at a microscope whose order is in the store, and return its report.

        Raises
        ------
        ExperimentError
            If a frame is not valid, or does not hold what was looked for; the settings of before are restored.
        KeyboardInterrupt
            If the user interrupts; the settings of before are restored.
        """

    def serve(self, order: ServeOrder) -> int:
        """Start database, server, deployments and runners, block until interrupted; return the exit code."""


def load_engine() -> Engine:
    """Find the engine that is installed.

    Raises
    ------
    ConfigurationError
        If there is none.
    """
    found = sorted(entry_points(group="matassay.engine"), key=lambda entry: entry.name)
    if not found:
        msg = (
            "no engine is installed under the entry point group 'matassay.engine': run `make run` or `pip install -e .`"
        )
        raise ConfigurationError(msg)
    return cast("Engine", found[0].load())
