"""Calls read against their tools: the leaves and rules that a comparison needs, each made once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tasks_lib.evaluation.alignment.similarity import SCALE
from tasks_lib.evaluation.alignment.strict.arguments import Arguments, filled
from tasks_lib.evaluation.alignment.strict.comparison import Alike, CallScore, compare, is_prose
from tasks_lib.evaluation.alignment.strict.information import weighted
from tasks_lib.evaluation.alignment.strict.rules import ArgumentRule, rules_of
from tasks_lib.evaluation.alignment.strict.snapshot import ToolSnapshot
from tasks_lib.evaluation.alignment.strict.stated import ArgumentRules, with_stated
from tasks_lib.evaluation.alignment.strict.texts import texts_of
from tasks_lib.evaluation.alignment.strict.workspace import mapping
from tasks_lib.evaluation.alignment.trajectories import Trajectory


@dataclass(frozen=True)
class ReadTrajectory:
    """A trajectory whose calls are leaves, `arguments`, one entry a call."""

    trajectory: Trajectory
    arguments: tuple[Arguments, ...]

    def texts(self, tools: Iterable[str]) -> Iterator[str]:
        """Give every text within the calls of some tools that an encoder has to compare."""
        wanted = set(tools)
        for call, arguments in zip(self.trajectory.calls, self.arguments, strict=True):
            if call.tool in wanted:
                for value in arguments.values.values():
                    yield from filter(is_prose, texts_of(value))


def read(trajectory: Trajectory, tools: ToolSnapshot, workspaces: Sequence[str] = ()) -> ReadTrajectory:
    """Read a trajectory's calls: files without their workspace, defaults put in."""
    mapped = mapping(trajectory.id, trajectory.calls, workspaces)
    found = []
    for call in trajectory.calls:
        tool = tools.tool(call.tool)
        leaves = filled(call.arguments, tool.input_schema if tool else {})
        values = {place: mapped(value) for place, value in leaves.values.items()}
        found.append(replace(leaves, values=values))
    return ReadTrajectory(trajectory, tuple(found))


def rules_by_tool(
    tools: ToolSnapshot, references: Sequence[ReadTrajectory], stated: ArgumentRules | None = None
) -> Mapping[str, tuple[ArgumentRule, ...]]:
    """Derive the rules of the tools that references call, weighed by what their arguments tell; stated ones win."""
    called = {call.tool for one in references for call in one.trajectory.calls}
    rules = {tool.name: rules_of(tool.input_schema) for tool in tools.tools if tool.name in called}
    if stated:
        seen: dict[str, set[str]] = {}
        for one in references:
            for call, arguments in zip(one.trajectory.calls, one.arguments, strict=True):
                seen.setdefault(call.tool, set()).update(arguments.values)
        rules = with_stated(rules, stated, seen, [tool.name for tool in tools.tools])
    calls = (
        (call.tool, one.trajectory.id, arguments)
        for one in references
        for call, arguments in zip(one.trajectory.calls, one.arguments, strict=True)
        if not arguments.problem
    )
    return weighted(rules, calls)


@dataclass(frozen=True)
class Comparer:
    """Compares calls of two trajectories by the rules of their tool."""

    rules: Mapping[str, tuple[ArgumentRule, ...]]
    alike: Alike

    def call(self, reference: ReadTrajectory, i: int, prediction: ReadTrajectory, j: int) -> CallScore:
        """Compare call i of a reference with call j of a prediction, of the same tool."""
        rules = self.rules.get(reference.trajectory.calls[i].tool, ())
        return compare(reference.arguments[i], prediction.arguments[j], rules, self.alike)

    def matrix(self, reference: ReadTrajectory, prediction: ReadTrajectory) -> NDArray[np.float64]:
        """Compare all pairs of calls of one tool; of shape (n, m), multiples of 2⁻²⁰, 0 where the tools differ.

        Calls that are written alike are equal, also where their arguments cannot be read: a copy is a copy.
        """
        ours, theirs = reference.trajectory.calls, prediction.trajectory.calls
        found = np.zeros((len(ours), len(theirs)))
        columns: dict[str, list[int]] = {}
        for j, call in enumerate(theirs):
            columns.setdefault(call.tool, []).append(j)
        known: dict[tuple[str, str, str], float] = {}
        for i, call in enumerate(ours):
            for j in columns.get(call.tool, ()):
                key = (call.tool, call.text, theirs[j].text)
                if key not in known:
                    known[key] = 1.0 if call.text == theirs[j].text else self.call(reference, i, prediction, j).score
                found[i, j] = known[key]
        rounded: NDArray[np.float64] = np.rint(found * SCALE) / SCALE
        return rounded
