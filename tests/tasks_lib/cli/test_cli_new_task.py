"""`matassay new-task`: scaffolds that are whole as they are written; whether they prove, `test_scaffolds` plays."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tasks_lib.agents import reply_problems
from tasks_lib.cli import app
from tasks_lib.databases import load as load_snapshot
from tasks_lib.databases.servers import Dialect
from tasks_lib.evaluation import GETTERS, METRICS
from tasks_lib.taskdefs import LIKES, find_root, lint, load_all, load_task

# The domain whose name asks for a kind; scripts with the standard library alone have no domain of their own.
DOMAINS = {like: {"figure": "figures"}.get(like, like) for like in LIKES if like != "code"}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MATASSAY_CONFIG", raising=False)
    folder = tmp_path / "defs"
    folder.mkdir()
    shutil.copytree(find_root() / "targets", folder / "targets")
    shutil.copytree(find_root() / "environments", folder / "environments")
    return folder


def _call(root: Path, name: str, like: str | None, *words: str):
    kind = [] if like is None else ["--like", like]
    return CliRunner().invoke(app, ["new-task", name, *kind, "--taskdefs", str(root), *words])


def _made(root: Path, like: str, *words: str) -> Path:
    result = _call(root, f"open/made/my-{like}", like, *words)
    assert result.exit_code == 0, result.output
    return root / "open" / "made" / f"my-{like}"


def _lint(folder: Path) -> list[str]:
    found = lint(folder, getters=GETTERS, metrics=METRICS, parse=reply_problems, endpoints=tuple(Dialect))
    return [str(finding) for finding in found]


@pytest.mark.parametrize("like", LIKES)
def test_a_scaffold_is_clean_as_it_was_written(like: str, root: Path) -> None:
    folder = _made(root, like)
    assert _lint(folder) == []
    assert len((folder / "task.yaml").read_text(encoding="utf-8").splitlines()) <= 80
    task = load_task(folder).task
    assert task.modality == {"figure": "figure", "mixed": "mixed", "xps": "gui", "microscopy": "gui"}.get(like, "code")
    assert len({miss.kind for miss in task.near_misses}) == len(task.near_misses) >= 2
    # Every criterion is needed: some mistake fails it.
    assert {name for miss in task.near_misses for name in miss.fails} == {one.id for one in task.criteria}


@pytest.mark.parametrize("like", LIKES)
def test_with_blanks_it_lacks_nothing_but_what_its_author_knows(like: str, root: Path) -> None:
    folder = _made(root, like, "--blank")
    found = _lint(folder)
    assert found
    assert all("[unfilled]" in finding for finding in found)


@pytest.mark.parametrize(("like", "domain"), sorted(DOMAINS.items()))
def test_the_kind_follows_from_the_domain(like: str, domain: str, root: Path) -> None:
    assert _call(root, f"open/{domain}/mine", None).exit_code == 0
    named = _made(root, like)
    for path in sorted(path for path in named.rglob("*") if path.is_file() and path.name != "task.yaml"):
        assert (root / "open" / domain / "mine" / path.relative_to(named)).read_bytes() == path.read_bytes()


def test_every_domain_of_the_benchmark_has_a_kind() -> None:
    assert {loaded.task.domain for loaded in load_all().tasks if loaded.task.suite == "mattoolbench"} <= set(
        DOMAINS.values()
    )


def test_every_kind_says_how_many_blanks_lint_will_name(root: Path) -> None:
    for like in LIKES:
        document = json.loads(_call(root, f"open/made/a-{like}", like, "--json", "--blank").stdout)
        assert document["blanks"] == len(_lint(Path(document["folder"]))) > 0
        there = Path(document["folder"]).rglob("*")
        assert document["files"] == sorted(
            path.relative_to(document["folder"]).as_posix() for path in there if path.is_file()
        )
        assert json.loads(_call(root, f"open/made/b-{like}", like, "--json").stdout)["blanks"] == 0


@pytest.mark.parametrize("like", ["mp", "oqmd", "optimade"])
def test_what_a_database_scaffold_wants_is_what_the_snapshot_holds(like: str, root: Path) -> None:
    (criterion,) = load_task(_made(root, like)).task.criteria
    near = [
        entry.number
        for entry in load_snapshot()
        if entry.formula == "ZnO" and entry.properties["energy_above_hull"].value < 0.1
    ]
    spelled = {"mp": "mp-{}", "oqmd": "{}", "optimade": "matassay-{}"}[like]
    assert sorted(map(str, criterion.compares.want)) == sorted(spelled.format(number) for number in near)


@pytest.mark.parametrize(
    ("name", "like", "said"),
    [
        ("xps", "xps", "is no suite/domain/id"),
        ("open/made/../../../out", "code", "is no suite/domain/id"),
        ("open/made/..", "code", "is no suite/domain/id"),
        ("open//x", "code", "is no suite/domain/id"),
        ("open/made/Upper", "code", "is no suite/domain/id"),
        ("open/made/new", "paint", "no scaffold 'paint'"),
        ("open/made/new", None, "the domain 'made' has no scaffold of its own: say --like xps|"),
        ("open/made/taken", "code", "is not overwritten"),
        ("open/other/taken", "code", "is not overwritten"),
        ("open/made/empty", "code", "is not overwritten"),
        ("open/made/dangling", "code", "is not overwritten"),
        ("open/a-file/new", "code", "a-file"),
    ],
)
def test_wrong_use_ends_with_2_and_writes_nothing(name: str, like: str, said: str, root: Path) -> None:
    assert _call(root, "open/made/taken", "code").exit_code == 0
    (root / "open" / "made" / "empty").mkdir()
    (root / "open" / "made" / "dangling").symlink_to("nowhere")
    (root / "open" / "a-file").write_text("x", encoding="utf-8")
    before = _everything(root.parent)
    result = _call(root, name, like)
    assert result.exit_code == 2, result.output
    assert said.replace(" ", "") in "".join(result.output.split())  # a long path is broken anywhere
    assert isinstance(result.exception, SystemExit)
    assert _everything(root.parent) == before


def test_a_write_that_fails_half_way_leaves_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == "task.yaml":
            raise OSError(28, "No space left on device", str(path))
        return written(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    result = _call(root, "open/made/new", "code")
    assert result.exit_code == 2
    assert "No space left" in result.output
    assert list((root / "open" / "made").iterdir()) == []


def _everything(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}
