"""What the first page of a report shows, as plain values for its template."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks_lib.models.purse import spent_text
from tasks_lib.records import AgentRow, EpisodeResult, FailureClass, Outcome, RunManifest, RunSummary, Task, VoidReason
from tasks_lib.reporting._advice import ADVICE
from tasks_lib.reporting._read import EpisodeTrace

_MESSAGES = 12
LETTERS = {Outcome.PASS: "P", Outcome.FAIL: "F", Outcome.VOID: "V", None: "·"}


@dataclass(frozen=True)
class MatrixRow:
    """A task, and its trials for each agent."""

    task_id: str
    title: str
    domain: str
    modality: str
    cells: tuple[tuple[EpisodeResult, ...], ...]


@dataclass(frozen=True)
class VoidGroup:
    """VOID episodes of one reason, those with the same message together.

    Attributes
    ----------
    messages : tuple of (str, tuple of EpisodeResult)
        The most frequent ones.
    more : int
        Messages that are not among `messages`.
    """

    reason: str
    advice: str
    count: int
    messages: tuple[tuple[str, tuple[EpisodeResult, ...]], ...]
    more: int


@dataclass(frozen=True)
class HandoffRow:
    """What the stages of an episode gave each other, counted in artifacts.

    Attributes
    ----------
    wanted : int
        Artifacts that the task names.
    given : int
        Those that were there.
    good : int
        Those of them whose checks all hold.
    """

    result: EpisodeResult
    wanted: int
    given: int
    good: int


def handoff_row(trace: EpisodeTrace) -> HandoffRow:
    """Count the hand-offs of an episode."""
    given = [record for record in trace.handoffs if record.blob is not None]
    stages = trace.task.stages if trace.task else ()
    return HandoffRow(
        trace.result,
        wanted=sum(len(stage.hands_over) for stage in stages) or len(trace.handoffs),
        given=len(given),
        good=sum(all(check.passed for check in record.checks) for record in given),
    )


@dataclass(frozen=True)
class FailureGroup:
    """FAIL episodes of one class.

    Attributes
    ----------
    counts : tuple of int
        How many, in the order of the page's agents.
    """

    kind: str
    counts: tuple[int, ...]
    episodes: tuple[EpisodeResult, ...]


@dataclass(frozen=True)
class IndexView:
    """The first page."""

    manifest: RunManifest
    summary: RunSummary
    counts: dict[Outcome | None, int]
    rows: tuple[AgentRow, ...]
    parts: tuple[tuple[str, tuple[AgentRow, ...]], ...]
    agents: tuple[str, ...]
    matrix: tuple[tuple[str, tuple[MatrixRow, ...]], ...]
    failures: tuple[FailureGroup, ...]
    voids: tuple[VoidGroup, ...]
    handoffs: tuple[HandoffRow, ...]
    facts: tuple[tuple[str, Any], ...]
    notes: tuple[str, ...]


def index_view(
    manifest: RunManifest,
    summary: RunSummary,
    tasks: Mapping[str, Task],
    handoffs: Sequence[HandoffRow],
    notes: Sequence[str],
) -> IndexView:
    """Gather the first page.

    Parameters
    ----------
    manifest : RunManifest
    summary : RunSummary
    tasks : mapping of str to Task
        By id; a task that is not there is shown by its id.
    handoffs : sequence of HandoffRow
        One for each episode of a mixed task.
    notes : sequence of str
        What a reader must know of the report itself.

    Returns
    -------
    IndexView
    """
    episodes = summary.episodes
    agents = tuple(sorted({result.agent for result in episodes}))
    counts = {outcome: sum(result.outcome is outcome for result in episodes) for outcome in (*Outcome, None)}
    return IndexView(
        manifest=manifest,
        summary=summary,
        counts=counts,
        rows=tuple(row for row in summary.rows if row.kind == "all"),
        parts=_parts(summary.rows),
        agents=agents,
        matrix=_matrix(episodes, agents, tasks),
        failures=_failures(episodes, agents),
        voids=_voids(episodes),
        handoffs=tuple(handoffs),
        facts=_facts(manifest, summary),
        notes=tuple(notes),
    )


def _parts(rows: Sequence[AgentRow]) -> tuple[tuple[str, tuple[AgentRow, ...]], ...]:
    groups: dict[str, list[AgentRow]] = defaultdict(list)
    for kind in ("modality", "domain"):
        for row in rows:
            if row.kind == kind:
                groups[f"{kind} {row.group}"].append(row)
    return tuple((name, tuple(group)) for name, group in groups.items())


def _matrix(
    episodes: Sequence[EpisodeResult], agents: Sequence[str], tasks: Mapping[str, Task]
) -> tuple[tuple[str, tuple[MatrixRow, ...]], ...]:
    cells: dict[str, dict[str, list[EpisodeResult]]] = defaultdict(lambda: defaultdict(list))
    for result in episodes:
        cells[result.task_id][result.agent].append(result)
    groups: dict[str, list[MatrixRow]] = defaultdict(list)
    for task_id, by_agent in sorted(cells.items()):
        first = next(iter(by_agent.values()))[0]
        modality = first.modality.value if first.modality else "unreadable"
        groups[modality if modality == first.domain else f"{modality}: {first.domain}"].append(
            MatrixRow(
                task_id=task_id,
                title=tasks[task_id].title if task_id in tasks else task_id,
                domain=first.domain,
                modality=modality,
                cells=tuple(tuple(sorted(by_agent[agent], key=lambda result: result.trial)) for agent in agents),
            )
        )
    return tuple(sorted((name, tuple(rows)) for name, rows in groups.items()))


def _failures(episodes: Sequence[EpisodeResult], agents: Sequence[str]) -> tuple[FailureGroup, ...]:
    groups: dict[FailureClass, list[EpisodeResult]] = defaultdict(list)
    for result in sorted(episodes, key=lambda result: (result.agent, result.id)):
        if result.failure is not None:
            groups[result.failure.kind].append(result)
    return tuple(
        FailureGroup(
            kind.value,
            tuple(sum(result.agent == agent for result in groups[kind]) for agent in agents),
            tuple(groups[kind]),
        )
        for kind in FailureClass
        if kind in groups
    )


def _voids(episodes: Sequence[EpisodeResult]) -> tuple[VoidGroup, ...]:
    groups: dict[VoidReason, list[EpisodeResult]] = defaultdict(list)
    for result in episodes:
        if result.outcome is Outcome.VOID:
            groups[result.void_reason or VoidReason.INTERNAL].append(result)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0].value))
    return tuple(_void_group(reason, found) for reason, found in ordered)


def _void_group(reason: VoidReason, found: Sequence[EpisodeResult]) -> VoidGroup:
    same: dict[str, list[EpisodeResult]] = defaultdict(list)
    for result in sorted(found, key=lambda result: result.id):
        same[result.message].append(result)
    ordered = sorted(same.items(), key=lambda item: (-len(item[1]), item[0]))
    messages = tuple((message, tuple(results)) for message, results in ordered[:_MESSAGES])
    return VoidGroup(reason.value, ADVICE[reason], len(found), messages, max(0, len(ordered) - _MESSAGES))


def _facts(manifest: RunManifest, summary: RunSummary) -> tuple[tuple[str, Any], ...]:
    machine = manifest.machine
    spent = {
        account.name: f"{spent_text(account.spent)}{', and stopped there' if account.closed else ''}"
        for account in summary.accounts
    }
    size = f"{machine.width}×{machine.height} pixels, {machine.memory_mb} MiB, {machine.processes} processes"
    return (
        ("Run", manifest.run_id),
        ("Begun", manifest.created),
        ("Seed", manifest.seed),
        ("Task set", manifest.task_set_digest),
        ("Machine", f"{machine.provider}, {size}, {'isolated' if machine.isolated else 'NOT isolated'}"),
        ("Versions", dict(sorted(manifest.versions.items()))),
        ("Settings", dict(sorted(manifest.settings.items()))),
        *([("Spent at models", spent)] if spent else []),
        ("Command", " ".join(manifest.command)),
    )
