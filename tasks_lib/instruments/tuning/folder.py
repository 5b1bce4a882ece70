"""Where a tuning lies in the store, and what of it is there."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tasks_lib.instruments.tuning.session_records import (
    Role,
    ScanPlan,
    ScanRecord,
    TuningAttempt,
    TuningOrder,
    TuningResult,
    TuningStart,
)
from tasks_lib.records import Json
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import Store, folder_name

TUNINGS = "tunings"
_SCAN = "scan.json"
_TRY = re.compile(r"(.+)\.(\d+)")


@dataclass(frozen=True)
class TuningFolder:
    """One tuning in the store: ``tunings/<id>``.

    Raises
    ------
    ConfigurationError
        If the id is no name of a folder.
    """

    store: Store
    tuning_id: str

    def __post_init__(self) -> None:
        folder_name("tuning", self.tuning_id)

    @property
    def path(self) -> str:
        """The tuning's folder."""
        return f"{TUNINGS}/{self.tuning_id}"

    @property
    def result(self) -> str:
        """``result.json``, written last."""
        return f"{self.path}/result.json"

    @property
    def attempts(self) -> str:
        """``attempts.jsonl``: how each process that worked on it ended."""
        return f"{self.path}/attempts.jsonl"

    def picture(self, group: str, name: str) -> str:
        """Return where a picture of the state after a group of scans lies."""
        return f"{self.path}/pictures/{group}-{name}.png"

    def begin(self, order: TuningOrder) -> None:
        """Write the order of a new tuning; for one that is there it has to be the same.

        Raises
        ------
        ConfigurationError
            If the tuning was begun with another order, the message names what differs; or if there is no tuning on
            such an instrument.
        """
        order.check_reach()
        if self.store.create(f"{self.path}/order.json", order.to_json().encode("utf-8")):
            return
        known, wanted = self.order().model_dump(mode="json"), order.model_dump(mode="json")
        differ = [name for name in sorted(known) if known[name] != wanted[name]]
        other = [f"{name} {known[name]!r}, not {wanted[name]!r}" for name in differ]
        if other:
            msg = f"tuning {self.tuning_id} was begun with {'; '.join(other)}: go on with these, or give another name"
            raise ConfigurationError(msg)

    def order(self) -> TuningOrder:
        """Return the order.

        Raises
        ------
        ConfigurationError
            If the store has no such tuning.
        """
        try:
            return self.store.read_document(f"{self.path}/order.json", TuningOrder)
        except FileNotFoundError as error:
            have = ", ".join(self.store.children(TUNINGS)[-5:]) or "none"
            msg = f"store {self.store.url} has no tuning {self.tuning_id!r}; it has: {have}"
            raise ConfigurationError(msg) from error

    def start(self) -> TuningStart | None:
        """Return how the instrument was found, or None before anybody looked."""
        try:
            return self.store.read_document(f"{self.path}/start.json", TuningStart)
        except FileNotFoundError:
            return None

    def write_start(self, start: TuningStart) -> None:
        """Keep how the instrument was found, once."""
        self.store.create(f"{self.path}/start.json", start.to_json().encode("utf-8"))

    def read_result(self) -> TuningResult | None:
        """Return the result, or None before there is one."""
        try:
            return self.store.read_document(self.result, TuningResult)
        except FileNotFoundError:
            return None

    def new_events(self) -> str:
        """Return where the instrument's log of one more process goes."""
        taken = [name for name in self.store.children(self.path) if name.startswith("events-")]
        return f"{self.path}/events-{len(taken) + 1:03d}.jsonl"

    def new_scan(self, plan: ScanPlan) -> str:
        """Return the folder of a scan; one that is done again gets a folder beside the first."""
        path, number = f"{self.path}/scans/{plan.label}", 1
        while self.store.exists(f"{path}/{_SCAN}"):
            number += 1
            path = f"{self.path}/scans/{plan.label}.{number}"
        return path

    def write_scan(self, record: ScanRecord) -> None:
        """Keep a scan; from now on it is done."""
        self.store.write_document(f"{record.folder}/{_SCAN}", record)

    def scans(self) -> list[ScanRecord]:
        """Return every scan that was recorded, in the order in which they were made."""
        paths = [path for path in self.store.list(f"{self.path}/scans") if path.endswith(f"/{_SCAN}")]
        return sorted((self.store.read_document(path, ScanRecord) for path in paths), key=lambda one: one.serial)

    def read_attempts(self) -> list[TuningAttempt]:
        """Return how the processes that worked on it ended."""
        return self.store.read_lines(self.attempts, TuningAttempt)


def last_memory(records: list[ScanRecord]) -> Json:
    """Return what the last scan says that a simulated instrument needs to go on; None before the first."""
    return records[-1].memory if records else None


def settled(records: list[ScanRecord], void_limit: int) -> dict[str, ScanRecord]:
    """Return by label the scans that need not be made again.

    Of a scan that was made again the last counts. Void scans count as trials, but for two kinds, since whoever goes on
    has mended something: those that stopped a search by their number in a row, and those that were to verify.
    """
    latest = {one.plan.label: one for one in records}
    kept = {
        label: one for label, one in latest.items() if not (one.void and one.plan.role is Role.VERIFY)
    }  # fmt: skip
    trials = sorted((one for one in kept.values() if one.plan.number is not None), key=lambda one: one.plan.number or 0)
    tail = 0
    while tail < len(trials) and trials[-1 - tail].void:
        tail += 1
    if tail >= void_limit:
        for one in trials[-tail:]:
            del kept[one.plan.label]
    return kept
