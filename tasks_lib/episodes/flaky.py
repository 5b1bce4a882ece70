"""Proofs that flicker: the same player on the same task, and not the same verdict."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from tasks_lib.episodes.plan import Player
from tasks_lib.records import EpisodeSpec, Outcome, Verdict, VoidRecord

# Of a criterion's record; the digests of its evidence are left out, because files say when they were written.
_FIELDS = ("passed", "points", "seen", "wanted", "why")
# These draw by a seed that is another one in each trial: what they leave differs by design. How a guess is judged must
# not; whoever plays without any aim may meet a criterion in one trial and none in another.
_DRAWING = {"guess": ("passed",), "random": ()}


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


@dataclass(frozen=True)
class Repeats:
    """What the trials of one proof came to.

    Attributes
    ----------
    passes : int
        Trials that ended as PASS.
    verdicts : int
        How many different verdicts there are, compared byte by byte as `flaky_proofs` compares them: 1 is wanted.
    """

    task_id: str
    player: str
    trials: int
    passes: int
    verdicts: int


Played = Iterable[tuple[EpisodeSpec, Verdict | VoidRecord | None]]


def flaky_proofs(played: Played) -> tuple[Flaky, ...]:
    """Compare the trials of each proof: outcome, and each criterion's record without digests of its evidence.

    Of agents that draw by the trial's seed less is compared: of ``guess`` the outcome and the criteria passed, of
    ``random`` the outcome.

    Parameters
    ----------
    played : iterable of (EpisodeSpec, Verdict or VoidRecord or None)
        Every episode of a proof and what came of it; None where it was not played.

    Returns
    -------
    tuple of Flaky
        Sorted by task and player; empty where every proof repeats to the byte.
    """
    found = []
    for (task_id, player), trials in _trials(played):
        differences = _differences(trials)
        if differences:
            found.append(Flaky(task_id, player, len(trials), differences))
    return tuple(found)


def count_repeats(played: Played) -> tuple[Repeats, ...]:
    """Count passes and different verdicts of each proof; sorted by task and player."""
    return tuple(
        Repeats(
            task_id,
            player,
            trials=len(trials),
            passes=sum(facts["outcome"] == Outcome.PASS for facts in trials.values()),
            verdicts=len({json.dumps(facts, sort_keys=True) for facts in trials.values()}),
        )
        for (task_id, player), trials in _trials(played)
    )


def _trials(played: Played) -> list[tuple[tuple[str, str], dict[int, dict[str, str]]]]:
    """Return what each trial of each task and player came to, sorted."""
    groups: dict[tuple[str, str], dict[int, dict[str, str]]] = {}
    for spec, outcome in played:
        fields = _DRAWING.get(spec.agent, _FIELDS)
        groups.setdefault((spec.task_id, Player.of(spec).label), {})[spec.trial] = _facts(outcome, fields)
    return sorted(groups.items())


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
