"""Scorings that are kept in a store: what was scored with which rules, and a report a file of predictions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from tasks_lib.evaluation.alignment.embedding_cache import EmbeddingCache
from tasks_lib.evaluation.alignment.encoders import DEFAULT_ENCODER, Encoder
from tasks_lib.evaluation.alignment.files import TrajectoryFile, parse_trajectories
from tasks_lib.evaluation.alignment.report import AlignmentReport, Budget
from tasks_lib.evaluation.alignment.scoring import TAU_STRONG, TAU_WEAK, Rules, score_files
from tasks_lib.evaluation.alignment.strict import StrictReport, ToolSnapshot, read_snapshot, score_strictly
from tasks_lib.records import BlobRef, Document, Record, Text
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import Store, folder_name

ROOT = "scorings"
AnyReport = AlignmentReport | StrictReport


class ScoringOrder(Record):
    """What a person asks for; paths are of files on this machine."""

    references: Path
    predictions: Annotated[tuple[Path, ...], Field(min_length=1, max_length=200)]
    mode: Literal["strict", "compat"] = "strict"
    tools: Path | None = Field(default=None, description="strict: a snapshot of the tools' schemas")
    encoder: str = DEFAULT_ENCODER
    tau_weak: float = Field(default=TAU_WEAK, ge=0, le=1, description="compat alone")
    tau_strong: float = Field(default=TAU_STRONG, ge=0, le=1, description="compat alone")
    budget: Budget = Budget()
    seed: int = Field(default=0, ge=0, description="strict: of the baselines")


class KeptFile(Record):
    """A file as it was when the scoring began."""

    name: Text
    blob: BlobRef


class ScoringPlan(Document):
    """A scoring with its files in the store: the same whenever and wherever it is gone on with."""

    order: ScoringOrder
    references: KeptFile
    predictions: tuple[KeptFile, ...]
    tools: ToolSnapshot | None = None


@dataclass(frozen=True)
class ScoringFolder:
    """One scoring in the store: ``scorings/<id>``.

    Raises
    ------
    ConfigurationError
        If the id is no name of a folder.
    """

    store: Store
    scoring_id: str

    def __post_init__(self) -> None:
        folder_name("scoring", self.scoring_id)

    @property
    def path(self) -> str:
        """The folder."""
        return f"{ROOT}/{self.scoring_id}"

    def picture(self, name: str) -> str:
        """Return where a picture lies."""
        return f"{self.path}/{name}.png"

    def report(self, file: KeptFile) -> str:
        """Return where the report of a file of predictions lies; any name may be a file's, so a digest is the path."""
        whole = f"{file.name}\n{file.blob.sha256}"
        return f"{self.path}/reports/{hashlib.sha256(whole.encode('utf-8', 'replace')).hexdigest()}.json"

    def begin(self, order: ScoringOrder) -> ScoringPlan:
        """Take the files into the store.

        Raises
        ------
        ConfigurationError
            If two files of predictions have one name, or the folder has another order or other files.
        OSError
            If a file cannot be read.
        """
        predictions = tuple(self._keep(path) for path in order.predictions)
        names = [file.name for file in predictions]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            msg = f"files of predictions are told by their names, {twice[0]} comes twice: rename one"
            raise ConfigurationError(msg)
        plan = ScoringPlan(
            order=order,
            references=self._keep(order.references),
            predictions=predictions,
            tools=read_snapshot(order.tools) if order.tools else None,
        )
        created = self.store.create(f"{self.path}/plan.json", plan.to_json().encode("utf-8"))
        if not created and self.plan() != plan:
            msg = f"scoring {self.scoring_id} was begun with another order or other files: give another name"
            raise ConfigurationError(msg)
        return plan

    def plan(self) -> ScoringPlan:
        """Return the plan.

        Raises
        ------
        ConfigurationError
            If the store has no such scoring.
        """
        try:
            return self.store.read_document(f"{self.path}/plan.json", ScoringPlan)
        except FileNotFoundError as error:
            have = ", ".join(self.store.children(ROOT)[-5:]) or "none"
            msg = f"store {self.store.url} has no scoring {self.scoring_id!r}; it has: {have}"
            raise ConfigurationError(msg) from error

    def read_report(self, file: KeptFile, mode: str) -> AnyReport | None:
        """Return the report of a file of predictions, or None before there is one."""
        model: type[AlignmentReport] | type[StrictReport] = AlignmentReport if mode == "compat" else StrictReport
        try:
            return self.store.read_document(self.report(file), model)
        except FileNotFoundError:
            return None

    def score(self, file: KeptFile, plan: ScoringPlan, encoder: Encoder, cache: EmbeddingCache | None) -> AnyReport:
        """Score one file of predictions and keep its report; one that is kept is returned as it is."""
        if (kept := self.read_report(file, plan.order.mode)) is not None:
            return kept
        order, references, predictions = plan.order, self._read(plan.references), self._read(file)
        reports: Sequence[AnyReport]
        if order.mode == "compat":
            rules = Rules(tau_strong=order.tau_strong, tau_weak=order.tau_weak, budget=order.budget)
            reports = score_files(references, [predictions], encoder, cache=cache, rules=rules)
        else:
            reports = score_strictly(
                references,
                [predictions],
                encoder,
                tools=plan.tools,
                cache=cache,
                budget=order.budget,
                seed=order.seed,
            )
        self.store.write_document(self.report(file), reports[0])
        return reports[0]

    def _keep(self, path: Path) -> KeptFile:
        return KeptFile(name=path.stem, blob=self.store.put_blob(path.read_bytes(), "application/json"))

    def _read(self, file: KeptFile) -> TrajectoryFile:
        return parse_trajectories(self.store.get_blob(file.blob), file.name)
