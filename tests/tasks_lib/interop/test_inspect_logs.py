"""Logs of Inspect AI: written and read by its own package, out and back, the same bytes twice, and hostile archives."""

from __future__ import annotations

import json
import os
import struct
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks_lib.episodes import read_manifest
from tasks_lib.interop import import_into, trajectories
from tasks_lib.models import Redactor
from tasks_lib.records import Phase, Step, Usage, VoidReason, VoidRecord
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import TaskSet

from .conftest import BEGAN, DONE, REPLY, MakeRun, png, step

pytest.importorskip("inspect_ai", reason="the extra `inspect` is not installed: pip install 'matassay[inspect]'")

from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, read_eval_log, write_eval_log
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ContentImage, ContentText
from inspect_ai.tool import ToolCall

from tasks_lib.interop.inspect import _container, logs
from tasks_lib.interop.inspect._container import check
from tasks_lib.interop.inspect.logs import export_inspect, read_inspect

CANARY = "sk-canary-0123456789"


def _steps(store: Store, run: str, stage: str = "main") -> list[Step]:
    folder = RunFolder(store, run)
    (episode,) = folder.episodes()
    return store.read_lines(folder.episode(episode).attempt(1).stage(stage).trajectory, Step)


def _export(store: Store, tasks: TaskSet, out: Path, run: str = "r1", hide: Redactor | None = None) -> list[Path]:
    found = trajectories(store, run, tasks, hide or Redactor())
    return export_inspect(store, read_manifest(store, run), found, out)


def _plain(path: Path) -> bytes:
    """Everything that a log holds, unpacked."""
    with zipfile.ZipFile(path) as archive:
        return b"\n".join(name.encode() + archive.read(name) for name in archive.namelist())


def test_out_and_back_every_step_is_the_same(store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path) -> None:
    make_run({"oracle": {"main": [step(1, REPLY, shown=(32, 24)), step(2, DONE)]}})
    (path,) = _export(store, tasks, tmp_path)
    made = import_into(store, read_inspect(path), tasks, source=path.name, form="inspect", run_id="back")
    assert made.players == ("imported-oracle",)
    assert _steps(store, "back") == _steps(store, "r1")


def test_the_package_reads_scores_usage_and_pictures(
    store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path
) -> None:
    make_run({"oracle": {"main": [step(1, REPLY), step(2, DONE)]}}, passed=(False, True))
    (path,) = _export(store, tasks, tmp_path)
    log = read_eval_log(str(path), resolve_attachments=True)
    assert (log.status, log.eval.task, log.eval.model) == ("success", "matassay/test", "matassay/oracle")
    (sample,) = log.samples or []
    assert (sample.id, sample.epoch) == ("lattice-parameter", 1)
    assert {name: score.value for name, score in (sample.scores or {}).items()} == {"passed": "I", "share": 2 / 3}
    usage = sample.model_usage["matassay/oracle"]
    assert (usage.input_tokens, usage.input_tokens_cache_read, usage.output_tokens) == (2000, 400, 60)
    assert usage.total_cost == 0.5
    assert [message.role for message in sample.messages] == ["user", *["user", "assistant"] * 2, "user"]
    pictures = [part for message in sample.messages for part in message.content if getattr(part, "type", "") == "image"]
    assert len(pictures) == 3
    assert [score.name for score in (log.results.scores if log.results else [])] == ["passed", "share"]


def test_missing_usage_stays_missing_and_void_is_an_error(
    store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path
) -> None:
    manifest = make_run({"oracle": {"main": [step(1, REPLY, usage=Usage())]}})
    attempt = RunFolder(store, "r1").episode(manifest.episodes[0].id).attempt(1)
    store.delete(attempt.verdict)
    void = VoidRecord(reason=VoidReason.ENDPOINT, phase=Phase.ACT, exception="EndpointError", message="401", when=BEGAN)
    store.write_document(attempt.void, void)
    (path,) = _export(store, tasks, tmp_path)
    log = read_eval_log(str(path))
    (sample,) = log.samples or []
    assert (sample.model_usage, sample.scores) == ({}, None)
    assert sample.error is not None
    assert "VOID(endpoint)" in sample.error.message
    assert log.results is not None
    assert (log.results.total_samples, log.results.completed_samples, log.results.scores) == (1, 0, [])


def test_neither_gold_nor_a_secret_leaves_and_the_same_run_gives_the_same_bytes(
    store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path
) -> None:
    dirty = step(1, f"```python\nkey = {CANARY!r}\n```", reasoning=CANARY, feedback=f"echo {CANARY}")
    make_run({"oracle": {"main": [dirty]}})
    first, second = (_export(store, tasks, tmp_path / name, hide=Redactor([CANARY]))[0] for name in "ab")
    assert first.read_bytes() == second.read_bytes()
    plain = _plain(first)
    assert CANARY.encode() not in plain
    assert b"GOLD" not in plain
    assert b"[redacted]" in plain


def test_players_have_a_log_each(store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path) -> None:
    make_run({"oracle": {"main": [step(1, REPLY)]}, "nop": {"main": [step(1, DONE)]}})
    assert [path.name for path in _export(store, tasks, tmp_path)] == ["r1_nop.eval", "r1_oracle.eval"]
    with pytest.raises(ConfigurationError, match="is there already"):
        _export(store, tasks, tmp_path)


def test_a_log_that_grows_large_goes_on_in_another(
    store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run({"oracle": {"main": [step(1, REPLY)]}})
    (found,) = trajectories(store, "r1", tasks, Redactor())
    monkeypatch.setattr(logs, "LARGEST_LOG", 1)
    second = replace(found, spec=found.spec.model_copy(update={"trial": 2}))
    written = export_inspect(store, read_manifest(store, "r1"), [found, second], tmp_path)
    assert [path.name for path in written] == ["r1_oracle.eval", "r1_oracle_part-2.eval"]
    assert [entry.trial for path in written for entry in read_inspect(path)] == [1, 2]


def test_stages_stay_apart(store: Store, staged: TaskSet, make_run: MakeRun, tmp_path: Path) -> None:
    first, second = (stage.id for stage in staged.tasks[0].task.stages)
    make_run({"oracle": {first: [step(1, REPLY)], second: [step(1, REPLY), step(2, DONE)]}}, known=staged)
    (path,) = _export(store, staged, tmp_path)
    import_into(store, read_inspect(path), staged, source="x", form="inspect", run_id="back")
    for stage in (first, second):
        assert _steps(store, "back", stage) == _steps(store, "r1", stage)


@given(reply=st.text(max_size=300), reasoning=st.text(max_size=80))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_reply_comes_back_as_it_was(
    store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path, reply: str, reasoning: str
) -> None:
    run = f"r{os.urandom(5).hex()}"
    make_run({"oracle": {"main": [step(1, reply, reasoning=reasoning)]}}, run_id=run, pictures=False)
    (path,) = _export(store, tasks, tmp_path, run)
    import_into(store, read_inspect(path), tasks, source="x", form="inspect", run_id=f"{run}-back")
    assert _steps(store, f"{run}-back") == _steps(store, run)


def _foreign(tmp_path: Path, *messages: Any, sample_id: str = "lattice-parameter") -> Path:
    path = tmp_path / "foreign.eval"
    log = EvalLog(
        status="success",
        eval=EvalSpec(
            created=BEGAN.isoformat(), task="other", dataset=EvalDataset(), model="openai/x", config=EvalConfig()
        ),
        samples=[EvalSample(id=sample_id, epoch=2, input="go", target="", messages=list(messages))],
    )
    write_eval_log(log, str(path))
    return path


def test_a_foreign_log_gives_replies_and_the_size_of_its_pictures(store: Store, tasks: TaskSet, tmp_path: Path) -> None:
    import base64

    url = "data:image/png;base64," + base64.b64encode(png(40, 30)).decode()
    path = _foreign(
        tmp_path,
        ChatMessageUser(content=[ContentText(text="look"), ContentImage(image=url)]),
        ChatMessageAssistant(content=REPLY),
    )
    (found,) = read_inspect(path)
    assert (found.player, found.trial) == ("openai/x", 2)
    import_into(store, [found], tasks, source="x", form="inspect", run_id="back")
    (only,) = _steps(store, "back")
    assert (only.reply, only.shown) == (REPLY, (40, 30))


def test_a_picture_that_lies_elsewhere_is_not_opened(store: Store, tasks: TaskSet, tmp_path: Path) -> None:
    path = _foreign(
        tmp_path, ChatMessageUser(content=[ContentImage(image="/etc/passwd")]), ChatMessageAssistant(content=REPLY)
    )
    import_into(store, read_inspect(path), tasks, source="x", form="inspect", run_id="back")
    assert _steps(store, "back")[0].observation.screenshot is None


def test_a_call_of_a_foreign_tool_is_refused_with_its_place(tmp_path: Path) -> None:
    call = ToolCall(id="1", function="bash", arguments={})
    path = _foreign(tmp_path, ChatMessageAssistant(content="", tool_calls=[call]))
    with pytest.raises(ConfigurationError, match=r"sample 'lattice-parameter', message 1: a call of the tool 'bash'"):
        list(read_inspect(path))


def _archive(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression=method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "a/../../b", "C:\\evil"])
def test_a_name_that_leaves_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="a path is relative to its folder"):
        list(read_inspect(_archive(tmp_path / "x.eval", {name: b"{}"})))


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, _container.ZSTANDARD])
def test_a_bomb_is_measured_and_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: int) -> None:
    path = _archive(tmp_path / "x.eval", {"samples/a.json": bytes(64 * 2**20)}, method)
    assert path.stat().st_size < 2**20
    monkeypatch.setattr(_container, "LARGEST_MEMBER", 2**20)
    with pytest.raises(ConfigurationError, match="unpacks to more than 1048576 bytes"):
        check(path)


def test_a_size_that_is_a_lie_is_seen(tmp_path: Path) -> None:
    path = _archive(tmp_path / "x.eval", {"header.json": bytes(1000)})
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\x01\x02") + 24
    data[at : at + 4] = struct.pack("<I", 10)
    path.write_bytes(data)
    with pytest.raises(ConfigurationError, match="says that it has 10 bytes and has 1000"):
        check(path)


def test_too_many_members_and_other_methods_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="packed by method 12"):
        check(_archive(tmp_path / "bz.eval", {"a": b"x" * 99}, zipfile.ZIP_BZIP2))
    monkeypatch.setattr(_container, "MOST_MEMBERS", 3)
    with pytest.raises(ConfigurationError, match="at most 3 members, got 4"):
        check(_archive(tmp_path / "x.eval", {str(number): b"" for number in range(4)}))


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"header.json": b"{}"},
        {"header.json": b"[]"},
        {"header.json": b'{"version": 2, "eval": 7}'},
        {"header.json": b"[" * 100_000},
    ],
)
def test_an_archive_that_is_no_log_is_refused(tmp_path: Path, members: dict[str, bytes]) -> None:
    with pytest.raises(ConfigurationError, match=r"x\.eval: is no log of Inspect AI"):
        list(read_inspect(_archive(tmp_path / "x.eval", members)))


@given(data=st.binary(max_size=400))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.eval"
    path.write_bytes(b"PK\x03\x04" + data)
    with pytest.raises(ConfigurationError):
        list(read_inspect(path))


def test_a_flipped_byte_of_a_real_log_is_refused_or_read(
    store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path
) -> None:
    make_run({"oracle": {"main": [step(1, REPLY)]}})
    (path,) = _export(store, tasks, tmp_path)
    whole = path.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        broken = bytearray(whole)
        broken[at] ^= 0xFF
        path.write_bytes(broken)
        try:
            found = list(read_inspect(path))
        except ConfigurationError:
            continue
        assert isinstance(found, list)


def test_a_step_of_the_wrong_type_is_refused_with_its_place(
    store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path
) -> None:
    said = ChatMessageAssistant(content=REPLY, metadata={"matassay": {"step": {"index": "x", "evil": zlib.crc32(b"")}}})
    path = _foreign(tmp_path, said)
    with pytest.raises(ConfigurationError, match=r"message 1: .*: mend the field"):
        import_into(store, read_inspect(path), tasks, source="x", form="inspect")
    assert json.dumps(store.list("runs")) == "[]"
