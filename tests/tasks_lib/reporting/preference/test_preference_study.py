"""Order and sides are drawn, the results file is gone on with, and answers are counted."""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tasks_lib.evaluation.alignment import TrajectoryFile, parse_trajectories
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.reporting.preference import BallotBox, Preferred, Side, Study, count, prepare_study, read_answers

FIRST, SECOND, TIE = Preferred.FIRST, Preferred.SECOND, Preferred.TIE


def test_seed_and_rater_draw_order_and_sides(study_of: Callable[..., Study]) -> None:
    def drawn(**options: object) -> list[tuple[str, Side]]:
        return [(pair.task, pair.first_on) for pair in study_of(**options).pairs]

    assert drawn(seed=3, rater="a") == drawn(seed=3, rater="a")
    assert len({str(drawn(seed=seed, rater=rater)) for seed in range(4) for rater in "ab"}) > 4
    for seed in range(20):
        sides = Counter(side for _, side in drawn(seed=seed))
        assert sorted(sides.values()) == [2, 3]


def test_what_stands_on_a_side_is_what_is_said_to(study_of: Callable[..., Study]) -> None:
    for pair in study_of(seed=1).pairs:
        first = pair.left if pair.first_on is Side.LEFT else pair.right
        assert "ALPHA-9" in first.final_reply
        assert pair.left.id == pair.right.id == pair.task


def test_all_raters_are_asked_about_the_same_drawn_tasks(study_of: Callable[..., Study]) -> None:
    studies = [study_of(seed=5, rater=rater, most=3) for rater in "abc"]
    assert len({frozenset(pair.task for pair in study.pairs) for study in studies}) == 1
    assert len({study.record.digest for study in studies}) == 1
    assert studies[0].record.pairs == 3
    assert study_of(seed=6, most=3).record.digest != studies[0].record.digest


def test_nobody_is_asked_about_two_that_are_the_same(two_files: tuple[TrajectoryFile, TrajectoryFile]) -> None:
    first, second = two_files
    same = dict(second.trajectories) | {"00010002": first.trajectories["00010002"]}
    study = prepare_study(first, TrajectoryFile("other", same), ("x", "y"))
    assert study.identical == ("00010002",)
    assert len(study.pairs) == 4
    with pytest.raises(ConfigurationError, match="share 5 tasks, and in none of them they differ"):
        prepare_study(first, first, ("x", "y"))
    with pytest.raises(ConfigurationError, match="both are called 'x'"):
        prepare_study(first, second, ("x", "x"))


def test_the_question_comes_from_the_references_first(two_files: tuple[TrajectoryFile, TrajectoryFile]) -> None:
    references = parse_trajectories(json.dumps([{"id": "00010001", "question": "As asked"}]).encode(), "r")
    asked = {pair.task: pair.question for pair in prepare_study(*two_files, ("x", "y"), references=references).pairs}
    assert asked["00010001"] == "As asked"
    assert asked["00010002"].startswith("Find three values")


def test_answers_are_gone_on_with_and_taken_back(study_of: Callable[..., Study], tmp_path: Path) -> None:
    study, path = study_of(seed=2), tmp_path / "new" / "results.jsonl"
    with BallotBox(path, study) as box:
        assert box.answer(0, FIRST)
        assert not box.answer(0, SECOND), "the same pair once more"
        assert not box.answer(2, SECOND), "a pair that is not the next"
        assert box.answer(1, TIE)
        assert box.take_back()
        assert box.next == 1
    with BallotBox(path, study) as box:
        assert (box.next, box.answered) == (1, 1)
        for index in range(1, 5):
            assert box.answer(index, SECOND)
        assert box.next is None
        assert box.take_back()
        assert box.next == 4
        assert box.take_back()
        assert box.answer(3, FIRST)
    answers = read_answers(path)
    assert answers.study == study.record
    wanted = dict(zip((pair.task for pair in study.pairs), (FIRST, SECOND, SECOND, FIRST), strict=False))
    assert {task: ballot.preferred for task, ballot in answers.ballots.items()} == wanted
    # Nothing that was written is ever changed.
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1 + 2 + 1 + 4 + 2 + 1


def test_nothing_can_be_taken_back_before_the_first(study_of: Callable[..., Study], tmp_path: Path) -> None:
    with BallotBox(tmp_path / "r", study_of()) as box:
        assert not box.take_back()


@pytest.mark.parametrize("cut", [1, 30, 10_000])
def test_a_line_that_was_cut_does_not_count(cut: int, study_of: Callable[..., Study], tmp_path: Path) -> None:
    study, path = study_of(), tmp_path / "r"
    with BallotBox(path, study) as box:
        box.answer(0, FIRST)
        box.answer(1, FIRST)
    data = path.read_bytes()
    path.write_bytes(data[: max(10, len(data) - cut)])
    with BallotBox(path, study) as box:
        assert box.next == (0 if cut == 10_000 else 1)
        assert box.answer(box.next, SECOND)
        assert box.answer(box.next, TIE)
    assert [ballot.preferred for ballot in read_answers(path).ballots.values()][-1] is TIE


def test_an_answer_that_cannot_be_kept_did_not_happen(
    study_of: Callable[..., Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r"
    with BallotBox(path, study_of()) as box:
        before = path.read_bytes()

        def full(fd: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                box.answer(0, FIRST)
        assert path.read_bytes() == before
        assert box.next == 0
        assert box.answer(0, FIRST)


def test_results_of_something_else_are_refused(study_of: Callable[..., Study], tmp_path: Path) -> None:
    path = tmp_path / "r"
    with BallotBox(path, study_of(seed=1)) as box:
        box.answer(0, FIRST)
        with pytest.raises(ConfigurationError, match="is in use"):
            BallotBox(path, study_of(seed=1))
    with pytest.raises(ConfigurationError, match=r"other pairs \(seed is 1 there and 2 here"):
        BallotBox(path, study_of(seed=2))
    path.write_text("something\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="line 1 of a results file says which study it is"):
        BallotBox(path, study_of(seed=1))
    assert path.read_text(encoding="utf-8") == "something\n"


def test_a_broken_line_is_named(study_of: Callable[..., Study], tmp_path: Path) -> None:
    path = tmp_path / "r"
    BallotBox(path, study_of()).__exit__()
    with path.open("a", encoding="utf-8") as file:
        file.write('{"task": 1}\n')
    with pytest.raises(ConfigurationError, match="line 2 of a results file is one answer"):
        read_answers(path)


def test_answers_are_counted_per_person_and_over_all(study_of: Callable[..., Study], tmp_path: Path) -> None:
    likes = {"ann": [FIRST, FIRST, FIRST, FIRST, TIE], "bob": [FIRST, FIRST, FIRST, SECOND, TIE]}
    results = []
    for rater, answers in likes.items():
        study, path = study_of(rater=rater), tmp_path / rater
        by_task = dict(zip(sorted(pair.task for pair in study.pairs), answers, strict=True))
        with BallotBox(path, study) as box:
            for index, pair in enumerate(study.pairs):
                box.answer(index, by_task[pair.task])
        results.append(read_answers(path))
    found = count(results)
    assert found.share is not None
    assert (found.share.share, found.share.answers, found.share.units, found.share.ties) == (0.8, 10, 5, 2)
    assert found.share.low < 0.8 < found.share.high
    shares = {rater: share.share for rater, share in found.raters.items() if share}
    assert shares == {"ann": 0.9, "bob": 0.7}
    assert found.alpha is not None
    assert 0 < found.alpha < 1
    assert count(results[:1]).alpha is None
    with pytest.raises(ConfigurationError, match="two files hold answers of 'ann'"):
        count([results[0], results[0]])


def test_who_always_takes_the_left_is_seen(study_of: Callable[..., Study], tmp_path: Path) -> None:
    study = study_of(seed=4)
    with BallotBox(tmp_path / "r", study) as box:
        for index, pair in enumerate(study.pairs):
            box.answer(index, FIRST if pair.first_on is Side.LEFT else SECOND)
    found = count([read_answers(tmp_path / "r")])
    assert found.left is not None
    assert found.share is not None
    assert found.left.share == 1
    assert found.share.share in {0.4, 0.6}
