"""Mutual exclusion by claims, on a plain file system: it needs puts, listings and deletions only."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fsspec.implementations.local import LocalFileSystem

from tasks_lib.records.errors import StoreError
from tasks_lib.store._claims import LIFE, Claims


def claims(tmp_path, clock=None, patience=45.0) -> Claims:
    clock = clock or (lambda: 1000.0)
    return Claims(LocalFileSystem(auto_mkdir=True), str(tmp_path), clock, patience)


def standing(tmp_path) -> list[str]:
    return [path.name for path in tmp_path.rglob("*") if path.is_file() and path.name != "keep"]


def test_only_one_is_alone_and_nothing_is_left(tmp_path):
    racers = 6
    barrier = threading.Barrier(racers)
    inside: list[int] = []
    most: list[int] = []

    def run(number: int) -> None:
        mine = claims(tmp_path)
        barrier.wait()
        for _ in range(4):
            with mine.alone("runs/r/lease.json") as check:
                inside.append(number)
                most.append(len(inside))
                check()
                inside.remove(number)

    with ThreadPoolExecutor(racers) as pool:
        list(pool.map(run, range(racers)))
    assert most == [1] * (racers * 4)
    assert standing(tmp_path) == []


def test_paths_do_not_stand_in_each_others_way(tmp_path):
    with claims(tmp_path).alone("a"), claims(tmp_path, patience=0.5).alone("b"):
        assert len(standing(tmp_path)) == 2


def test_a_living_claim_is_waited_for_and_then_complained_about(tmp_path):
    with (
        claims(tmp_path).alone("a"),
        pytest.raises(StoreError, match="look for a hung process"),
        claims(tmp_path, patience=0.05).alone("a"),
    ):
        pytest.fail("two were alone")


def test_the_claim_of_a_killed_writer_is_swept_away(tmp_path):
    dead = claims(tmp_path).alone("a")
    dead.__enter__()
    with claims(tmp_path, clock=lambda: 1000.0 + LIFE + 1.0, patience=1.0).alone("a"):
        assert len(standing(tmp_path)) == 1


def test_who_was_late_does_not_write(tmp_path):
    time = [1000.0]
    with claims(tmp_path, clock=lambda: time[0]).alone("a") as check:
        check()
        time[0] += LIFE / 2 + 1.0
        with pytest.raises(StoreError, match="given up"):
            check()
    assert standing(tmp_path) == []


def test_a_failure_inside_takes_the_claim_away(tmp_path):
    with pytest.raises(ZeroDivisionError), claims(tmp_path).alone("a"):
        raise ZeroDivisionError
    assert standing(tmp_path) == []
