"""Whether tasks are proved: the oracle scores 1, doing nothing and guessing 0, near misses fail where they must.

On a desktop somebody without any aim plays too, as long as the budget lasts, and must not score 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tasks_lib.agents import stuck_reason
from tasks_lib.episodes.conclusion import outcome_of
from tasks_lib.episodes.needs import needs_of
from tasks_lib.episodes.plan import Player, episodes_for, make_manifest
from tasks_lib.episodes.stored import newest_first
from tasks_lib.episodes.work import read_manifest
from tasks_lib.records import (
    EpisodeSpec,
    MachineSettings,
    Modality,
    Outcome,
    RunManifest,
    Step,
    Task,
    Verdict,
    VoidRecord,
)
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import LoadedTask

_ORACLE = Player("oracle")


@dataclass(frozen=True)
class Proof:
    """One played episode of a proof, and whether it shows what it has to."""

    task_id: str
    player: str
    trial: int
    holds: bool
    why: str


def players_for(task: Task) -> tuple[Player, ...]:
    """Return who has to play a task for its proof: oracle, nop, guess or random, and the oracle with each near miss.

    ``guess`` plays code, ``random`` plays on the desktop.
    """
    near = tuple(Player("oracle", variant=near_miss.id) for near_miss in task.near_misses)
    aimless = {Modality.CODE: (Player("guess"),), Modality.GUI: (Player("random"),)}.get(task.modality, ())
    return (Player("oracle"), Player("nop"), *aimless, *near)


def proof_manifest(
    tasks: Sequence[LoadedTask],
    digest: str,
    *,
    repeat: int,
    repeat_oracle: int | None = None,
    seed: int,
    machine: MachineSettings,
    run_id: str | None = None,
    retries: int = 0,
    hints: bool = True,
) -> RunManifest:
    """Write down the run that proves tasks: everybody of `players_for` plays every task.

    Parameters
    ----------
    tasks : sequence of LoadedTask
    digest : str
        Digest of the task set that they were drawn from.
    repeat : int
        How often each proof is played.
    repeat_oracle : int or None
        How often the oracle plays, without near misses; None: as often as everybody.
    seed, machine, run_id
        As for `make_manifest`.
    retries : int
        New attempts after an error that may pass; 0 shows every weakness of a task.
    hints : bool
        Whether the set-up is that of runs with hints, and the replies are those for it.
    """
    episodes = tuple(
        spec
        for loaded in tasks
        for player in players_for(loaded.task)
        for spec in episodes_for(
            [loaded], [player], seed=seed, trials=(repeat_oracle or repeat) if player == _ORACLE else repeat
        )
    )
    return make_manifest(
        "prove", episodes, run_id=run_id, seed=seed, machine=machine, task_set_digest=digest,
        settings={"hints": hints, "retries": retries, **needs_of(tasks)},
    )  # fmt: skip


def stuck_in(store: Store, run_id: str, spec: EpisodeSpec, task: Task) -> str:
    """Return where and why a transcript could not go on: a target was not on the screen, or more than once.

    Returns
    -------
    str
        Stage, step and reason; the screenshot is that step's. Empty where the transcript was played to its end.
    """
    for attempt in newest_first(RunFolder(store, run_id).episode(spec.id)):
        for stage in task.stages:
            place = attempt.stage(stage.id)
            if store.exists(place.trajectory):
                steps = store.read_lines(place.trajectory, Step)
                reason = stuck_reason(steps[-1].reply) if steps else ""
                if reason:
                    return f"stage {stage.id}, step {steps[-1].index}: {reason}"
    return ""


def check_proofs(store: Store, run_id: str, tasks: Iterable[LoadedTask]) -> tuple[Proof, ...]:
    """Check every episode of a manifest of proofs by what is in the store.

    Parameters
    ----------
    store, run_id
        The run.
    tasks : iterable of LoadedTask
        Episodes of other tasks are left out.

    Returns
    -------
    tuple of Proof
        Those that do not hold first, then by task, player and trial.
    """
    by_id = {loaded.id: loaded.task for loaded in tasks}
    proofs = []
    for spec in read_manifest(store, run_id).episodes:
        task = by_id.get(spec.task_id)
        if task is not None:
            # Only a transcript can be stuck; who plays without an aim has none.
            stuck = stuck_in(store, run_id, spec, task) if spec.agent == "oracle" else ""
            proofs.append(check_proof(task, spec, outcome_of(store, run_id, spec.id), stuck))
    return tuple(sorted(proofs, key=lambda proof: (proof.holds, proof.task_id, proof.player, proof.trial)))


def check_proof(task: Task, spec: EpisodeSpec, outcome: Verdict | VoidRecord | None, stuck: str = "") -> Proof:
    """Compare what came of an episode with what a proof wants.

    Parameters
    ----------
    task : Task
    spec : EpisodeSpec
        An episode of `players_for`.
    outcome : Verdict, VoidRecord or None
        What is in the store; None: not played yet.
    stuck : str
        What `stuck_in` says: a transcript that was not played to its end proves nothing, whatever its verdict.
    """
    player = Player.of(spec).label
    if outcome is None:
        holds, why = False, "not played"
    elif isinstance(outcome, VoidRecord):
        holds, why = False, f"VOID({outcome.reason}) in {outcome.phase}: {outcome.message}"
    elif stuck:
        holds, why = False, f"could not be played to its end: {stuck}"
    elif spec.variant is not None:
        holds, why = _near_miss(task, spec.variant, outcome)
    elif spec.agent == "oracle":
        holds, why = outcome.outcome is Outcome.PASS, _failed(outcome) or "every criterion is met"
    elif spec.agent == "random":
        # Points by accident are no proof against a task: a click may well zoom, and a task may ask for that too.
        points = f"{outcome.earned} of {outcome.points} points"
        holds, why = outcome.earned < outcome.points, f"{points} for doing anything: ask for a state that needs an aim"
    else:
        how = "guessing: make the answer one that only the data can give" if spec.agent == "guess" else "doing nothing"
        holds, why = outcome.earned == 0, f"{outcome.earned} of {outcome.points} points for {how}"
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
