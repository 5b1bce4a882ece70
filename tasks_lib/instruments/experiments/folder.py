"""Where an experiment lies in the store: its order, its frames, its report and its picture."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from tasks_lib.instruments.experiments.report import Report
from tasks_lib.instruments.experiments.scenes import EXPERIMENTS, POINTS, ExperimentScene, experiment_scene
from tasks_lib.instruments.frame import Frame
from tasks_lib.instruments.nid import write_nid
from tasks_lib.records import Document
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import Store, folder_name

ROOT = "experiments"


class ExperimentOrder(Document):
    """What is to be done on the twin: an experiment, the seed of its sample and noise, the points of its frames."""

    experiment: str
    seed: int = Field(default=0, ge=0)
    points: int = Field(default=POINTS, ge=32, le=1024)


@dataclass(frozen=True)
class ExperimentFolder:
    """One experiment in the store: ``experiments/<id>``.

    Raises
    ------
    ConfigurationError
        If the id is no name of a folder.
    """

    store: Store
    experiment_id: str

    def __post_init__(self) -> None:
        folder_name("experiment", self.experiment_id)

    @property
    def path(self) -> str:
        """The folder."""
        return f"{ROOT}/{self.experiment_id}"

    @property
    def report(self) -> str:
        """``report.json``, written last."""
        return f"{self.path}/report.json"

    @property
    def picture(self) -> str:
        """``frames.png``."""
        return f"{self.path}/frames.png"

    def frame(self, name: str) -> str:
        """Return where a frame lies."""
        return f"{self.path}/frames/{name}.nid"

    def begin(self, order: ExperimentOrder) -> None:
        """Write the order of a new experiment.

        Raises
        ------
        ConfigurationError
            If there is no such experiment, or the folder has another order.
        """
        if order.experiment not in EXPERIMENTS:
            msg = f"there is no experiment {order.experiment!r}; take one of {', '.join(EXPERIMENTS)}"
            raise ConfigurationError(msg)
        created = self.store.create(f"{self.path}/order.json", order.to_json().encode("utf-8"))
        if not created and self.order() != order:
            msg = f"experiment {self.experiment_id} was begun with another order: give another name"
            raise ConfigurationError(msg)

    def order(self) -> ExperimentOrder:
        """Return the order.

        Raises
        ------
        ConfigurationError
            If the store has no such experiment.
        """
        try:
            return self.store.read_document(f"{self.path}/order.json", ExperimentOrder)
        except FileNotFoundError as error:
            have = ", ".join(self.store.children(ROOT)[-5:]) or "none"
            msg = f"store {self.store.url} has no experiment {self.experiment_id!r}; it has: {have}"
            raise ConfigurationError(msg) from error

    def scene(self) -> ExperimentScene:
        """Return the experiment before a twin that bears its name."""
        order = self.order()
        name = f"twin-{self.experiment_id}"
        return experiment_scene(order.experiment, seed=order.seed, points=order.points, instrument=name)

    def keep_frame(self, name: str, frame: Frame) -> str:
        """Write a frame as `.nid`; return where it lies."""
        path = self.frame(name)
        self.store.write_bytes(path, write_nid(frame))
        return path

    def keep_report(self, report: Report, picture: bytes) -> None:
        """Write the picture, and then the report: from now on it is done."""
        self.store.write_bytes(self.picture, picture)
        self.store.write_document(self.report, report)

    def read_report(self) -> Report | None:
        """Return the report, or None before there is one."""
        try:
            return self.store.read_document(self.report, Report)
        except FileNotFoundError:
            return None
