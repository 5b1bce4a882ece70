from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from tasks_lib.records import Keys, Launch, Modality, VoidReason
from tasks_lib.records.errors import ConfigurationError, TaskError, policy_for
from tasks_lib.taskdefs import TaskFileError, find_root, load_all, load_task
from tasks_lib.taskdefs._folder import MAX_DATA_BYTES, MAX_FILES
from tasks_lib.taskdefs._yaml import MAX_BYTES

FIXTURES = Path(__file__).parents[2] / "fixtures" / "taskdefs"
CODE = FIXTURES / "good" / "open" / "powder" / "lattice-parameter"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the good fixtures that a test may change."""
    return Path(shutil.copytree(FIXTURES / "good", tmp_path / "taskdefs"))


@pytest.fixture
def code(root: Path) -> Path:
    return root / "open" / "powder" / "lattice-parameter"


def rewrite(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def refused(folder: Path) -> TaskFileError:
    with pytest.raises(TaskFileError) as caught:
        load_task(folder)
    return caught.value


class TestForm:
    def test_a_plain_task_becomes_one_stage(self):
        task = load_task(CODE).task
        (stage,) = task.stages
        assert (task.suite, task.domain, task.id) == ("open", "powder", "lattice-parameter")
        assert (stage.id, stage.modality, stage.budget.steps) == ("main", Modality.CODE, 10)
        assert [(item.path, item.source) for item in stage.inputs] == [("cell.cif", "inputs/cell.cif")]
        assert [item.path for item in stage.deliverables] == ["volume.json", "spacings.csv"]

    def test_tolerance_and_unit_stand_in_one_text(self):
        compares = load_task(CODE).task.criteria[0].compares
        assert (compares.want, compares.tolerance, compares.unit) == (29.791, 0.001, "Å³")

    def test_further_keys_are_arguments(self):
        first, second = load_task(CODE).task.criteria
        assert first.reads.arguments == {"pointer": "/volume"}
        assert second.compares.arguments == {"keys": ["h", "k", "l"], "columns": {"d_angstrom": {}}}

    def test_stages_of_a_mixed_task(self):
        task = load_task(FIXTURES / "good" / "open" / "mixed" / "cell-to-plot").task
        first, second = task.stages
        assert [(item.path, item.as_path) for item in first.hands_over] == [("spacings.csv", "d.csv")]
        assert (first.modality, second.modality) == (Modality.CODE, Modality.FIGURE)
        assert [criterion.kind for criterion in task.criteria] == ["hand-off", "result"]

    def test_set_up_steps(self):
        (stage,) = load_task(FIXTURES / "good" / "open" / "desktop" / "two-peaks").task.stages
        assert stage.setup == (Launch(launch="fityk", window="fityk"), Keys(keys=("escape",)))

    @pytest.mark.parametrize(
        ("old", "new", "line", "value"),
        [
            ("title: Volume", "titel: Volume", 2, "unknown field 'titel'"),
            ("budget: {steps: 10, ", "budget: {step: 10, ", 17, "budget.step is 10"),
            ("task: open/powder/lattice-parameter", "task: lattice-parameter", 1, "task is 'lattice-parameter'"),
            ("points: 3\n", "points: three\n", 5, "points is 'three'"),
            ("tolerance: 0.001 Å³", "tolerance: 0.001 Å³, unit: Å³", 23, "unit is 'Å³' beside a tolerance"),
            ("tolerance: 0.001 Å³", "tolerance: about 1", 23, "tolerance is 'about 1'"),
            ("tolerance: 0.001 Å³", "tolerance: -1 Å³", 23, "criteria.0.compares.tolerance is -1.0"),
            ("tolerance: 0.001 Å³", "tolerance: 1e999 Å³", 23, "criteria.0.compares.tolerance is inf"),
            ("hints:\n  - Cells", "hints:\n  Cells", 10, "hints is"),
            ("  volume.json: the volume", "  ../volume.json: the volume", 15, "'../volume.json'"),
            ("  cell.cif: ", "  /etc/passwd: ", 13, "'/etc/passwd'"),
            ("    why: The volume", "    whyever: The volume", 24, "criteria.0.whyever"),
            ("near_misses:\n", "near_misses: none\nother:\n", 31, "near_misses is 'none'"),
            ("    points: 2", "    points: 0", 21, "criteria.0.points is 0"),
            ("modality: code", "modality: mixed", 7, "unknown field 'instruction'"),
        ],
    )
    def test_what_does_not_fit_is_named_with_its_line(self, code, old, new, line, value):
        rewrite(code / "task.yaml", old, new)
        error = refused(code)
        assert any(finding.line == line and value in finding.value for finding in error.findings), str(error)
        assert all(finding.fix for finding in error.findings)

    def test_a_list_is_no_task(self, code):
        (code / "task.yaml").write_text("- a\n- b\n", encoding="utf-8")
        assert "the document is ['a', 'b']" in str(refused(code))

    def test_a_set_up_step_is_one_of_two(self, root):
        folder = root / "open" / "desktop" / "two-peaks"
        rewrite(folder / "task.yaml", "  - keys: [escape]", "  - sleep: 5")
        assert "either `launch: …, window: …` or `keys: […]`" in str(refused(folder))


class TestLoadedTask:
    def test_inputs_by_path_and_by_source(self):
        loaded = load_task(CODE)
        data = (CODE / "inputs" / "cell.cif").read_bytes()
        assert loaded.input_bytes("cell.cif") == loaded.input_bytes("inputs/cell.cif") == data
        with pytest.raises(KeyError):
            loaded.input_bytes("gold/spacings.csv")

    def test_gold_is_relative_to_its_folder(self):
        assert load_task(CODE).gold() == {"spacings.csv": (CODE / "gold" / "spacings.csv").read_bytes()}

    def test_a_near_miss_is_the_oracle_with_other_text(self):
        loaded = load_task(CODE)
        oracle, miss = loaded.transcript("oracle"), loaded.near_miss("edge-squared")
        assert "a**3" in oracle[0]
        assert miss == (oracle[0].replace("a**3", "a**2"), *oracle[1:])
        with pytest.raises(KeyError):
            loaded.near_miss("unheard-of")

    def test_an_edit_may_touch_one_stage_only(self):
        loaded = load_task(FIXTURES / "good" / "open" / "mixed" / "cell-to-plot")
        assert loaded.near_miss("last-line-wrong", "plot") == loaded.transcript("oracle", "plot")
        assert loaded.near_miss("last-line-wrong", "calculate") != loaded.transcript("oracle", "calculate")

    def test_a_missing_transcript_is_an_error_of_the_task(self):
        loaded = load_task(CODE)
        assert loaded.has_transcript("oracle")
        assert not loaded.has_transcript("scripted")
        with pytest.raises(TaskError, match=r"scripted\.md: task lattice-parameter has no reply in it"):
            loaded.transcript("scripted")

    def test_a_broken_transcript_names_file_and_line(self, code):
        (code / "scripted.md").write_text("a\n```python\nx\n", encoding="utf-8")
        with pytest.raises(TaskError, match=r"scripted\.md: line 2: the block that opens here is never closed"):
            load_task(code).transcript("scripted")

    def test_what_is_changed_after_loading_does_not_matter(self, code):
        loaded = load_task(code)
        before = loaded.input_bytes("cell.cif")
        (code / "inputs" / "cell.cif").write_text("other", encoding="utf-8")
        assert loaded.input_bytes("cell.cif") == before


class TestDigest:
    def test_it_is_the_same_on_every_machine(self):
        # Fixed: a change of this value makes old runs incomparable and must be meant.
        assert load_task(CODE).digest == "34617f85a1f8119914f814ac2caf5def993f800f8537cea4c839bb1f5983dfbe"

    def test_place_layout_comments_and_proofs_do_not_count(self, code):
        before = load_task(code).digest
        rewrite(code / "task.yaml", "points: 3\n", "points: 3\n# a comment\n")
        rewrite(code / "task.yaml", "what: Squares the cell edge instead", "what: Squares the edge instead")
        rewrite(code / "task.yaml", "{steps: 10, seconds: 300}", "\n  steps: 10\n  seconds: 300.0")
        (code / "scripted.md").write_text("Done.\n", encoding="utf-8")
        rewrite(code / "oracle.md", "The cell is cubic", "This cell is cubic")
        for file in code.glob("*.yaml"):
            file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
        gold = code / "gold" / "spacings.csv"
        gold.write_bytes(gold.read_bytes().replace(b"\n", b"\r\n"))
        assert load_task(code).digest == before

    @pytest.mark.parametrize(
        ("name", "old", "new"),
        [
            ("task.yaml", "tolerance: 0.001 Å³", "tolerance: 0.002 Å³"),
            ("task.yaml", "want: 29.791", "want: 29.792"),
            ("task.yaml", "steps: 10", "steps: 11"),
            ("task.yaml", "The file cell.cif holds", "The file cell.cif has"),
            ("gold/spacings.csv", "2.19203", "2.19204"),
        ],
    )
    def test_what_the_agent_meets_or_is_judged_by_counts(self, code, name, old, new):
        before = load_task(code).digest
        rewrite(code / name, old, new)
        assert load_task(code).digest != before

    def test_an_input_counts_by_its_digest(self, code):
        before = load_task(code)
        file = code / "inputs" / "cell.cif"
        file.write_bytes(file.read_bytes() + b"# more\n")
        rewrite(
            code / "task.yaml", before.task.stages[0].inputs[0].sha256, hashlib.sha256(file.read_bytes()).hexdigest()
        )
        assert load_task(code).digest != before.digest


class TestFolders:
    def test_links_are_refused(self, code):
        (code / "inputs" / "cell.cif").unlink()
        (code / "inputs" / "cell.cif").symlink_to(code / "gold" / "spacings.csv")
        (code / "more").symlink_to("/etc")
        error = refused(code)
        values = {finding.value for finding in error.findings if finding.rule == "not-plain"}
        assert values == {"inputs/cell.cif is a symbolic link", "more is a symbolic link"}

    def test_a_pipe_does_not_block_the_reader(self, code):
        os.mkfifo(code / "inputs" / "pipe")
        assert "inputs/pipe is no file" in str(refused(code))

    def test_sizes_are_capped(self, code):
        with (code / "inputs" / "big.bin").open("wb") as stream:
            stream.truncate(MAX_DATA_BYTES + 1)
        (code / "task.yaml").write_bytes(b"#" * (MAX_BYTES + 1))
        rules = [(Path(finding.file).name, finding.rule) for finding in refused(code).findings]
        assert rules == [("big.bin", "too-large"), ("task.yaml", "too-large")]

    def test_the_number_of_files_is_capped(self, code):
        for number in range(MAX_FILES + 1):
            (code / "inputs" / f"{number}.txt").touch()
        assert "too-many" in {finding.rule for finding in refused(code).findings}

    def test_transcripts_are_utf_8(self, code):
        (code / "oracle.md").write_bytes("Å".encode("latin-1"))
        assert "save the file as UTF-8" in str(refused(code))

    @pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
    def test_a_file_that_may_not_be_read_is_named(self, code):
        (code / "task.yaml").chmod(0)
        assert "Permission denied" in str(refused(code))

    def test_what_stops_loading(self):
        for name in ("yaml", "form", "folder-name", "input-missing", "input-digest", "gold-missing", "gold-readable"):
            (folder,) = (FIXTURES / "bad" / name).glob("*/*/*")
            error = refused(folder)
            assert [finding.rule for finding in error.findings] == [name]
            assert policy_for(error).reason is VoidReason.TASK

    def test_what_only_lint_minds_is_loaded(self):
        for name in ("points-sum", "too-long", "near-misses", "input-unused", "oracle-missing"):
            (folder,) = (FIXTURES / "bad" / name).glob("*/*/*")
            assert load_task(folder).id == "lattice-parameter"


class TestTaskSet:
    def test_a_broken_task_is_a_problem_and_the_others_load(self, root, code):
        digest = load_all(root).digest
        rewrite(code / "task.yaml", "difficulty: easy", "difficulty: simple")
        found = load_all(root)
        assert [loaded.id for loaded in found.tasks] == ["cell-to-plot", "two-peaks"]
        (problem,) = found.problems
        assert (problem.suite, problem.domain, problem.task_id) == ("open", "powder", "lattice-parameter")
        assert "task.yaml:4: error [form] difficulty is 'simple'" in str(problem.error())
        assert found.digest != digest

    def test_an_id_stands_once(self):
        found = load_all(FIXTURES / "bad" / "duplicate-id")
        assert [loaded.task.domain for loaded in found.tasks] == ["powder"]
        assert [(item.domain, item.findings[0].rule) for item in found.problems] == [("thin-film", "duplicate-id")]

    def test_its_digest_does_not_depend_on_the_place(self, root):
        assert load_all(root).digest == load_all(FIXTURES / "good").digest

    def test_a_folder_without_task_file_is_a_problem(self, root):
        (root / "open" / "powder" / "empty").mkdir()
        (problem,) = load_all(root).problems
        assert problem.findings[0].rule == "unreadable"

    def test_hidden_folders_and_benchmarks_are_left_out(self, root):
        (root / ".git" / "a" / "b").mkdir(parents=True)
        (root / "benchmarks" / "old" / "x").mkdir(parents=True)
        assert load_all(root).problems == ()

    def test_a_task_by_its_id(self, root):
        found = load_all(root)
        assert found["two-peaks"].task.domain == "desktop"
        with pytest.raises(KeyError):
            found["unheard-of"]


class TestRoot:
    def test_the_argument_wins_then_the_environment_then_the_repository(self, root, monkeypatch):
        monkeypatch.delenv("MATASSAY_TASKDEFS", raising=False)
        assert find_root() == Path(__file__).parents[3] / "taskdefs"
        monkeypatch.setenv("MATASSAY_TASKDEFS", str(root))
        assert find_root() == root
        assert find_root(FIXTURES) == FIXTURES

    def test_a_root_that_is_not_there(self, tmp_path):
        with pytest.raises(ConfigurationError, match="MATASSAY_TASKDEFS"):
            find_root(tmp_path / "none")
