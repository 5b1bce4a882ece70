"""Replays the calls of a file against a snapshot of the tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tasks_lib.evaluation.alignment.files import TrajectoryFile
from tasks_lib.evaluation.alignment.replay.arguments import ArgumentChecker
from tasks_lib.evaluation.alignment.replay.labels import (
    CallClass,
    CallLabel,
    ClassCounts,
    PublishedCounts,
    ReplayReport,
    counted,
)
from tasks_lib.evaluation.alignment.replay.results import ResultRead, read_result
from tasks_lib.evaluation.alignment.strict import ToolSnapshot
from tasks_lib.evaluation.alignment.trajectories import Call, Trajectory

_SHOWN_TOOLS = 5


def replay(predictions: TrajectoryFile, snapshot: ToolSnapshot) -> ReplayReport:
    """Say of each call of a file what became of it.

    Nothing is executed and no model is asked: the class follows from the snapshot, the arguments and the recorded
    result, so it is the same every time.

    Parameters
    ----------
    predictions : TrajectoryFile
        From `read_trajectories`.
    snapshot : ToolSnapshot
        The tools that the model could call.

    Returns
    -------
    ReplayReport
        A label for each call and for each turn or item that holds none, and counts.
    """
    checker = ArgumentChecker()
    tasks = sorted(predictions.trajectories.items())
    labels = [(trajectory, label) for _, trajectory in tasks for label in _labels(trajectory, snapshot, checker)]
    found = [label for _, label in labels]
    return ReplayReport(
        predictions=predictions.name,
        snapshot=snapshot.source,
        snapshot_digest=snapshot.digest,
        tasks=len(tasks),
        calls=sum(len(trajectory.calls) for _, trajectory in tasks),
        total=counted("all", found),
        tolerated=sum(label.tolerated for label in found),
        published=_published(found, sum(trajectory.illegal_turns > 0 for _, trajectory in tasks)),
        by_tool=_grouped(labels, lambda _, label: label.tool if label.call is not None else ""),
        by_family=_grouped(labels, lambda trajectory, _: trajectory.family),
        labels=tuple(found),
        oddities=(*(f"{predictions.name}: {oddity}" for oddity in predictions.oddities), *checker.unusable()),
    )


def replay_call(call: Call, snapshot: ToolSnapshot, checker: ArgumentChecker) -> tuple[ResultRead, bool]:
    """Say what became of one call, and whether the server answered although the arguments break the schema."""
    if not call.tool:
        return ResultRead(CallClass.ILLEGAL_FORMAT, "no name", "the call names no tool"), False
    tool = snapshot.tool(call.tool)
    if tool is None:
        return ResultRead(CallClass.UNKNOWN_TOOL, "snapshot", _unknown(call.tool, snapshot)), False
    result = read_result(call.result)
    if problems := checker.problems(tool, call.arguments):
        invalid = ResultRead(CallClass.INVALID_ARGUMENTS, "schema", "; ".join(problems))
        return invalid, result.kind is CallClass.SUCCESS
    return result, False


def _labels(trajectory: Trajectory, snapshot: ToolSnapshot, checker: ArgumentChecker) -> Iterator[CallLabel]:
    for place in trajectory.unreadable:
        yield _illegal(trajectory.id, "no object", f"{place} is no object")
    for _ in range(trajectory.illegal_turns):
        yield _illegal(trajectory.id, "no call in a turn", "no call could be read of the model's reply")
    for index, (step, call) in enumerate(zip(trajectory.step_of, trajectory.calls, strict=True)):
        read, tolerated = replay_call(call, snapshot, checker)
        yield CallLabel(
            task=trajectory.id,
            step=step,
            call=index,
            tool=call.tool,
            kind=read.kind,
            rule=read.rule,
            why=read.why,
            tolerated=tolerated,
        )


def _illegal(task: str, rule: str, why: str) -> CallLabel:
    return CallLabel(task=task, kind=CallClass.ILLEGAL_FORMAT, rule=rule, why=why)


def _unknown(name: str, snapshot: ToolSnapshot) -> str:
    server, _, _ = name.partition("/")
    others = [tool.name for tool in snapshot.tools if tool.name.startswith(f"{server}/")]
    if not others:
        return f"no tool and no server of the snapshot has this name; it has {len(snapshot.tools)} tools"
    more = f" and {len(others) - _SHOWN_TOOLS} more" if len(others) > _SHOWN_TOOLS else ""
    return f"the server has {', '.join(others[:_SHOWN_TOOLS])}{more}"


def _published(labels: Sequence[CallLabel], illegal_samples: int) -> PublishedCounts:
    kinds = [label.kind for label in labels if label.call is not None]
    named = {
        "unknown_tool": CallClass.UNKNOWN_TOOL,
        "invalid_arguments": CallClass.INVALID_ARGUMENTS,
        "resource_not_found": CallClass.NOT_FOUND,
        "success": CallClass.SUCCESS,
    }
    counts = {name: kinds.count(kind) for name, kind in named.items()}
    return PublishedCounts(illegal_calling=illegal_samples, without_class=len(kinds) - sum(counts.values()), **counts)


def _grouped(
    labels: Sequence[tuple[Trajectory, CallLabel]], key: Callable[[Trajectory, CallLabel], str]
) -> tuple[ClassCounts, ...]:
    found: dict[str, list[CallLabel]] = {}
    for trajectory, label in labels:
        found.setdefault(key(trajectory, label), []).append(label)
    return tuple(counted(name, found[name]) for name in sorted(found))
