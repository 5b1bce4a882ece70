"""Proofs that flicker: the same player on the same task, and not the same verdict."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from tasks_lib.episodes.plan import Player
from tasks_lib.records import EpisodeSpec, Verdict, VoidRecord

# Of a criterion's record; the digests of its evidence are left out, because files say when they were written.
_FIELDS = ("passed", "points", "seen", "wanted", "why")
# These draw by a seed that is another one in each trial: what they leave differs by design, how it is judged must not.
_DRAWING = frozenset({"guess", "random"})


@dataclass(frozen=True)
class Difference:
    """One thing that trials do not agree on.

    Attributes
    ----------
    what : str
        ``outcome``, or a criterion and the field of its record, such as ``positions: seen``.
    values : tuple of (str, tuple of int)
        Each value as JSON and the trials that have it, most trials first.
    """

    what: str
    values: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Flaky:
    """A proof whose trials are not all alike."""

    task_id: str
    player: str
    trials: int
    differences: tuple[Difference, ...]


def flaky_proofs(played: Iterable[tuple[EpisodeSpec, Verdict | VoidRecord | None]]) -> tuple[Flaky, ...]:
    """Compare the trials of each proof: outcome, and each criterion's record without digests of its evidence.

    Of agents that draw by the trial's seed, outcome and criteria passed are compared alone.

    Parameters
    ----------
    played : iterable of (EpisodeSpec, Verdict or VoidRecord or None)
        Every episode of a proof and what came of it; None where it was not played.

    Returns
    -------
    tuple of Flaky
        Sorted by task and player; empty where every proof repeats to the byte.
    """
    groups: dict[tuple[str, str], dict[int, dict[str, str]]] = {}
    for spec, outcome in played:
        player = Player.of(spec).label
        fields = ("passed",) if spec.agent in _DRAWING else _FIELDS
        groups.setdefault((spec.task_id, player), {})[spec.trial] = _facts(outcome, fields)
    found = []
    for (task_id, player), trials in sorted(groups.items()):
        differences = _differences(trials)
        if differences:
            found.append(Flaky(task_id, player, len(trials), differences))
    return tuple(found)


def _facts(outcome: Verdict | VoidRecord | None, fields: tuple[str, ...]) -> dict[str, str]:
    if outcome is None:
        return {"outcome": "not played"}
    if isinstance(outcome, VoidRecord):
        return {"outcome": f"VOID({outcome.reason}) in {outcome.phase}"}
    facts = {"outcome": str(outcome.outcome)}
    for record in outcome.criteria:
        document = record.model_dump(mode="json")
        facts |= {f"{record.id}: {name}": json.dumps(document[name], sort_keys=True) for name in fields}
    return facts


def _differences(trials: dict[int, dict[str, str]]) -> tuple[Difference, ...]:
    # A trial that was VOID has no criteria: what the others saw is then no difference of its own.
    judged = {trial: facts for trial, facts in trials.items() if len(facts) > 1}
    names = dict.fromkeys(["outcome", *(name for facts in judged.values() for name in facts)])
    found = []
    for name in names:
        asked = trials if name == "outcome" else judged
        values: dict[str, list[int]] = {}
        for trial, facts in sorted(asked.items()):
            values.setdefault(facts.get(name, "nothing"), []).append(trial)
        if len(values) > 1:
            ordered = sorted(values.items(), key=lambda item: (-len(item[1]), item[1]))
            found.append(Difference(name, tuple((value, tuple(which)) for value, which in ordered)))
    return tuple(found)
