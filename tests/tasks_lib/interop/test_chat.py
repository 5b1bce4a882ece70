"""Conversations for fine-tuning: out and back, and hostile ones."""

from __future__ import annotations

import base64
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from tasks_lib.interop import ChatFiles, export_chat, import_into, index_of, read_chat, trajectories
from tasks_lib.models import Redactor
from tasks_lib.records import Observation, Step
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import TaskSet

from .conftest import DONE, REPLY, MakeRun, png, step


def _steps(store: Store, run: str) -> list[Step]:
    folder = RunFolder(store, run)
    (episode,) = folder.episodes()
    return store.read_lines(folder.episode(episode).attempt(1).stage().trajectory, Step)


def _export(store: Store, tasks: TaskSet, file: Path, **options: Any) -> ChatFiles:
    return export_chat(store, trajectories(store, "r1", tasks, Redactor()), file, **options)


def _lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_line_is_a_conversation_and_nothing_else(
    store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path
) -> None:
    make_run({"oracle": {"main": [step(1, REPLY), step(2, DONE)]}})
    made = _export(store, tasks, tmp_path / "out.jsonl")
    (line,) = _lines(made.conversations)
    assert list(line) == ["messages"]
    assert [message["role"] for message in line["messages"]] == ["system", "user", "assistant", "user", "assistant"]
    assert [set(message) for message in line["messages"]] == [{"role", "content"}] * 5
    assert "# Task\nThe file cell.cif" in line["messages"][1]["content"][0]["text"]
    assert "return code 0" in line["messages"][3]["content"][0]["text"]
    assert [message["content"] for message in line["messages"][2::2]] == [REPLY, DONE]


def test_out_and_back_every_step_is_the_same(store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path) -> None:
    make_run({"oracle": {"main": [step(1, REPLY), step(2, DONE)]}})
    made = _export(store, tasks, tmp_path / "out.jsonl")
    import_into(store, read_chat(made.conversations), tasks, source="out.jsonl", form="chat", run_id="back")
    assert _steps(store, "back") == _steps(store, "r1")


def test_pictures_have_the_size_that_the_coordinates_belong_to(
    store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path
) -> None:
    make_run({"oracle": {"main": [step(1, REPLY, shown=(32, 24))]}})
    made = _export(store, tasks, tmp_path / "out.jsonl")
    (line,) = _lines(made.conversations)
    url = line["messages"][1]["content"][1]["image_url"]["url"]
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as image:
        assert image.size == (32, 24)
    # Without the index the size of the picture alone tells where coordinates belong.
    made.index.unlink()
    import_into(
        store, read_chat(made.conversations, task="lattice-parameter"), tasks, source="x", form="chat", run_id="back"
    )
    assert _steps(store, "back")[0].shown == (32, 24)


def test_no_gold_leaves_and_the_same_run_gives_the_same_bytes(
    store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path
) -> None:
    make_run({"oracle": {"main": [step(1, REPLY, shown=(32, 24))]}})
    first, second = (_export(store, tasks, tmp_path / name / "out.jsonl") for name in "ab")
    for one, other in ((first.conversations, second.conversations), (first.index, second.index)):
        assert one.read_bytes() == other.read_bytes()
        assert b"GOLD" not in one.read_bytes()


def test_pictures_can_be_left_out(store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path) -> None:
    make_run({"oracle": {"main": [step(1, REPLY)]}})
    made = _export(store, tasks, tmp_path / "out.jsonl", pictures=False)
    (line,) = _lines(made.conversations)
    assert isinstance(line["messages"][1]["content"], str)


def test_a_task_that_is_not_there_cannot_be_told(
    store: Store, staged: TaskSet, make_run: MakeRun, tmp_path: Path
) -> None:
    make_run({"oracle": {"main": [step(1, REPLY)]}})
    with pytest.raises(ConfigurationError, match="has changed since the run"):
        _export(store, staged, tmp_path / "out.jsonl")


@given(reply=st.text(max_size=300))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_reply_comes_back_as_it_was(
    store: Store, tasks: TaskSet, make_run: MakeRun, tmp_path: Path, reply: str
) -> None:
    run = f"r{os.urandom(5).hex()}"
    make_run({"oracle": {"main": [step(1, reply)]}}, run_id=run, pictures=False)
    file = tmp_path / f"{run}.jsonl"
    export_chat(store, trajectories(store, run, tasks, Redactor()), file)
    import_into(store, read_chat(file), tasks, source="x", form="chat", run_id=f"{run}-back")
    assert _steps(store, f"{run}-back") == _steps(store, run)


def test_a_foreign_file_needs_the_task_and_counts_trials(store: Store, tasks: TaskSet, tmp_path: Path) -> None:
    file = tmp_path / "other.jsonl"
    talk = {"messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": REPLY}]}
    file.write_text((json.dumps(talk) + "\n") * 2, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"line 1: it says not which task"):
        list(read_chat(file))
    found = read_chat(file, task="lattice-parameter", player="GPT x")
    made = import_into(store, found, tasks, source="other.jsonl", form="chat", run_id="back")
    assert made.episodes == ("lattice-parameter--imported-gpt-x--t1", "lattice-parameter--imported-gpt-x--t2")


def _talk(**message: Any) -> bytes:
    return json.dumps({"messages": [{"role": "assistant", "content": REPLY, **message}]}).encode()


def _image(url: str) -> bytes:
    part = {"type": "image_url", "image_url": {"url": url}}
    return _talk(role="user", content=[part])


@pytest.mark.parametrize(
    ("line", "match"),
    [
        (b'{"messages": 7}', "messages is a list"),
        (b'{"messages": [7]}', "a message is an object"),
        (b"{}", "messages is a list"),
        (b"7", "a JSON object is wanted"),
        (b'{"messages": [], "messages": []}', "stands twice"),
        (json.dumps({"messages": [{}] * 3_000}).encode(), "a list of 3000"),
        (_talk(role="tool"), "role is system, user or assistant"),
        (_talk(role=7), "role is a text"),
        (_talk(content=7), "content is a text or a list"),
        (_talk(content=[{"type": "audio"}]), "a part is a text or an image_url"),
        (_talk(content=[{"type": "text", "text": 7}]), "text is a text"),
        (_talk(tool_calls=[{"id": "1"}]), "tool calls of a foreign agent"),
        (_image("data:image/png;base64,%%%"), "no base64"),
        (_image("data:image/png;base64,AAAA"), "no PNG, JPEG or WebP"),
        (_image("data:text/html;base64,AAAA"), "a picture is 'data:image"),
        (_talk(role="user"), "holds no reply of an agent"),
    ],
)
def test_a_hostile_line_is_refused_with_its_place(
    store: Store, tasks: TaskSet, tmp_path: Path, line: bytes, match: str
) -> None:
    file = tmp_path / "in.jsonl"
    file.write_bytes(line + b"\n")
    with pytest.raises(ConfigurationError, match=match) as caught:
        import_into(store, read_chat(file, task="lattice-parameter"), tasks, source="in", form="chat", run_id="back")
    assert f"{file}, line 1" in str(caught.value)
    assert store.list("runs") == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/x.png", "file:///etc/passwd", "/etc/passwd"])
def test_an_address_is_not_followed(store: Store, tasks: TaskSet, tmp_path: Path, url: str) -> None:
    file = tmp_path / "in.jsonl"
    seen = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}
    file.write_text(json.dumps({"messages": [seen, {"role": "assistant", "content": REPLY}]}), encoding="utf-8")
    import_into(store, read_chat(file, task="lattice-parameter"), tasks, source="in", form="chat", run_id="back")
    assert _steps(store, "back")[0].observation == Observation()


@pytest.mark.parametrize("row", ['{"line": "1"}', '{"line": 1}\n{"line": 1}', '{"line": true}'])
def test_a_broken_index_is_refused(tmp_path: Path, row: str) -> None:
    file = tmp_path / "in.jsonl"
    file.write_bytes(_talk())
    index_of(file).write_text(row + "\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"index\.jsonl, line \d: line is a number"):
        list(read_chat(file))


def test_a_picture_of_too_many_pixels_is_refused(tmp_path: Path) -> None:
    # The head alone is read: nobody unpacks what it promises.
    head = bytearray(png())
    head[16:24] = (100_000).to_bytes(4, "big") * 2
    file = tmp_path / "in.jsonl"
    file.write_bytes(_image("data:image/png;base64," + base64.b64encode(head).decode()))
    with pytest.raises(ConfigurationError, match=r"pixels|no PNG"):
        list(read_chat(file, task="lattice-parameter"))


def test_two_stages_give_a_line_each(store: Store, staged: TaskSet, make_run: MakeRun, tmp_path: Path) -> None:
    first, second = (stage.id for stage in staged.tasks[0].task.stages)
    make_run({"oracle": {first: [step(1, REPLY)], second: [step(1, DONE)]}}, known=staged)
    made = _export(store, staged, tmp_path / "out.jsonl")
    assert [row["stage"] for row in _lines(made.index)] == [first, second]
    (found,) = read_chat(made.conversations)
    assert [stage for stage, _ in found.plays] == [first, second]
