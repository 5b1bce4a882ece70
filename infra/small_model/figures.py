"""What a run with a model cost and came to: steps, tokens, seconds and points, read from its trajectories."""

from __future__ import annotations

from dataclasses import dataclass

from tasks_lib.records import RunSummary, Step
from tasks_lib.store import RunFolder, Store


@dataclass(frozen=True)
class Figures:
    """One episode.

    Attributes
    ----------
    task, outcome : str
    earned, points : int
    steps, wasted : int
        Replies, and those of them that held nothing that could be done.
    tokens_in, tokens_out : int or None
        As the endpoint reported them; None where it left one out.
    cached : int or None
        Part of `tokens_in` that the endpoint had from a request before.
    seconds : float
        Spent waiting for replies, s; the table's last column is `tokens_out` over it.
    """

    task: str
    outcome: str
    earned: int
    points: int
    steps: int
    wasted: int
    tokens_in: int | None
    tokens_out: int | None
    cached: int | None
    seconds: float


def figures(store: Store, run_id: str) -> list[Figures]:
    """Read them from the attempts that count."""
    rows = []
    for result in store.read_document(RunFolder(store, run_id).summary, RunSummary).episodes:
        # An episode that has not begun has attempt 0, and nothing was asked in it.
        place = RunFolder(store, run_id).episode(result.id).attempt(max(1, result.attempt)).path
        paths = [path for path in store.list(place) if path.endswith("/trajectory.jsonl")]
        steps = [step for path in paths for step in store.read_lines(path, Step)]
        rows.append(
            Figures(
                task=result.task_id,
                outcome=str(result.outcome or "pending"),
                earned=result.earned,
                points=result.points,
                steps=len(steps),
                wasted=sum(step.wasted for step in steps),
                tokens_in=_sum([step.usage.input_tokens for step in steps]),
                tokens_out=_sum([step.usage.output_tokens for step in steps]),
                cached=_sum([step.usage.cached_tokens for step in steps]),
                seconds=sum(step.model_seconds for step in steps),
            )
        )
    return rows


def table(rows: list[Figures]) -> str:
    """Write them as a table of Markdown."""
    heads = ("task", "outcome", "points", "steps (wasted)", "tokens in (cached)", "tokens out", "seconds", "tokens/s")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        rate = "unknown" if row.tokens_out is None or not row.seconds else f"{row.tokens_out / row.seconds:.1f}"
        lines.append(
            f"| {row.task} | {row.outcome} | {row.earned} of {row.points} | {row.steps} ({row.wasted}) "
            f"| {_said(row.tokens_in)} ({_said(row.cached)}) | {_said(row.tokens_out)} | {row.seconds:.0f} | {rate} |"
        )
    return "\n".join(lines)


def _sum(parts: list[int | None]) -> int | None:
    """Add up; one that is missing makes the sum missing."""
    known = [part for part in parts if part is not None]
    return sum(known) if known and len(known) == len(parts) else None


def _said(count: int | None) -> str:
    return "unknown" if count is None else str(count)
