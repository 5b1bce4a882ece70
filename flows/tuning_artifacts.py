"""What Prefect's UI shows of a tuning: one live page, brought up to date after every group of scans.

Keys are stable, so the newest version stands in the UI and the older ones are its history. Pictures lie in the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from prefect.artifacts import acreate_image_artifact, acreate_link_artifact, acreate_markdown_artifact

from flows.artifacts import cell, clipped, key, table
from flows.links import link
from tasks_lib.instruments.tuning.album import draw_group, draw_result
from tasks_lib.instruments.tuning.session import TuningSession
from tasks_lib.instruments.tuning.session_records import Measured, ScanRecord, TuningResult

_MOST_ROWS = 100


async def publish_group(session: TuningSession, group: str) -> None:
    """Draw how far the search is and show it."""
    pictures = await asyncio.to_thread(draw_group, session, group)
    name = session.folder.tuning_id
    text = f"{len(session.trials)} of {session.order.budget} scans; last: {group}"
    await acreate_markdown_artifact(clipped(_page(session, text, pictures)), key=key("tuning", name), description=text)
    await acreate_image_artifact(link(pictures["history"]), key=key("tuning", name, "history"), description=text)


async def publish_result(session: TuningSession, result: TuningResult) -> None:
    """Show before and after, and link the frame of the best scan."""
    pictures = await asyncio.to_thread(draw_result, session, result)
    name = session.folder.tuning_id
    text = result.message
    page = _page(session, f"**{cell(text)}**", pictures)
    page += "\n" + _comparison(result) + "\n"
    await acreate_markdown_artifact(clipped(page), key=key("tuning", name), description=text)
    if "before-after" in pictures:
        shown = link(pictures["before-after"])
        await acreate_image_artifact(shown, key=key("tuning", name, "before-after"), description=text)
    await acreate_link_artifact(
        link(session.folder.result), link_text="result.json", key=key("tuning", name, "result"), description=text
    )


def _page(session: TuningSession, status: str, pictures: dict[str, str]) -> str:
    order, best = session.order, session.best
    lines = [
        f"# Tuning {cell(session.folder.tuning_id)}",
        f"{cell(session.start.instrument)}, strategy {cell(order.strategy)}, objective {cell(order.objective)}, seed"
        f" {order.seed}. {status}",
    ]
    if best is not None:
        lines.append(f"Best of the search: {_scan(best)}")
    lines += [f"![{name}]({link(path)})" for name, path in pictures.items()]
    head = ("scan", "P", "I", "D", "score", "SSIM", "error / setpoint", "ringing", "frame")
    rows = [_row(one) for one in session.recent(_MOST_ROWS)]
    return "\n\n".join([*lines, table(head, rows)]) + "\n"


def _scan(record: ScanRecord) -> str:
    gains = record.plan.gains
    shown = f" ([picture]({link(record.picture)}))" if record.picture else ""
    return f"P {gains.p}, I {gains.i}, D {gains.d}, score {_number(record.score)} in {record.plan.label}{shown}"


def _row(record: ScanRecord) -> Sequence[object]:
    gains, found = record.plan.gains, record.tracking
    files = [f"[{kind}]({link(path)})" for kind, path in (("png", record.picture), ("nid", record.nid)) if path]
    score = _number(record.score) if not record.void else f"void: {cell('; '.join(found.problems))}"
    return (
        record.plan.label, gains.p, gains.i, gains.d, score, _number(found.ssim_levelled), _number(found.error_share),
        _number(found.ringing), " ".join(files),
    )  # fmt: skip


def _comparison(result: TuningResult) -> str:
    head = ("gains", "P", "I", "D", "frames judged", "score", "SSIM", "error / setpoint")
    named: list[tuple[str, Measured]] = [("before", result.before)]
    named += [(f"candidate {rank}", one) for rank, one in enumerate(result.candidates, start=1)]
    rows = [
        (
            name, one.gains.p, one.gains.i, one.gains.d, one.judged, _number(one.score), _number(one.ssim_levelled),
            _number(one.error_share),
        )
        for name, one in named
    ]  # fmt: skip
    return table(head, rows)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
