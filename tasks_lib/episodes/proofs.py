"""Whether tasks are proved: the oracle scores 1, doing nothing scores 0, near misses fail where they must."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tasks_lib.episodes.plan import Player
from tasks_lib.records import EpisodeSpec, Outcome, Task, Verdict, VoidRecord


@dataclass(frozen=True)
class Proof:
    """One played episode of a proof, and whether it shows what it has to."""

    task_id: str
    player: str
    trial: int
    holds: bool
    why: str


def players_for(task: Task) -> tuple[Player, ...]:
    """Return who has to play a task for its proof: oracle, nop, and the oracle with each near miss."""
    near = tuple(Player("oracle", variant=near_miss.id) for near_miss in task.near_misses)
    return (Player("oracle"), Player("nop"), *near)


def check_proof(task: Task, spec: EpisodeSpec, outcome: Verdict | VoidRecord | None) -> Proof:
    """Compare what came of an episode with what a proof wants.

    Parameters
    ----------
    task : Task
    spec : EpisodeSpec
        An episode of `players_for`.
    outcome : Verdict, VoidRecord or None
        What is in the store; None: not played yet.
    """
    player = Player(spec.agent, spec.model, spec.variant).label
    if outcome is None:
        holds, why = False, "not played"
    elif isinstance(outcome, VoidRecord):
        holds, why = False, f"VOID({outcome.reason}) in {outcome.phase}: {outcome.message}"
    elif spec.variant is not None:
        holds, why = _near_miss(task, spec.variant, outcome)
    elif spec.agent == "oracle":
        holds, why = outcome.outcome is Outcome.PASS, _failed(outcome) or "every criterion is met"
    else:
        holds, why = outcome.earned == 0, f"{outcome.earned} of {outcome.points} points for doing nothing"
    return Proof(task.id, player, spec.trial, holds, why)


def _near_miss(task: Task, variant: str, verdict: Verdict) -> tuple[bool, str]:
    near_miss = next(entry for entry in task.near_misses if entry.id == variant)
    failed = {record.id for record in verdict.criteria if not record.passed}
    if failed == set(near_miss.fails):
        return True, f"fails {', '.join(sorted(failed))}, as it must"
    unmet, extra = sorted(set(near_miss.fails) - failed), sorted(failed - set(near_miss.fails))
    parts = [f"passes {', '.join(unmet)} though it must not"] if unmet else []
    parts += [f"fails {', '.join(extra)} too: name it under `fails`, or narrow the edit"] if extra else []
    return False, "; ".join(parts)


def _failed(verdict: Verdict) -> str:
    return "; ".join(f"{record.id}: {record.why}" for record in verdict.criteria if not record.passed)


def unproved(proofs: Iterable[Proof]) -> tuple[Proof, ...]:
    """Return the proofs that do not hold."""
    return tuple(proof for proof in proofs if not proof.holds)


def proof_rows(proofs: Iterable[Proof]) -> Mapping[str, tuple[Proof, ...]]:
    """Group proofs by task, sorted."""
    rows: dict[str, list[Proof]] = {}
    for proof in sorted(proofs, key=lambda entry: (entry.task_id, entry.player, entry.trial)):
        rows.setdefault(proof.task_id, []).append(proof)
    return {task_id: tuple(entries) for task_id, entries in rows.items()}
