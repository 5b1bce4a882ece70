"""Every rule has a bad fixture that breaks it and nothing else; good fixtures and shipped tasks break none."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tasks_lib.agents import reply_problems
from tasks_lib.databases.servers import Dialect
from tasks_lib.evaluation import GETTERS, METRICS
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.taskdefs import RULES, Finding, find_root, lint, load_all
from tasks_lib.taskdefs.rules.registry import rule

FIXTURES = Path(__file__).parents[2] / "fixtures" / "taskdefs"
DOCS = Path(__file__).parents[3] / "docs" / "task-authoring.md"
# What the reader of a folder says before any rule is asked.
READER = {"yaml", "form", "unreadable", "duplicate-id"}
# What is known of a whole set alone.
SET = {"target-unused"}


def check(path: Path) -> list[Finding]:
    return lint(path, getters=GETTERS, metrics=METRICS, parse=reply_problems, endpoints=tuple(Dialect))


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A copy of the good code task that a test may break."""
    return (
        Path(shutil.copytree(FIXTURES / "good" / "open" / "powder", tmp_path / "open" / "powder")) / "lattice-parameter"
    )


def rewrite(folder: Path, old: str, new: str, name: str = "task.yaml") -> None:
    text = (folder / name).read_text(encoding="utf-8")
    assert old in text
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("name", sorted({*RULES, *READER, *SET}))
def test_each_rule_has_a_bad_fixture_that_breaks_it_alone(name):
    findings = check(FIXTURES / "bad" / name)
    assert {finding.rule for finding in findings} == {name}
    for finding in findings:
        assert Path(finding.file).is_relative_to(FIXTURES / "bad" / name)
        assert finding.line >= 1
        assert finding.value
        assert finding.fix


def test_there_is_no_bad_fixture_without_a_rule():
    assert {path.name for path in (FIXTURES / "bad").iterdir()} == {*RULES, *READER, *SET}


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("yaml", "task.yaml:6"),
        ("form", "task.yaml:4"),
        ("input-digest", "task.yaml:13"),
        ("no-unit", "task.yaml:23"),
        ("points-sum", "task.yaml:5"),
        ("near-miss-text", "task.yaml:34"),
        ("host-path", "oracle.md:5"),
        ("transcript", "scripted.md:3"),
        ("budget", "task.yaml:17"),
        ("unfilled", "task.yaml:2"),
    ],
)
def test_findings_name_the_line(name, place):
    (finding,) = check(FIXTURES / "bad" / name)
    assert f"{Path(finding.file).name}:{finding.line}" == place
    assert str(finding).startswith(f"{finding.file}:{finding.line}: {finding.severity} [{name}] ")


def test_good_fixtures_are_clean():
    assert check(FIXTURES / "good") == []


def test_shipped_tasks_are_clean():
    assert [str(finding) for finding in check(find_root())] == []
    assert load_all().problems == ()


def test_the_guide_lists_every_rule():
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| \w+ \| (.+) \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE))
    assert {name: rows.get(name) for name in RULES} == {name: entry.says for name, entry in RULES.items()}


def test_the_example_of_the_guide_is_the_good_fixture():
    guide = DOCS.read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```yaml\n(task: .+?)^```", guide, re.MULTILINE | re.DOTALL)
    bare = re.sub(r" +#.*$", "", shown, flags=re.MULTILINE)
    fixture = FIXTURES / "good" / "open" / "powder" / "lattice-parameter" / "task.yaml"
    assert bare == fixture.read_text(encoding="utf-8")


def test_a_domain_and_a_task_can_be_checked_alone():
    bad = FIXTURES / "bad" / "no-unit"
    assert len(check(bad / "open")) == len(check(bad / "open" / "powder" / "lattice-parameter")) == 1


def test_a_folder_without_tasks_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="no task at"):
        lint(tmp_path)


def test_rules_that_need_other_floors_are_left_out_without_them():
    for name in ("unknown-getter", "unknown-metric", "bad-argument", "oracle-unparsable", "unknown-endpoint"):
        assert lint(FIXTURES / "bad" / name) == []


def test_names_alone_do_for_names():
    findings = lint(FIXTURES / "good", getters={"json"}, metrics={"number", "table-match", "exists", "contains"})
    assert {finding.rule for finding in findings} == {"unknown-getter"}


def test_two_rules_of_one_name_are_refused():
    with pytest.raises(ValueError, match="rule points-sum is registered twice"):
        rule("points-sum", "Again.")(lambda *_: iter(()))


class TestVariants:
    """Set-ups and replies that differ between runs with hints and without."""

    @pytest.fixture
    def opened(self, tmp_path):
        """A copy of the good desktop task whose set-up opens the file only with hints."""
        root = Path(shutil.copytree(FIXTURES / "good", tmp_path / "good"))
        folder = root / "open" / "desktop" / "two-peaks"
        both = "  - {launch: fityk, arguments: [c1s.xy], window: fityk, with_hints: true}\n"
        both += "  - {launch: fityk, window: fityk, with_hints: false}\n"
        rewrite(folder, "  - launch: fityk\n    window: fityk\n", both)
        return folder

    def test_it_is_clean_where_the_instruction_names_the_file(self, opened):
        rewrite(opened, "The Session menu", "<!-- only without hints -->\nThe Session menu", "oracle.md")
        assert check(opened) == []

    def test_a_file_that_only_one_variant_opens_is_named_in_the_instruction(self, opened):
        rewrite(opened, "Load the spectrum c1s.xy, give", "Give")
        (finding,) = check(opened)
        assert finding.rule == "hints-setup"
        assert finding.value == "c1s.xy is opened only with hints and does not stand in the instruction"

    def test_a_program_that_only_one_variant_starts_is_told(self):
        (finding,) = check(FIXTURES / "bad" / "hints-setup")
        assert finding.value == "fityk with hints, nothing without"

    def test_a_near_miss_is_a_mistake_in_both(self, opened):
        rewrite(opened, "The command line", "<!-- only without hints -->\nThe command line", "oracle.md")
        findings = check(opened)
        assert {finding.rule for finding in findings} == {"hints-replies"}
        assert [finding.value for finding in findings] == [
            "other-file changes nothing with hints", "other-title changes nothing with hints",
        ]  # fmt: skip

    def test_a_misspelt_mark_is_told(self, opened):
        rewrite(opened, "The Session menu", "<!-- only with hint -->\nThe Session menu", "oracle.md")
        (finding,) = check(opened)
        assert finding.rule == "transcript"
        assert "begins with the comment 'only with hint'" in finding.value


class TestTargets:
    def test_a_picture_that_is_damaged_is_found(self, tmp_path):
        root = Path(shutil.copytree(FIXTURES / "good", tmp_path / "good"))
        (root / "targets" / "fityk" / "menu-session.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        (finding,) = check(root)
        assert (finding.rule, Path(finding.file).name, finding.line) == ("target-picture", "oracle.md", 15)
        assert "no readable PNG file" in finding.value

    def test_the_line_of_the_first_naming_is_told(self):
        (finding,) = check(FIXTURES / "bad" / "target-picture")
        assert (Path(finding.file).name, finding.line) == ("oracle.md", 15)
        assert "no picture targets/fityk/menu-sesion.png (there are none)" in finding.value

    def test_near_misses_name_targets_too(self, tmp_path):
        root = Path(shutil.copytree(FIXTURES / "good", tmp_path / "good"))
        task = root / "open" / "desktop" / "two-peaks"
        rewrite(task, """replace: {"C 1s": "O 1s"}""", """replace: {"fityk/menu-session": "fityk/menu-data"}""")
        (finding,) = check(root)
        assert (finding.rule, Path(finding.file).name) == ("target-picture", "task.yaml")
        assert "fityk/menu-data" in finding.value
        rewrite(task, """"fityk/menu-data\"""", """"menu data\"""")
        (finding,) = check(root)
        assert finding.rule == "target-picture"
        assert "other-title: line 15: 'menu data' is no name of a target" in finding.value

    def test_files_that_are_no_pictures_and_pictures_that_nobody_names_are_told(self, tmp_path):
        root = Path(shutil.copytree(FIXTURES / "good", tmp_path / "good"))
        (root / "targets" / "notes.txt").write_text("cut on Tuesday", encoding="utf-8")
        shutil.copy(root / "targets/fityk/menu-session.png", root / "targets/fityk/menu-data.png")
        assert [(Path(f.file).name, f.rule) for f in check(root)] == [
            ("menu-data.png", "target-unused"),
            ("notes.txt", "target-unused"),
        ]
        # A domain says nothing of pictures that other domains may use, nor does a set that was not read whole.
        assert check(root / "open") == []
        (root / "open" / "powder" / "lattice-parameter" / "task.yaml").write_text("a: &b 1", encoding="utf-8")
        assert {finding.rule for finding in check(root)} == {"yaml"}


class TestLeaks:
    @pytest.mark.parametrize("told", ["about 29.791 Å³", "it is 2.9791e1", "29.7905", "(29.792)"])
    def test_the_number_in_any_notation_within_the_tolerance(self, good, told):
        rewrite(good, "with G the metric tensor.", f"with G the metric tensor. {told}")
        assert [finding.rule for finding in check(good)] == ["answer-leaked"]

    @pytest.mark.parametrize("told", ["29.8 Å³", "129.791", "29.791.csv", "v29.791", "29.7911.2", "room 29, shelf 791"])
    def test_other_numbers_and_parts_of_names_are_none(self, good, told):
        rewrite(good, "with G the metric tensor.", f"with G the metric tensor. {told}")
        assert check(good) == []

    def test_a_typographer_s_minus_is_a_minus(self, good):
        rewrite(good, "want: 29.791", "want: -29.791")
        rewrite(good, "with G the metric tensor.", "with G the metric tensor. It is −29.791.")
        assert [finding.rule for finding in check(good)] == ["answer-leaked"]

    def test_the_words_on_a_deliverable_are_told_too(self, good):
        rewrite(good, "volume.json: the volume of the cell", "volume.json: the volume of the cell, 29.791 Å³")
        (finding,) = check(good)
        assert finding.rule == "answer-leaked"
        assert finding.value.endswith("stands in deliverables.volume.json")

    def test_given_values_are_no_leak(self, good):
        rewrite(good, "with G the metric tensor.", "with G the metric tensor. It is 29.791.")
        rewrite(good, "  - id: cell-volume\n", "  - id: cell-volume\n    given: true\n")
        assert check(good) == []

    def test_small_counts_and_short_texts_are_too_common(self, good):
        rewrite(
            good, "{metric: number, want: 29.791, tolerance: 0.001 Å³}", "{metric: equals, want: [2, number, Fe, h]}"
        )
        rewrite(good, "with G the metric tensor.", "with G the metric tensor, 2 and Fe.")
        (finding,) = check(good)
        assert finding.rule == "answer-leaked"
        assert "'number'" in finding.value

    def test_the_tolerance_of_one_key_is_not_wanted(self, good):
        rewrite(
            good,
            "{metric: number, want: 29.791, tolerance: 0.001 Å³}",
            "{metric: key-values, want: {volume: {value: 29.791, tolerance: 22, unit: Å³}}}",
        )
        rewrite(good, "{getter: json, path: volume.json, pointer: /volume}", "{getter: json, path: volume.json}")
        rewrite(good, "with G the metric tensor.", "with G the metric tensor, all 22 of them.")
        assert check(good) == []


@pytest.mark.parametrize("words", ["what cell-volume wants", "as the evaluator reads it"])
def test_the_words_on_a_deliverable_say_nothing_of_checks(good, words):
    rewrite(good, "volume.json: the volume of the cell", f"volume.json: {words}")
    (finding,) = check(good)
    assert finding.rule == "hint-names-check"
    assert finding.value.startswith("what volume.json holds names ")


class TestTolerances:
    @pytest.mark.parametrize(
        "compares",
        [
            "{metric: number, want: 30}",
            "{metric: equals, want: 29.791}",
            "{metric: number-list, want: [1, 29.791]}",
            "{metric: key-values, want: {volume: 29.791}}",
        ],
    )
    def test_measured_numbers_need_one(self, good, compares):
        rewrite(good, "{metric: number, want: 29.791, tolerance: 0.001 Å³}", compares)
        assert [finding.rule for finding in check(good)] == ["no-tolerance"]

    @pytest.mark.parametrize(
        "compares",
        [
            "{metric: number, want: 29.791, relative: 1e-3}",
            "{metric: equals, want: 12}",
            "{metric: between, want: [29.7, 29.8]}",
            "{metric: at-least, want: 29.5}",
        ],
    )
    def test_limits_counts_and_relative_tolerances_do(self, good, compares):
        rewrite(good, "{metric: number, want: 29.791, tolerance: 0.001 Å³}", compares)
        assert check(good) == []


@pytest.mark.parametrize("path", ["C:\\Users\\anna\\c1s.xy", "/tmp/c1s.xy", "'/Users/anna/a.csv'"])
def test_paths_of_machines_are_found(good, path):
    rewrite(good, "with G the metric tensor.", f"with G the metric tensor; see {path} too.")
    assert [finding.rule for finding in check(good)] == ["host-path"]


@pytest.mark.parametrize("text", ["sqrt(a)/tmp/b", "https://example.org/home/page", "~/work/a", "and/or", "J/mol/K"])
def test_slashes_in_prose_are_no_paths(good, text):
    rewrite(good, "with G the metric tensor.", f"with G the metric tensor; {text}.")
    assert check(good) == []


def test_line_ends_do_not_hide_gold_in_an_input(good):
    gold = (good / "gold" / "spacings.csv").read_bytes()
    (good / "inputs" / "cell.cif").write_bytes(b"# " + gold.replace(b"\n", b"\r\n"))
    rules = {finding.rule for finding in check(good)}
    assert rules == {"input-digest", "gold-readable"}


def test_every_problem_of_a_form_is_told_at_once(good):
    rewrite(good, "modality: code", "modality: cooking")
    rewrite(good, "    points: 2", "    points: two")
    rewrite(good, "tolerance: 0.001 Å³", "tolerance: small")
    found = {(finding.line, finding.rule) for finding in check(good)}
    assert found == {(3, "form"), (21, "form"), (23, "form")}
