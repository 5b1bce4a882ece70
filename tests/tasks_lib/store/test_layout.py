"""Every path of the design's section on documents, and the names that are refused."""

import pytest

from tasks_lib.records.errors import ConfigurationError
from tasks_lib.store import EpisodeFolder, RunFolder, runs

EPISODE = "xps-c1s--oracle--t1"
BAD_NAMES = ("", "..", ".hidden", "a/b", "A", "a b", "a\n", "-a", "a_b", "é", "a\\b", "a" * 301)


@pytest.fixture
def run(local_store) -> RunFolder:
    return RunFolder(local_store, "2026-01-01-smoke")


def test_paths_of_a_run(run):
    root = "runs/2026-01-01-smoke"
    assert run.path == root
    assert run.manifest == f"{root}/manifest.json"
    assert run.summary == f"{root}/summary.json"
    assert run.report == f"{root}/report"
    assert run.episode(EPISODE) == EpisodeFolder(run.store, run.run_id, EPISODE)


def test_paths_of_an_attempt(run):
    attempt = run.episode(EPISODE).attempt(1)
    root = f"runs/2026-01-01-smoke/episodes/{EPISODE}/attempt-001"
    assert attempt.path == root
    assert attempt.lease == f"{root}/lease.json"
    assert attempt.void == f"{root}/void.json"
    assert attempt.verdict == f"{root}/verdict.json"


@pytest.mark.parametrize(("stage", "below"), [("main", ""), ("structure", "/stages/structure")])
def test_paths_of_a_stage(run, stage, below):
    folder = run.episode(EPISODE).attempt(12).stage(stage)
    root = f"runs/2026-01-01-smoke/episodes/{EPISODE}/attempt-012{below}"
    assert folder.provision == f"{root}/provision.json"
    assert folder.initialise == f"{root}/initialise.json"
    assert folder.trajectory == f"{root}/trajectory.jsonl"
    assert folder.evidence == f"{root}/evidence.json"


def test_paths_of_a_handoff(run):
    episode = run.episode(EPISODE)
    root = f"runs/2026-01-01-smoke/handoffs/{EPISODE}"
    assert episode.handoffs == root
    assert episode.handoff("structure", "out/LiFePO4.cif") == f"{root}/structure/out/LiFePO4.cif"
    assert episode.handoff_check("structure", "a.csv") == f"{root}/structure/a.csv.check.json"


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names_are_refused(run, name):
    for call in (
        lambda: RunFolder(run.store, name),
        lambda: run.episode(name),
        lambda: run.episode(EPISODE).attempt(1).stage(name),
        lambda: run.episode(EPISODE).handoff(name, "a.csv"),
    ):
        with pytest.raises(ConfigurationError, match="is no name of a folder"):
            call()


@pytest.mark.parametrize("artifact", ["", "../x", "/etc/passwd", "a\\b"])
def test_bad_artifacts_are_refused(run, artifact):
    with pytest.raises(ConfigurationError, match="hand-off"):
        run.episode(EPISODE).handoff("structure", artifact)


@pytest.mark.parametrize("number", [0, -1])
def test_attempts_count_from_one(run, number):
    with pytest.raises(ConfigurationError, match="count from 1"):
        run.episode(EPISODE).attempt(number)


def test_attempts_are_found_in_order(run):
    episode = run.episode(EPISODE)
    assert episode.attempts() == []
    assert episode.last() is None
    for name in ("attempt-002", "attempt-010", "attempt-1000", "attempt-999", "attempt-1", "attempt-003x", "notes"):
        run.store.write_bytes(f"{episode.path}/{name}/lease.json", b"{}")
    assert episode.attempts() == [2, 10, 999, 1000]
    assert episode.last() == episode.attempt(1000)


def test_an_empty_folder_is_no_attempt(run):
    episode = run.episode(EPISODE)
    run.store.local_path(episode.attempt(1).path).mkdir(parents=True)
    run.store.write_bytes(episode.attempt(2).stage("structure").provision, b"{}")
    assert episode.attempts() == [2]


def test_what_is_in_a_store(run):
    assert runs(run.store) == []
    assert run.episodes() == []
    run.store.write_bytes(run.manifest, b"{}")
    run.store.write_bytes(run.episode("b").attempt(1).lease, b"{}")
    run.store.write_bytes(run.episode("a").attempt(1).lease, b"{}")
    run.store.write_bytes(RunFolder(run.store, "2025").manifest, b"{}")
    assert runs(run.store) == ["2025", "2026-01-01-smoke"]
    assert run.episodes() == ["a", "b"]
