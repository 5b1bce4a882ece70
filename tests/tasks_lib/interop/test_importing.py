"""What an import writes: trajectories and claims, all of it or nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.episodes import read_manifest
from tasks_lib.episodes.summary import summarise
from tasks_lib.interop import Foreign, import_into
from tasks_lib.interop._steps import MOST_STEPS, Told, rest_of, step_of
from tasks_lib.records import BlobRef, Modality, Step
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import TaskSet

from .conftest import REPLY, step


def _foreign(**changes: object) -> Foreign:
    base = Foreign("a.jsonl, line 1", "lattice-parameter", "GPT x", 1, ((None, [Told("a.jsonl", REPLY)]),))
    return replace(base, **changes)  # type: ignore[arg-type]


def test_a_claim_is_kept_and_is_no_verdict(store: Store, tasks: TaskSet) -> None:
    made = import_into(store, [_foreign(claim={"share": 1.0})], tasks, source="a.jsonl", form="chat", run_id="back")
    manifest = read_manifest(store, "back")
    assert manifest.settings["imported"] == {
        "source": "a.jsonl",
        "format": "chat",
        "claims": {made.episodes[0]: {"share": 1.0}},
    }
    summary = summarise(store, "back", {loaded.id: loaded.task for loaded in tasks.tasks})
    assert (summary.done, summary.pending) == (0, 1)
    names = {path.rsplit("/", 1)[1] for path in store.list("runs")}
    assert names == {"manifest.json", "trajectory.jsonl"}


def test_a_task_that_has_changed_is_remarked(store: Store, tasks: TaskSet) -> None:
    made = import_into(store, [_foreign(digest="0" * 64)], tasks, source="a", form="chat", run_id="back")
    assert made.remarks == (
        "a.jsonl, line 1: task lattice-parameter has changed since: a replay may earn another score",
    )


@pytest.mark.parametrize(
    ("found", "match"),
    [
        ([], "holds no trajectory"),
        ([_foreign(task_id="../x")], r"task '\.\./x' is none of the 1 task definitions"),
        ([_foreign(task_id="../x")], r"each task.s folder by itself: PATH/TASK --task ID"),
        ([_foreign(), _foreign()], "stands twice"),
        ([_foreign(trial=0)], "a trial is a number"),
        ([_foreign(trial=10**9)], "a trial is a number"),
        ([_foreign(plays=())], "holds no reply"),
        ([_foreign(plays=(("main", []),))], "holds no reply"),
        ([_foreign(plays=((None, [Told("a", REPLY)]), ("main", [Told("a", REPLY)])))], "stage 'main' stands twice"),
        ([_foreign(plays=((None, [Told("a", REPLY)] * (MOST_STEPS + 1)),))], "at most 1000 steps"),
        ([_foreign(), _foreign(trial=2, task_id="gone")], "task 'gone'"),
    ],
)
def test_what_cannot_be_imported_leaves_nothing(store: Store, tasks: TaskSet, found: list[Foreign], match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        import_into(store, found, tasks, source="a.jsonl", form="chat", run_id="back")
    assert not store.exists(RunFolder(store, "back").manifest)
    assert store.list("runs") == []


def test_a_stage_has_to_be_named_where_there_are_two(store: Store, staged: TaskSet) -> None:
    found = _foreign(task_id=staged.tasks[0].id)
    with pytest.raises(ConfigurationError, match="say which stage each step is of"):
        import_into(store, [found], staged, source="a", form="chat", run_id="back")


def test_a_run_that_is_there_is_not_touched(store: Store, tasks: TaskSet) -> None:
    import_into(store, [_foreign()], tasks, source="a", form="chat", run_id="back")
    before = {path: store.read_bytes(path) for path in store.list("runs")}
    with pytest.raises(ConfigurationError, match=r"is in .* already: give another --run"):
        import_into(store, [_foreign(player="other")], tasks, source="a", form="chat", run_id="back")
    assert {path: store.read_bytes(path) for path in store.list("runs")} == before


def test_players_of_one_file_stay_apart_and_an_import_of_an_import_keeps_its_name(store: Store, tasks: TaskSet) -> None:
    made = import_into(
        store, [_foreign(), _foreign(player="imported-oracle")], tasks, source="a", form="chat", run_id="back"
    )
    assert made.players == ("imported-gpt-x", "imported-oracle")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.dictionaries(st.sampled_from(sorted(Step.model_fields)), JSON, max_size=6)


@given(rest=FIELDS | JSON, whole=st.booleans())
@settings(max_examples=60)
def test_any_record_of_a_step_is_a_step_or_refused_with_its_place(rest: object, whole: bool) -> None:
    if whole and isinstance(rest, dict):
        rest = {**rest_of(step(1, REPLY)), **rest}

    def keep(data: bytes, media_type: str) -> BlobRef:
        raise AssertionError(media_type)

    refusal, made = "", None
    try:
        made = step_of(Told("a.jsonl, line 3", REPLY, rest=rest), 1, Modality.CODE, keep)
    except ConfigurationError as error:
        refusal = str(error)
    if made is None:
        assert refusal.startswith("a.jsonl, line 3: ")
        assert len(refusal) < 1_000
    else:
        assert (made.reply, made.index) == (REPLY, 1)
