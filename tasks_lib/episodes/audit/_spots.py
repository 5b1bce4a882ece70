"""The deliverables of a right state, each of which can be changed alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from tasks_lib.episodes.audit._states import State
from tasks_lib.records import BlobRef, CollectedFile, Criterion, Evidence, Stage, Task


@dataclass(frozen=True)
class Spot:
    """A deliverable of a state that is right, to be changed."""

    task: Task
    oracle: State
    stage: str
    path: str

    @property
    def evidence(self) -> Evidence:
        """The stage's evidence as the oracle left it."""
        return self.oracle.evidence[self.stage]

    @property
    def reading(self) -> tuple[Criterion, ...]:
        """The criteria that read the deliverable."""
        return tuple(c for c in self.task.criteria if c.stage == self.stage and c.reads.path == self.path)

    def known(self, touched: bool | None) -> dict[str, bool]:
        """Return what is known of the criteria that read the file: all are `touched`, or None: unknown."""
        return {} if touched is None else {criterion.id: touched for criterion in self.reading}

    def with_bytes(
        self, kind: str, what: str, data: bytes, criteria: Mapping[str, bool], *, solved: bool = False
    ) -> State:
        """Return the state with other bytes; a state that is not `solved` is adversarial."""
        reference = BlobRef(sha256=hashlib.sha256(data).hexdigest(), size=len(data))
        changed = self._with(kind, what, CollectedFile(path=self.path, blob=reference), criteria, data)
        return replace(changed, solved=solved, adversarial=not solved)

    def renamed(self, kind: str, other: str) -> State:
        """Return the state with the right file under another name."""
        reference = self.evidence.file(self.path)
        assert reference is not None  # noqa: S101 - `spots` yields deliverables that are there
        return self._with(kind, f"saved as {other}", CollectedFile(path=other, blob=reference), self.known(False))

    def _with(
        self, kind: str, what: str, file: CollectedFile, criteria: Mapping[str, bool], data: bytes | None = None
    ) -> State:
        kept = [entry for entry in self.evidence.files if entry.path not in (self.path, file.path)]
        files = tuple(sorted([*kept, file], key=lambda entry: entry.path))
        lost = (self.path,) if file.path != self.path else ()
        changed = self.evidence.model_copy(update={"files": files, "missing": (*self.evidence.missing, *lost)})
        return replace(
            self.oracle,
            kind=kind,
            name=f"{self.path}: {what}",
            evidence={**self.oracle.evidence, self.stage: changed},
            criteria=dict(criteria),
            solved=False,
            adversarial=True,
            data={} if data is None else {file.blob.sha256: data},
        )


def spots(task: Task, oracle: State, blob: Callable[[BlobRef], bytes]) -> Iterator[tuple[Spot, Stage, bytes]]:
    """Yield every deliverable that is there, is not empty and is read by a criterion, with its stage and its bytes."""
    for stage in task.stages:
        if stage.id in oracle.evidence:
            for deliverable in stage.deliverables:
                spot = Spot(task, oracle, stage.id, deliverable.path)
                reference = spot.evidence.file(deliverable.path)
                if reference is not None and reference.size > 0 and spot.reading:
                    yield spot, stage, blob(reference)
