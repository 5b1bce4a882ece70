"""Samples are drawn by their seed, hold what is said of each domain, and touch as many domains as they can."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks_lib.episodes import Sample, draw
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.taskdefs import LoadedTask, load_all

ALL = load_all()
WHOLE = Counter(loaded.task.domain for loaded in ALL.tasks)


def domains(drawn: tuple[LoadedTask, ...]) -> Counter[str]:
    return Counter(loaded.task.domain for loaded in drawn)


def test_terms_of_a_command_line_are_read() -> None:
    assert Sample.parse(["9"]) == Sample(more=9)
    assert Sample.parse(["xps=3", "*=1", "pymatgen=0", "2"]) == Sample({"xps": 3, "pymatgen": 0}, each=1, more=2)


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        (["-1"], "is no sample"),
        (["xps"], "is no sample"),
        (["xps=x"], "is no sample"),
        (["xps =1"], "is no sample"),
        (["=1"], "is no sample"),
        (["1e3"], "is no sample"),
        (["12345"], "is no sample"),
        (["xps=1\n"], "is no sample"),
        (["xps=1", "xps=2"], "how many of domain xps"),
        (["1", "2"], "another --sample says how many"),
        (["*=1", "*=1"], "another --sample says how many"),
        (["0"], "draws nothing"),
        (["xps=0", "*=0"], "draws nothing"),
    ],
)
def test_other_terms_are_refused(terms: list[str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Sample.parse(terms)


def test_without_a_sample_all_are_taken() -> None:
    assert draw(ALL, None, 3) == ALL.tasks


def test_a_number_alone_goes_round_the_domains() -> None:
    counts = domains(draw(ALL, Sample(more=len(WHOLE)), 5))
    assert counts == dict.fromkeys(WHOLE, 1)
    assert max(domains(draw(ALL, Sample(more=len(WHOLE) + 1), 5)).values()) == 2


def test_a_sample_of_ci_holds_six_of_the_desktop_and_one_of_each_other_domain() -> None:
    counts = domains(draw(ALL, Sample.parse(["xps=3", "microscopy=3", "*=1"]), 7))
    assert counts == {domain: 3 if domain in ("xps", "microscopy") else 1 for domain in WHOLE}


@given(
    named=st.dictionaries(st.sampled_from(sorted(WHOLE)), st.integers(0, 30), max_size=3),
    each=st.integers(0, 3),
    more=st.integers(1, 300),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_what_is_said_of_each_domain_holds(named: dict[str, int], each: int, more: int, seed: int) -> None:
    drawn = draw(ALL, Sample(named, each, more), seed)
    assert drawn == draw(ALL, Sample(named, each, more), seed)
    assert [loaded.id for loaded in drawn] == sorted({loaded.id for loaded in drawn})
    counts = domains(drawn)
    others = {domain: number for domain, number in WHOLE.items() if domain not in named}
    assert all(counts[domain] == min(number, WHOLE[domain]) for domain, number in named.items())
    assert all(counts[domain] >= min(each, number) for domain, number in others.items())
    least = sum(min(each, number) for number in others.values())
    assert sum(counts[domain] for domain in others) == min(least + more, sum(others.values()))


def test_another_seed_draws_another_sample() -> None:
    assert len({tuple(loaded.id for loaded in draw(ALL, Sample({"xps": 3}), seed)) for seed in range(8)}) > 1


def test_a_domain_without_tasks_and_a_sample_of_nothing_are_told() -> None:
    with pytest.raises(ConfigurationError, match=r"of domain 'nmr': no task chosen is of it \(there are "):
        draw(ALL, Sample({"nmr": 1}), 0)
    one = replace(ALL, tasks=tuple(loaded for loaded in ALL.tasks if loaded.task.domain == "xps"))
    with pytest.raises(ConfigurationError, match="nothing is drawn from"):
        draw(one, Sample({"xps": 0}, more=1), 0)
