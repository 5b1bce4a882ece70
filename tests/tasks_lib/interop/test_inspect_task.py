"""Our benchmarks under `inspect eval`: real machines, our loop and our judge; the model is Inspect's mock."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tasks_lib.episodes import read_manifest
from tasks_lib.interop import import_into
from tasks_lib.records import Step, VoidReason, VoidRecord
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import RunFolder, Store, runs
from tasks_lib.taskdefs import TaskSet, load_all

from .conftest import ROOT

pytest.importorskip("inspect_ai", reason="the extra `inspect` is not installed: pip install 'matassay[inspect]'")

from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model
from inspect_ai.util import registry_info

from tasks_lib.interop.inspect.logs import read_inspect
from tasks_lib.interop.inspect.task import OFFERED, benchmark

TASK = "lattice-parameter"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machines: None) -> Path:
    """Task definitions with a benchmark of one small task."""
    found = Path(shutil.copytree(ROOT / "one_stage" / "open", tmp_path / "defs" / "open")).parent
    (found / "benchmarks").mkdir()
    (found / "benchmarks" / "tiny.yaml").write_text(
        "name: tiny\nwhat: One small code task for tests.\nselect: {suites: [open]}\nagents: [oracle]\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("MATASSAY_TASKDEFS", str(found))
    return found


def _model(replies: Sequence[str]) -> Model:
    outputs = [ModelOutput.from_content("mockllm/model", reply) for reply in replies]
    for output in outputs:
        # Told, or the mock would count with a tokenizer that it fetches.
        output.usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
    return get_model("mockllm/model", custom_outputs=outputs)


def _eval(task: Task, model: Model, tmp_path: Path, **options: object) -> EvalLog:
    (log,) = inspect_eval(task, model=model, log_dir=str(tmp_path / "logs"), display="none", **options)  # type: ignore[arg-type]
    return log


def test_the_benchmarks_are_offered_under_the_name_of_the_distribution() -> None:
    assert {"code", "smoke"} <= set(OFFERED)
    assert registry_info(OFFERED["smoke"]).name == "matassay/smoke"


def test_an_eval_plays_our_loop_and_its_log_can_be_imported(root: Path, store: Store, tmp_path: Path) -> None:
    tasks: TaskSet = load_all(root)
    replies = tasks[TASK].transcript("oracle", "main", hints=True)
    log = _eval(benchmark("tiny", store=store.url), _model(replies), tmp_path)
    assert log.status == "success"
    (sample,) = log.samples or []
    assert {name: score.value for name, score in (sample.scores or {}).items()} == {"passed": "C", "share": 1.0}
    assert "29.791" not in repr(sample.scores), "what was wanted is not told"
    (run,) = runs(store)
    manifest = read_manifest(store, run)
    assert manifest.settings["inspect"] == {"model": "mockllm/model", "epoch": 1}
    episode = RunFolder(store, run).episode(manifest.episodes[0].id).attempt(1)
    steps = store.read_lines(episode.stage().trajectory, Step)
    assert [step.usage.input_tokens for step in steps] == [100] * len(replies)
    made = import_into(store, read_inspect(Path(log.location)), tasks, source="x", form="inspect", run_id="back")
    back = RunFolder(store, "back").episode(made.episodes[0]).attempt(1)
    assert store.read_lines(back.stage().trajectory, Step) == steps


def test_a_model_that_fails_is_an_error_of_the_sample_and_void_here(root: Path, store: Store, tmp_path: Path) -> None:
    log = _eval(benchmark("tiny", store=store.url), _model([]), tmp_path, fail_on_error=False)
    (sample,) = log.samples or []
    assert not sample.scores
    assert sample.error is not None
    assert "VOID(endpoint)" in sample.error.message
    (run,) = runs(store)
    episode = RunFolder(store, run).episode(read_manifest(store, run).episodes[0].id)
    last = episode.last()
    assert last is not None
    assert store.read_document(last.void, VoidRecord).reason is VoidReason.ENDPOINT


def test_a_limit_of_inspects_ends_the_sample_as_a_limit(root: Path, store: Store, tmp_path: Path) -> None:
    replies = ["```python\nprint(1)\n```"] * 10
    log = _eval(benchmark("tiny", store=store.url), _model(replies), tmp_path, token_limit=150)
    (sample,) = log.samples or []
    assert sample.limit is not None
    assert sample.limit.type == "token"
    assert sample.error is None
    assert [score.reason for score in (sample.scores or {}).values()] == ["not judged"] * 2
    assert log.results is not None
    assert [score.scored_samples for score in log.results.scores] == [0, 0]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"tasks": "zzz"}, "names task 'zzz'"),
        ({"agent": "replies=tools"}, "answers in blocks"),
        ({"agent": "zzz=1"}, "no such setting"),
    ],
)
def test_wrong_arguments_are_refused(root: Path, options: dict[str, str], match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        benchmark("tiny", **options)  # type: ignore[arg-type]
