"""Which pairs a person is shown, in which order, and what stands on which side."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks_lib.evaluation.alignment import Trajectory, TrajectoryFile
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.reporting.preference._records import Side, StudyRecord


@dataclass(frozen=True)
class Pair:
    """Two trajectories of one task as they stand on the page."""

    task: str
    question: str
    left: Trajectory
    right: Trajectory
    first_on: Side


@dataclass(frozen=True)
class Study:
    """Everything that one person is asked.

    Attributes
    ----------
    record : StudyRecord
        What a results file has to say to belong to this study.
    pairs : tuple of Pair
        In the order in which they are asked about.
    identical : tuple of str
        Tasks whose two trajectories show the same; nobody is asked about them.
    """

    record: StudyRecord
    pairs: tuple[Pair, ...]
    identical: tuple[str, ...]


def prepare_study(
    first: TrajectoryFile,
    second: TrajectoryFile,
    names: tuple[str, str],
    *,
    references: TrajectoryFile | None = None,
    rater: str = "",
    seed: int = 0,
    most: int | None = None,
) -> Study:
    """Pair the trajectories of two files by task.

    The seed draws the tasks, so that all people are asked about the same ones; seed and rater together draw the order
    and the sides. Each file stands on the left in half of the pairs.

    Parameters
    ----------
    first, second : TrajectoryFile
        Trajectories of two models.
    names : tuple of str
        What results call the two; no page shows them.
    references : TrajectoryFile, optional
        Says what a task asks for where the two files do not.
    rater : str, optional
        Who answers.
    seed : int, optional
        Not negative.
    most : int, optional
        Most pairs.

    Raises
    ------
    ConfigurationError
        If the names are the same, or no task is left to be asked about.
    """
    if names[0] == names[1]:
        msg = f"two files are compared by their names, both are called {names[0]!r}: rename one"
        raise ConfigurationError(msg)
    both = sorted(first.trajectories.keys() & second.trajectories.keys())
    identical = tuple(key for key in both if _shown(first.trajectories[key]) == _shown(second.trajectories[key]))
    asked = [key for key in both if key not in set(identical)]
    if not asked:
        msg = f"{first.name} and {second.name} share {len(both)} tasks, and in none of them they differ: "
        raise ConfigurationError(msg + "compare two files of predictions for the same tasks")
    if most is not None and most < len(asked):
        asked = sorted(_generator(seed, "").choice(asked, size=most, replace=False).tolist())
    draw = _generator(seed, rater)
    sides = draw.permutation(np.arange(len(asked)) % 2 == draw.integers(2))
    order = draw.permutation(len(asked))
    known = references.trajectories if references else {}
    pairs = tuple(
        _pair(first.trajectories[asked[i]], second.trajectories[asked[i]], known.get(asked[i]), bool(sides[i]))
        for i in order
    )
    record = StudyRecord(
        first=names[0], second=names[1], rater=rater, seed=seed, pairs=len(pairs), digest=_digest(pairs)
    )
    return Study(record, pairs, identical)


def _pair(first: Trajectory, second: Trajectory, reference: Trajectory | None, first_left: bool) -> Pair:
    question = (reference.question if reference else "") or first.question or second.question
    left, right = (first, second) if first_left else (second, first)
    return Pair(first.id, question, left, right, Side.LEFT if first_left else Side.RIGHT)


def _shown(trajectory: Trajectory) -> object:
    """Return what a person sees of a trajectory."""
    steps = [[[call.tool, call.text, call.result] for call in step] for step in trajectory.steps]
    return [steps, trajectory.final_reply]


def _digest(pairs: Sequence[Pair]) -> str:
    """Return what is the same for all people who are asked about these pairs."""
    shown = []
    for pair in sorted(pairs, key=lambda pair: pair.task):
        both = (pair.left, pair.right) if pair.first_on is Side.LEFT else (pair.right, pair.left)
        shown.append([pair.task, pair.question, *(_shown(one) for one in both)])
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def _generator(seed: int, rater: str) -> np.random.Generator:
    number = int.from_bytes(hashlib.sha256(rater.encode("utf-8", "replace")).digest()[:8], "big")
    return np.random.default_rng([seed, number])
