"""What `collect` takes: deliverables before anything else, within caps, whatever the agent left behind."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_lib.episodes import load_work, plain_phases, run_episode
from tasks_lib.episodes.live import _LARGEST_FILE, _LARGEST_SUM, _MOST_FILES, _choose
from tasks_lib.records import Evidence
from tasks_lib.sandbox import FileEntry
from tasks_lib.store import Store

from .conftest import ONE_STAGE, MakeRun

entries = st.dictionaries(
    st.text("abc/", min_size=1, max_size=6),
    st.tuples(st.integers(0, 2 * _LARGEST_FILE), st.sampled_from(["file", "link", "pipe"])),
    max_size=90,
)


@given(entries, st.lists(st.text("abc/", min_size=1, max_size=6), max_size=4))
def test_caps_hold_and_deliverables_come_first(found: dict[str, tuple[int, str]], wanted: list[str]) -> None:
    listed = {path: FileEntry(path=path, size=size, kind=kind) for path, (size, kind) in found.items()}
    taken, refused = _choose(listed, wanted)
    assert len(taken) <= _MOST_FILES
    assert sum(listed[path].size for path in taken) <= _LARGEST_SUM
    assert all(listed[path].kind == "file" and listed[path].size <= _LARGEST_FILE for path in taken)
    assert len(taken) + len(refused) == len(listed) or len(refused) == _MOST_FILES
    good = [path for path in wanted if path in listed and listed[path].kind == "file" and not listed[path].size]
    assert set(good) <= set(taken), "an empty deliverable always fits"


LEFT_BEHIND = """
import os, pathlib
pathlib.Path("volume.json").write_text('{"volume": 29.791}')
os.symlink("/etc/passwd", "spacings.csv")
os.mkfifo("pipe")
for number in range(100):
    pathlib.Path(f"junk-{number:03d}").write_text("x")
"""


def test_links_and_heaps_of_files_do_not_get_into_the_evidence(store: Store, make_run: MakeRun) -> None:
    (spec,) = make_run(ONE_STAGE).episodes
    phases = plain_phases()

    async def act(work: Any, attempt: Any, stage: Any, machine: Any) -> Any:
        ending = await phases.act(work, attempt, stage, machine)
        await asyncio.to_thread(machine.computer.run_script, "import os\nfor n in os.listdir(): os.remove(n)\n")
        await asyncio.to_thread(machine.computer.run_script, LEFT_BEHIND)
        return ending

    asyncio.run(run_episode(store, "r1", spec.id, ONE_STAGE, replace(phases, act=act)))
    work = load_work(store, "r1", spec.id, ONE_STAGE)
    evidence = store.read_document(work.folder.attempt(1).stage().evidence, Evidence)
    paths = [entry.path for entry in evidence.files]
    assert json.loads(store.get_blob(evidence.file("volume.json"))) == {"volume": 29.791}
    assert "spacings.csv" in evidence.missing
    assert len(paths) == _MOST_FILES
    assert paths == sorted(paths)
    assert any("pipe" in text for text in evidence.refused)


def test_no_heap_of_files_hides_a_deliverable(store: Store, make_run: MakeRun) -> None:
    """The listing of a folder ends at some number, in the order of the file system."""
    (spec,) = make_run(ONE_STAGE).episodes
    phases = plain_phases()
    heap = (
        "import os\nfor number in range(6000): open(f'{number}-junk', 'w').close()\n"
        "os.rename('volume.json', 'aside')\nfor name in os.listdir(): os.path.isfile(name)\n"
        "os.link('aside', 'volume.json')\n"
    )

    async def act(work: Any, attempt: Any, stage: Any, machine: Any) -> Any:
        ending = await phases.act(work, attempt, stage, machine)
        await asyncio.to_thread(machine.computer.run_script, heap)
        listed = await asyncio.to_thread(machine.computer.list_files)
        real = machine.computer.list_files
        # Whatever the file system's order is today: the deliverable lies beyond the end of the listing.
        machine.computer.list_files = lambda: [entry for entry in real() if entry.path != "volume.json"]
        assert len(listed) == 5000
        return ending

    verdict = asyncio.run(run_episode(store, "r1", spec.id, ONE_STAGE, replace(phases, act=act)))
    work = load_work(store, "r1", spec.id, ONE_STAGE)
    evidence = store.read_document(work.folder.attempt(1).stage().evidence, Evidence)
    assert evidence.file("volume.json") is not None
    assert evidence.missing == ()
    assert verdict.earned == verdict.points


def test_a_file_that_vanishes_while_it_is_collected_is_left_out(
    store: Store, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tasks_lib.sandbox import Computer

    (spec,) = make_run(ONE_STAGE).episodes
    real = Computer.list_files

    def with_a_ghost(self: Computer) -> list[FileEntry]:
        return [*real(self), FileEntry(path="ghost.txt", size=1, kind="file")]

    monkeypatch.setattr(Computer, "list_files", with_a_ghost)
    asyncio.run(run_episode(store, "r1", spec.id, ONE_STAGE, plain_phases()))
    work = load_work(store, "r1", spec.id, ONE_STAGE)
    evidence = store.read_document(work.folder.attempt(1).stage().evidence, Evidence)
    assert evidence.file("ghost.txt") is None
    assert any("ghost.txt" in text for text in evidence.refused)
