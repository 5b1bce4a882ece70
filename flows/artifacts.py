"""What Prefect's UI shows of a run and of a mixed episode: views of the store's documents, never the record itself.

Keys are stable, so that a later version takes the place of an earlier one and the UI shows the history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from prefect.artifacts import (
    acreate_image_artifact,
    acreate_link_artifact,
    acreate_markdown_artifact,
    acreate_progress_artifact,
    acreate_table_artifact,
    aupdate_progress_artifact,
)

from flows.links import link
from tasks_lib.episodes import EpisodeWork, missing
from tasks_lib.records import AgentRow, BlobRef, CriterionRecord, EpisodeResult, HandoffRecord, RunSummary, Verdict
from tasks_lib.store import RunFolder, Store

# The UI loads an artifact whole; the reference's policy is under 200 kB and 1000 rows.
_MOST_ROWS = 900
_MOST_BYTES = 200_000


def key(*parts: str) -> str:
    """Return an artifact's key: Prefect takes lower-case letters, digits and dashes only."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")


def clipped(text: str, most: int = _MOST_BYTES) -> str:
    """Cut a text to a number of bytes at a line's end, and say so."""
    data = text.encode("utf-8")
    if len(data) <= most:
        return text
    note = "\n\n*(cut; the whole is in the store)*\n"
    head = data[: most - len(note.encode())].decode("utf-8", "ignore")
    return head.rsplit("\n", 1)[0] + note


def cell(value: object) -> str:
    """Return a value as the text of one cell of a markdown table; what agents wrote must not become markup."""
    text = re.sub(r"\s+", " ", str(value))[:300]
    return re.sub(r"([\\`*_\[\]<>|!#&])", lambda found: f"&#{ord(found.group(1))};", text)


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a markdown table; its cells arrive as `cell` makes them."""
    names = list(head)
    lines = ["| " + " | ".join(names) + " |", "|" + " --- |" * len(names)]
    lines += ["| " + " | ".join(str(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _with_interval(row: AgentRow) -> str:
    """Return the strict rate with its 95 % interval."""
    if row.strict_interval is None:
        return _percent(row.strict_rate)
    low, high = row.strict_interval
    return f"{_percent(row.strict_rate)} ({100 * low:.0f}–{100 * high:.0f})"


def run_rows(summary: RunSummary) -> list[dict[str, Any]]:
    """Return the run's table, unfinished and VOID episodes first, at most as many rows as the UI can take."""
    order = {"VOID": 0, None: 1, "FAIL": 2, "PASS": 3}
    results = sorted(summary.episodes, key=lambda result: (order[result.outcome], result.id))
    return [_row(result) for result in results[:_MOST_ROWS]]


def _row(result: EpisodeResult) -> dict[str, Any]:
    return {
        "episode": result.id,
        "outcome": result.outcome.value if result.outcome else "not done",
        "reason": result.void_reason.value if result.void_reason else "",
        "points": f"{result.earned}/{result.points}",
        "steps": result.steps,
        "seconds": None if result.seconds is None else round(result.seconds, 1),
        "attempt": result.attempt,
        "message": result.message[:200],
    }


def run_text(store: Store, summary: RunSummary) -> str:
    """Return the run's summary as markdown: strict and conditional rate and the number of VOIDs side by side."""
    folder = RunFolder(store, summary.run_id)
    # Few columns: the UI gives a table half of the page.
    head = ("agent", "n", "PASS", "VOID", "score", "strict rate", "conditional", "steps, steps\\*", "FTR")
    rows = [
        (
            cell(row.agent),
            row.episodes,
            row.passed,
            row.void,
            _percent(row.score),
            _with_interval(row),
            _percent(row.conditional_rate),
            f"{_number(row.steps)}, {_number(row.steps_star)}",
            _percent(row.false_termination_rate),
        )
        for row in summary.rows
        if row.group == "all"
    ]
    lines = [
        f"# Run {summary.run_id}",
        f"Benchmark **{cell(summary.benchmark)}**: {len(summary.episodes)} episodes, {summary.done} done, "
        f"{summary.void} VOID, {summary.pending} not done.",
        table(head, rows),
        f"[Report]({link(folder.report + '/index.html')}) · [summary.json]({link(folder.summary)}) · "
        f"[manifest.json]({link(folder.manifest)})",
    ]
    voids = [result for result in summary.episodes if result.void_reason]
    if voids:
        lines.append("## VOID episodes\nOpen the red flow run of an episode and press **Retry**.")
        lines.append(
            table(
                ("episode", "reason", "message"),
                ((cell(result.id), cell(result.void_reason), cell(result.message)) for result in voids[:100]),
            )
        )
    return clipped("\n\n".join(lines) + "\n")


async def publish_run(store: Store, summary: RunSummary) -> None:
    """Write the run's table and summary as artifacts of the present flow run."""
    description = f"{summary.done} done, {summary.void} VOID, {summary.pending} not done"
    await acreate_table_artifact(run_rows(summary), key=key("run", summary.run_id, "table"), description=description)
    await acreate_markdown_artifact(
        run_text(store, summary), key=key("run", summary.run_id, "summary"), description=description
    )


class ProgressBar:
    """The share of a run's episodes that are done, as a progress artifact."""

    def __init__(self, run_id: str, total: int) -> None:
        self._key = key("run", run_id, "progress")
        self._total = total
        self._done = 0
        self._id: UUID | None = None

    async def start(self, done: int = 0) -> None:
        """Create the artifact."""
        self._done = done
        self._id = await acreate_progress_artifact(self._share(), key=self._key, description="episodes done")

    async def advance(self) -> None:
        """One more episode has ended."""
        self._done += 1
        if self._id is not None:
            await aupdate_progress_artifact(self._id, progress=self._share())

    def _share(self) -> float:
        return round(100.0 * self._done / max(1, self._total), 1)


def _blob_link(store: Store, blob: BlobRef, name: str) -> str:
    return link(store.blob_path(blob.sha256), media_type=blob.media_type, name=name)


def _criteria(records: Iterable[CriterionRecord]) -> str:
    return table(
        ("criterion", "stage", "kind", "points", "why"),
        (
            (cell(record.id), cell(record.stage), record.kind, f"{record.earned}/{record.points}", cell(record.why))
            for record in records
        ),
    )


def read_handoffs(work: EpisodeWork) -> list[HandoffRecord]:
    """Return the checks of everything that the stages of an episode gave each other, in order."""
    paths = [
        work.folder.handoff_check(stage.id, artifact.as_path)
        for stage in work.task.stages
        for artifact in stage.hands_over
    ]
    return [work.store.read_document(path, HandoffRecord) for path in paths if work.store.exists(path)]


def episode_text(work: EpisodeWork, verdict: Verdict, handoffs: Iterable[HandoffRecord]) -> str:
    """Return what a mixed episode left behind as markdown: verdict, hand-offs, files and final frame of each stage."""
    store = work.store
    found = missing(work).evidence
    lines = [
        f"# {cell(work.task.title)}",
        f"**{verdict.outcome}**: {verdict.earned} of {verdict.points} points. Episode `{work.spec.id}`.",
        _criteria(verdict.criteria),
        "## Handed over",
        table(
            ("from", "to", "file", "check"),
            (
                (
                    cell(record.stage),
                    cell(record.to_stage),
                    f"[{cell(record.as_path)}]({link(work.folder.handoff(record.stage, record.as_path))})"
                    if record.blob
                    else f"{cell(record.path)} is missing",
                    "; ".join(f"{'✓' if check.passed else '✗'} {cell(check.why)}" for check in record.checks),
                )
                for record in handoffs
            ),
        ),
    ]
    for stage in work.task.stages:
        evidence = found.get(stage.id)
        lines.append(f"## Stage {cell(stage.id)} ({stage.modality})")
        if evidence is None:
            lines.append("Not played: the stage before left nothing to begin with.")
            continue
        lines.append(f"{evidence.steps} steps, ended by: {evidence.ending}.")
        lines += [f"- [{cell(file.path)}]({_blob_link(store, file.blob, file.path)})" for file in evidence.files]
        lines += [
            f"![{cell(file.path)}]({_blob_link(store, file.blob, file.path)})"
            for file in evidence.files
            if file.blob.media_type == "image/png"
        ]
        if evidence.final.screenshot and evidence.final.windows:
            lines.append(f"![final frame]({_blob_link(store, evidence.final.screenshot, 'final.png')})")
    return clipped("\n\n".join(lines) + "\n")


async def publish_episode(work: EpisodeWork) -> None:
    """Write a mixed episode's set of artifacts: an overview, a link for each file handed over, its pictures."""
    verdict = missing(work).verdict
    if verdict is None:
        return
    handoffs = read_handoffs(work)
    base = ("episode", work.run_id, work.spec.id)
    await acreate_markdown_artifact(
        episode_text(work, verdict, handoffs),
        key=key(*base, "overview"),
        description=f"{verdict.outcome}: {verdict.earned} of {verdict.points} points",
    )
    for record in handoffs:
        if record.blob is not None:
            await acreate_link_artifact(
                link(work.folder.handoff(record.stage, record.as_path)),
                link_text=record.as_path,
                key=key(*base, "handoff", record.stage, record.as_path),
                description=f"handed from {record.stage} to {record.to_stage}",
            )
    for stage_id, evidence in sorted(missing(work).evidence.items()):
        if evidence.final.screenshot and evidence.final.windows:
            await acreate_image_artifact(
                _blob_link(work.store, evidence.final.screenshot, f"{stage_id}.png"),
                key=key(*base, "frame", stage_id),
                description=f"final frame of stage {stage_id}",
            )
