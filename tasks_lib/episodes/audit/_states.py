"""End states and what is known of them, by the definition of a proof and never by an evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tasks_lib.records import BlobRef, EpisodeSpec, Evidence, Task

NEAR_MISS = "near miss"
_NOTHING = frozenset({"nop", "guess"})


@dataclass(frozen=True)
class State:
    """What an agent left, or might have left, behind.

    Attributes
    ----------
    task_id, domain : str
    kind : str
        ``oracle``, ``near miss``, ``nop``, ``guess``, ``random``, or how an adversarial state was derived.
    name : str
        Which of its kind it is.
    evidence : mapping of str to Evidence
        Stage -> evidence.
    criteria : mapping of str to bool
        Criterion -> whether it is met. A criterion of which nothing is known is not in it.
    solved : bool
        Whether the task is solved.
    adversarial : bool
        Whether it was derived to deceive.
    data : mapping of str to bytes
        Blobs that the store does not hold, by digest.
    """

    task_id: str
    domain: str
    kind: str
    name: str
    evidence: Mapping[str, Evidence]
    criteria: Mapping[str, bool]
    solved: bool
    adversarial: bool = False
    data: Mapping[str, bytes] = field(default_factory=dict)

    def holds(self, blob: BlobRef) -> bool:
        """Tell whether a blob is the state's own."""
        return blob.sha256 in self.data


def played_state(task: Task, spec: EpisodeSpec, evidence: Mapping[str, Evidence]) -> State | None:
    """Say what is known of the end state of a proof's episode.

    The oracle meets every criterion, ``nop`` and ``guess`` none, a near miss all but those that it names. Of ``random``
    nothing is known but that it does not solve the task.

    Parameters
    ----------
    task : Task
    spec : EpisodeSpec
    evidence : mapping of str to Evidence

    Returns
    -------
    State or None
        None where a proof says nothing of who played: another agent, or a near miss that the task no longer has.
    """
    ids = [criterion.id for criterion in task.criteria]
    solved = False
    if spec.agent == "oracle" and spec.variant is None:
        kind, criteria, solved = "oracle", dict.fromkeys(ids, True), True
    elif spec.agent == "oracle":
        near = next((item for item in task.near_misses if item.id == spec.variant), None)
        if near is None:
            return None
        kind, criteria = NEAR_MISS, {name: name not in near.fails for name in ids}
    elif spec.agent in _NOTHING:
        kind, criteria = spec.agent, dict.fromkeys(ids, False)
    elif spec.agent == "random":
        kind, criteria = "random", {}
    else:
        return None
    name = f"{spec.variant}, trial {spec.trial}" if spec.variant else f"trial {spec.trial}"
    return State(task.id, task.domain, kind, name, evidence, criteria, solved)
