from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tasks_lib.agents import AGENTS
from tasks_lib.records import Modality
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.taskdefs import Benchmark, Select, TaskFileError, choose, find_root, load_all, load_benchmark

FIXTURES = Path(__file__).parents[2] / "fixtures" / "taskdefs"
GOOD = """\
name: night
what: Code tasks, three times each.
select:
  modalities: [code]
agents: [oracle, nop]
trials: 3
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    copy = Path(shutil.copytree(FIXTURES / "good", tmp_path / "taskdefs"))
    (copy / "benchmarks").mkdir()
    (copy / "benchmarks" / "night.yaml").write_text(GOOD, encoding="utf-8")
    return copy


def test_a_benchmark_by_name_and_by_path(root):
    wanted = Benchmark(
        name="night",
        what="Code tasks, three times each.",
        select=Select(modalities=(Modality.CODE,)),
        agents=("oracle", "nop"),
        trials=3,
    )
    assert load_benchmark("night", root) == wanted
    assert load_benchmark(str(root / "benchmarks" / "night.yaml")) == wanted


def test_an_unknown_name_lists_those_there_are(root):
    with pytest.raises(ConfigurationError, match=r"no benchmark 'day' .*there are night"):
        load_benchmark("day", root)


@pytest.mark.parametrize(
    ("old", "new", "line", "value"),
    [
        ("trials: 3", "trials: 0", 6, "trials is 0"),
        ("agents: [oracle, nop]", "agents: []", 5, "agents is []"),
        ("  modalities: [code]", "  modalities: [codes]", 4, "select.modalities.0 is 'codes'"),
        ("select:", "choose:", 3, "choose is"),
        ("name: night", "name: nights", 1, "name is nights, the file is night.yaml"),
        ("trials: 3", "trials: 3\ntrials: 4", 7, "key 'trials' stands also in line 6"),
    ],
)
def test_what_does_not_fit_is_named_with_its_line(root, old, new, line, value):
    file = root / "benchmarks" / "night.yaml"
    file.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(TaskFileError) as caught:
        load_benchmark("night", root)
    assert (caught.value.findings[0].line, caught.value.findings[0].file) == (line, str(file))
    assert value in caught.value.findings[0].value


@pytest.mark.parametrize(
    ("select", "ids"),
    [
        (Select(), ["cell-to-plot", "lattice-parameter", "two-peaks"]),
        (Select(suites=("open",), domains=("powder", "mixed")), ["cell-to-plot", "lattice-parameter"]),
        (Select(modalities=(Modality.GUI,)), ["two-peaks"]),
        (Select(tasks=("two-peaks", "cell-to-plot"), domains=("mixed",)), ["cell-to-plot"]),
    ],
)
def test_a_task_is_chosen_that_is_in_every_list(root, select, ids):
    whole = load_all(root)
    chosen = choose(whole, select)
    assert [loaded.id for loaded in chosen.tasks] == ids
    assert (chosen.digest == whole.digest) is (len(ids) == 3)


@pytest.mark.parametrize(
    ("select", "said"),
    [
        (Select(suites=("closed",)), r"names suite 'closed', which is not there: use one of open"),
        (Select(domains=("raman",)), r"names domain 'raman'.*desktop, mixed, powder"),
        (Select(tasks=("two-peak",)), r"names task 'two-peak'.*two-peaks"),
        (Select(domains=("powder",), modalities=(Modality.GUI,)), r"chooses no task"),
    ],
)
def test_a_choice_of_nothing_is_refused(root, select, said):
    with pytest.raises(ConfigurationError, match=said):
        choose(load_all(root), select)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("c1s-two-component", "the most alike are c1s-two-components"),
        ("qqqqqqqqqqqq", "`matassay tasks list` has all"),
    ],
)
def test_a_wrong_name_among_many_tasks_is_answered_with_the_few_that_are_alike(name, said):
    with pytest.raises(ConfigurationError, match=said) as caught:
        choose(load_all(find_root()), Select(tasks=(name,)))
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("suites", "domains", "tasks", "said"),
    [
        ((), (), ("open/mixed/cell-to-plot",), r"'open/mixed/cell-to-plot' in tasks .* id alone, 'cell-to-plot'"),
        ((), (), ("",), r"'' in tasks is no name: write lower case"),
        ((), (), ("two-peaks", "../two-peaks"), r"'\.\./two-peaks' in tasks is no name"),
        ((), (), ("two-peaks\n",), r"in tasks is no name"),
        ((), ("XPS",), (), r"'XPS' in domains is no name"),
        (("a" * 101,), (), (), r"in suites is no name"),
    ],
)
def test_what_can_be_no_name_is_refused_in_plain_words(suites, domains, tasks, said):
    with pytest.raises(ConfigurationError, match=said):
        Select.of(suites, domains, tasks)


def test_a_broken_task_stays_in_the_choice_as_a_problem(root):
    file = root / "open" / "powder" / "lattice-parameter" / "task.yaml"
    file.write_text("title: [", encoding="utf-8")
    chosen = load_benchmark("night", root).choose(load_all(root))
    assert [loaded.id for loaded in chosen.tasks] == []
    assert [item.task_id for item in chosen.problems] == ["lattice-parameter"]


def test_shipped_benchmarks_choose_tasks_and_agents_that_exist():
    root = find_root()
    names = sorted(path.stem for path in (root / "benchmarks").glob("*.yaml"))
    assert "smoke" in names
    for name in names:
        benchmark = load_benchmark(name, root)
        assert benchmark.choose(load_all(root)).tasks
        assert set(benchmark.agents) <= set(AGENTS)


def test_smoke_plays_every_modality():
    chosen = load_benchmark("smoke").choose(load_all())
    assert {loaded.task.modality for loaded in chosen.tasks} == set(Modality)
