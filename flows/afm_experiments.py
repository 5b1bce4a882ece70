"""The flow `afm-experiment`: one of the five published experiments, each frame a task.

The procedure decides which frame comes next; the flow scans and keeps it. The store says what is done: a run that was
cut goes on with the next frame, where that still shows the place of those before; else it says that it cannot.
"""

from __future__ import annotations

import asyncio
from typing import Any

from prefect import Task, flow, task
from prefect.artifacts import acreate_image_artifact, acreate_markdown_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed
from prefect.utilities.annotations import quote

from flows.artifacts import cell, clipped, key, table
from flows.links import link
from flows.stoppable import stoppable
from tasks_lib.instruments.experiments import ExperimentError, FrameOrder, Report
from tasks_lib.instruments.experiments.folder import ExperimentFolder, ExperimentOrder
from tasks_lib.instruments.experiments.session import ExperimentSession, open_experiment
from tasks_lib.instruments.experiments.showing import HEAD, report_rows, summary
from tasks_lib.store import Store


@task(name="scan", task_run_name="{name}", persist_result=False, cache_policy=NO_CACHE)
async def scan(session: ExperimentSession, order: FrameOrder, name: str) -> dict[str, Any]:
    """Scan one frame and keep it; refers to its file.

    Cancelled, it stops the scan at the next line and waits until the instrument stands still.
    """
    path = await stoppable(session.scan, order)
    return {"path": path, "purpose": order.purpose}


@flow(name="afm-experiment", flow_run_name="{experiment_id}", persist_result=False)
async def afm_experiment(store_url: str, experiment_id: str, order: dict[str, Any] | None = None) -> State[Any]:
    """Do an experiment, unless its report is there.

    Completed with the number of values that agree with the truth; Failed, with the settings of before restored, where a
    frame is not valid or does not hold what was looked for.

    Parameters
    ----------
    store_url, experiment_id : str
        The experiment.
    order : dict, optional
        Fields of `ExperimentOrder`; without it the order is in the store already.
    """
    folder = ExperimentFolder(Store.open(store_url), experiment_id)
    if order is not None:
        await asyncio.to_thread(folder.begin, ExperimentOrder.model_validate(order))
    try:
        report = await asyncio.to_thread(folder.read_report) or await _measure(folder)
    except ExperimentError as error:
        return Failed(message=str(error), data=error)
    return Completed(message=summary(report), data=report.model_dump(mode="json"))


async def _measure(folder: ExperimentFolder) -> Report:
    # Not in a thread: a cancellation between the lease and this block would leave the instrument to nobody.
    with open_experiment(folder) as session:
        one_scan: Task[..., Any] = scan
        before: list[State[Any]] = []
        while (order := await asyncio.to_thread(session.next_order)) is not None:
            state: State[Any] = await one_scan(
                quote(session), quote(order), order.name, wait_for=before, return_state=True
            )
            await state.aresult()
            before = [state]
        report = await asyncio.to_thread(session.finish)
    await _publish(folder, report)
    return report


async def _publish(folder: ExperimentFolder, report: Report) -> None:
    name, text = folder.experiment_id, summary(report)
    rows = [tuple(cell(one) for one in row) for row in report_rows(report)]
    lines = [
        f"# Experiment {cell(name)}",
        text,
        table(HEAD, rows),
        *(f"* {cell(one)}" for one in report.remarks),
        f"![frames]({link(folder.picture)})",
        table(
            ("frame", "for", "width / µm", "P, I, D", "setpoint / V", "file"),
            (
                (
                    cell(one.name), cell(one.purpose), f"{1e6 * one.scan.width_m:.3g}",
                    f"{one.gains.p}, {one.gains.i}, {one.gains.d}", f"{one.setpoint:g}",
                    f"[nid]({link(folder.frame(one.name))})",
                )
                for one in report.frames
            ),
        ),
    ]  # fmt: skip
    await acreate_markdown_artifact(clipped("\n\n".join(lines) + "\n"), key=key("experiment", name), description=text)
    await acreate_image_artifact(link(folder.picture), key=key("experiment", name, "frames"), description=text)
