"""The flow `nightly`: a sample of the tasks is proved, the benchmark is played by every model, each run is compared."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect import flow
from prefect.artifacts import acreate_markdown_artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterId, FlowRunFilter
from prefect.client.schemas.objects import State
from prefect.runtime import deployment, flow_run
from prefect.states import Completed, Failed

from flows.artifacts import key
from flows.benchmark import REFUSED, benchmark
from flows.comparison import compare, last_comparable
from flows.nights import night_of, run_id_of, to_play, zone
from flows.prove import prove
from tasks_lib.cli.settings import Settings, load_settings
from tasks_lib.episodes import (
    EPISODES_AT_ONCE,
    NightBudget,
    Sample,
    Selection,
    check_prices,
    draw,
    manifest_for,
    open_run,
    proof_manifest,
    raise_night,
)
from tasks_lib.models import load_models
from tasks_lib.records import RunManifest, RunSummary, dump_json, load_json, now
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import Store
from tasks_lib.taskdefs import load_all

_LOG = logging.getLogger(__name__)


@flow(name="nightly", flow_run_name="nightly-{benchmark_name}", persist_result=False)
async def nightly(
    store_url: str,
    taskdefs: str,
    benchmark_name: str,
    time_zone: str = "UTC",
    models_file: str | None = None,
    prove_sample: int = 4,
    concurrency: int = EPISODES_AT_ONCE,
    executor: str = "deployments",
) -> State[Any]:
    """Play the night of this start, unless it is played already or a newer one is due.

    Parameters
    ----------
    store_url, taskdefs, models_file, concurrency, executor
        As for `benchmark`.
    benchmark_name : str
        The benchmark that every model plays; without models its own agents do.
    time_zone : str
        The zone of the schedule: the night is the local date of the start.
    prove_sample : int
        How many tasks are proved; another sample every night. 0 proves none.
    """
    where, scheduled = zone(time_zone), flow_run.scheduled_start_time
    store = Store.open(store_url)
    night = night_of(scheduled, where)
    if flow_run.run_count < 2 and not to_play(scheduled, now(), await _other_starts(), where):
        return Completed(message=f"night {night} was let go: a newer night is due")
    owner = await asyncio.to_thread(claim, store, f"nights/{night}-{benchmark_name}.json", str(flow_run.id))
    if owner != str(flow_run.id):
        return Completed(message=f"night {night} is played by flow run {owner}: retry that one")

    common: dict[str, Any] = {
        "store_url": store_url,
        "taskdefs": taskdefs,
        "models_file": models_file,
        "concurrency": concurrency,
        "executor": executor,
    }
    settings = load_settings()
    budget = NightBudget(f"{night}-{benchmark_name}", settings.serve.night_limit)
    # Before anything is played: a model without prices would end the night in its middle.
    names = [name for name in _models(models_file) if name]
    check_prices(names, Path(models_file) if models_file else None, budget.limit, settings.run.limit)
    await asyncio.to_thread(renew, store, budget)
    root = Path(taskdefs)
    lines, bad = [f"# Night {night}"], []
    if prove_sample:
        proofs = await asyncio.to_thread(_proofs, store, root, prove_sample, night.toordinal(), settings, night)
        state = await prove(run_id=proofs.run_id, **common, return_state=True)
        lines.append(f"- proofs `{proofs.run_id}`: {state.message}")
        bad += [] if state.is_completed() else [proofs.run_id]
    for model in _models(models_file):
        manifest = await asyncio.to_thread(
            _plan, store, root, benchmark_name, model, models_file, settings, night, budget
        )
        # A model that is refused is no reason to leave out the others; a retry of the night tries it again.
        state = await benchmark(run_id=manifest.run_id, **common, return_state=True)
        line = f"- `{manifest.run_id}`: {' '.join((state.message or '').split())}"
        if state.name != REFUSED:
            summary = await state.aresult(raise_on_failure=False)
            line += f"; {await asyncio.to_thread(_change, store, manifest, summary)}"
        lines.append(line)
        bad += [] if state.is_completed() else [manifest.run_id]
    await acreate_markdown_artifact("\n".join(lines) + "\n", key=key("nightly", benchmark_name), description=str(night))
    return Failed(message=f"night {night}: {', '.join(bad)} not whole") if bad else Completed(message=f"night {night}")


def claim(store: Store, path: str, flow_run_id: str) -> str:
    """Take a night for a flow run, or return the flow run that has it."""
    document = dump_json({"flow_run_id": flow_run_id})
    if store.create(path, document.encode("utf-8")):
        return flow_run_id
    return str(load_json(store.read_bytes(path))["flow_run_id"])


def renew(store: Store, budget: NightBudget) -> None:
    """Give a night that has spent something already the limits that the settings have now; a retry goes on so."""
    if not budget.limit or not store.exists(budget.purse):
        return
    try:
        raise_night(store, budget)
    except ConfigurationError:
        # As much is spent already: what is missing stays VOID(budget), and its message says how to go on.
        _LOG.warning("the limits of %s in [serve] are spent", budget.night, exc_info=True)


async def _other_starts() -> list[datetime]:
    """Return for when the other flow runs of this deployment were scheduled; none for a run without a deployment."""
    if deployment.id is None:
        return []
    async with get_client() as client:
        found = await client.read_flow_runs(
            deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[UUID(str(deployment.id))])),
            flow_run_filter=FlowRunFilter(),
            limit=200,
        )
    return [run.expected_start_time for run in found if run.expected_start_time and str(run.id) != str(flow_run.id)]


def _models(models_file: str | None) -> Sequence[str | None]:
    """Return the models that play, by name; without any the benchmark's own agents play."""
    return sorted(load_models(Path(models_file))) if models_file else [None]


def _plan(
    store: Store,
    root: Path,
    name: str,
    model: str | None,
    models_file: str | None,
    settings: Settings,
    night: date,
    budget: NightBudget,
) -> RunManifest:
    choice = Selection(
        benchmark=name,
        models=(model,) if model else (),
        models_file=Path(models_file) if models_file else None,
        machine=settings.machine,
        seed=settings.run.seed,
        hints=settings.run.hints,
        retries=settings.run.retries,
        asked=settings.agent,
        limit=settings.run.limit,
        night=budget,
        cache=settings.run.cache,
    )
    return open_run(store, manifest_for(choice, root, run_id=run_id_of(night, name, model), command=()))


def _proofs(store: Store, root: Path, sample: int, seed: int, settings: Settings, night: date) -> RunManifest:
    whole = load_all(root)
    manifest = proof_manifest(
        draw(whole, Sample(more=sample), seed), whole.digest, repeat=1, seed=seed, machine=settings.machine,
        run_id=run_id_of(night, "prove"), retries=1,
    )  # fmt: skip
    return open_run(store, manifest)


def _change(store: Store, manifest: RunManifest, summary: Any) -> str:
    before = last_comparable(store, manifest)
    if before is None or not isinstance(summary, dict):
        return "no earlier run to compare with"
    return compare(before, RunSummary.model_validate(summary)).text()
