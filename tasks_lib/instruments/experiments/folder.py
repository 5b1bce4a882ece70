"""Where an experiment lies in the store: its order, how its instrument was found, its frames, report and picture."""

from __future__ import annotations

from dataclasses import dataclass

from tasks_lib.instruments.experiments.bench import ExperimentOrder
from tasks_lib.instruments.experiments.procedure import FrameOrder
from tasks_lib.instruments.experiments.report import Report
from tasks_lib.instruments.frame import Frame
from tasks_lib.instruments.nid import read_nid
from tasks_lib.instruments.protocol import State
from tasks_lib.records import Document, Json, UtcTime
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import Store, folder_name

ROOT = "experiments"
__all__ = ["ROOT", "ExperimentFolder", "ExperimentOrder", "ExperimentStart", "FrameRecord"]


class ExperimentStart(Document):
    """How the instrument was found; written before anything on it is changed, so that a kill cannot lose it."""

    instrument: str
    state: State
    at: UtcTime


class FrameRecord(Document):
    """A frame that was scanned and kept.

    Attributes
    ----------
    order : FrameOrder
    serial : int
        Frames of this experiment that were kept before it.
    process : int
        Number of the process that scanned it, from 1: between two of them somebody may have touched the instrument.
    at : datetime
        When it was kept.
    path : str
        The `.nid` file in the store.
    memory : Json
        What a simulated instrument needs to go on after it.
    """

    order: FrameOrder
    serial: int
    process: int
    at: UtcTime
    path: str
    memory: Json = None


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
            If there is no such experiment on such an instrument, or the folder has another order.
        """
        order.check_reach()
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

    def start(self) -> ExperimentStart | None:
        """Return how the instrument was found, or None before anybody looked."""
        try:
            return self.store.read_document(f"{self.path}/start.json", ExperimentStart)
        except FileNotFoundError:
            return None

    def write_start(self, start: ExperimentStart) -> None:
        """Keep how the instrument was found, once."""
        self.store.create(f"{self.path}/start.json", start.to_json().encode("utf-8"))

    def new_frame(self, name: str) -> str:
        """Return where a frame goes; one that is scanned again lies beside the first, as ``load-3.2.nid``."""
        path, number = self.frame(name), 1
        while self.store.exists(_record(path)):
            number += 1
            path = self.frame(f"{name}.{number}")
        return path

    def keep_frame(self, record: FrameRecord, content: bytes) -> None:
        """Write a `.nid` file, and then its record: from now on it is scanned."""
        self.store.write_bytes(record.path, content)
        self.store.write_document(_record(record.path), record)

    def frames(self) -> list[FrameRecord]:
        """Return every frame that was kept, in the order in which they were scanned."""
        paths = [path for path in self.store.list(f"{self.path}/frames") if path.endswith(".json")]
        return sorted((self.store.read_document(path, FrameRecord) for path in paths), key=lambda one: one.serial)

    def read_frame(self, record: FrameRecord) -> Frame:
        """Read a frame that was kept."""
        return read_nid(self.store.read_bytes(record.path), name=record.path).frame()

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


def _record(path: str) -> str:
    return f"{path.removesuffix('.nid')}.json"
