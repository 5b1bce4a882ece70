"""`matassay databases diff|build|verify`: what moved, what is built, and what holds."""

from __future__ import annotations

import importlib
import importlib.util
import json as jsonlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tasks_lib.cli.console import Exit, explained, out, print_json, say
from tasks_lib.cli.options import JsonOption, StoreOption, TaskdefsOption, open_store, taskdefs_root
from tasks_lib.cli.settings import load_settings
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.reporting import scrub

if TYPE_CHECKING:
    from tasks_lib.databases import Snapshot
    from tasks_lib.databases.comparison import Comparison
    from tasks_lib.databases.ingest.check import SourceReport
    from tasks_lib.episodes.drift import RunDrift

_BUILDER = "infra.databases"
_BUILDERS_PACKAGES = ("ase", "chgnet", "torch")
_MOST_LINES = 40


def diff(
    first: Annotated[str, typer.Argument(metavar="RUN|FILE", help="A live run; or a snapshot, with another one.")],
    second: Annotated[str | None, typer.Argument(metavar="FILE", help="The later snapshot.")] = None,
    tolerance: Annotated[
        float, typer.Option(help="Factor on the tolerances of values; 0 tells every difference.", min=0)
    ] = 1.0,
    store: StoreOption = None,
    taskdefs: TaskdefsOption = None,
    json: JsonOption = False,
) -> None:
    """Say what moved: between the gold and a live run, task by task, or between two snapshots.

    Ends with 0 where nothing moved and with 1 where something did.

    Example: matassay databases diff 20261130-030000-mp
    """
    with explained():
        if second is None:
            moved = _diff_run(first, store, taskdefs, json)
        else:
            moved = _diff_files(Path(first), Path(second), tolerance, json)
    raise typer.Exit(Exit.VOID_OR_UNPROVED if moved else Exit.DONE)


def build(
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write; without it the package's own.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where the potential's results are kept.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; end with 1 where the text differs.")] = False,
    json: JsonOption = False,
) -> None:
    """Compute every entry and write the snapshot; prints its digest.

    Needs a checkout and the extra 'databases-build'; takes long where nothing is cached.

    Example: matassay databases build --to new.jsonl.xz
    """
    with explained():
        _need_builder()
        command = [sys.executable, "-m", _BUILDER, "build"]
        command += ["--to", str(to)] if to else []
        command += ["--cache", str(cache)] if cache else []
        command += ["--check"] if check else []
        command += ["--json"] if json else []
        # A process of its own: sums have one order only where a single thread makes them, from numpy's import on.
        ended = subprocess.run(command, check=False).returncode
    raise typer.Exit(ended if ended in {Exit.DONE, Exit.VOID_OR_UNPROVED, Exit.WRONG_USE} else Exit.WRONG_USE)


def verify(
    snapshot: Annotated[
        Path | None, typer.Option("--snapshot", metavar="FILE", help="Another snapshot than the package's.")
    ] = None,
    energies: Annotated[
        int, typer.Option(metavar="N", help="Compute every N-th energy anew; needs 'databases-build'.", min=0)
    ] = 0,
    url: Annotated[str | None, typer.Option(help="A live database instead of a snapshot.")] = None,
    dialect: Annotated[str | None, typer.Option(help="What the live database speaks: mp, oqmd or optimade.")] = None,
    api_key_env: Annotated[str, typer.Option(help="Environment variable with the key of mp.")] = "MP_API_KEY",
    pages: Annotated[int, typer.Option(help="Most pages of each question to a live database.", min=1)] = 5,
    json: JsonOption = False,
) -> None:
    """Derive a snapshot's values again and compare; or ask a live database and say whether it is well formed.

    Ends with 0 where all holds and with 1 where something does not.

    Example: matassay databases verify --url https://oqmd.org --dialect oqmd
    """
    with explained():
        if url is None:
            holds = _verify_snapshot(snapshot, energies, json)
        elif snapshot is not None or energies:
            msg = "a live database is verified by itself: leave --snapshot and --energies away, or --url"
            raise ConfigurationError(msg)
        else:
            holds = _verify_source(url, dialect, api_key_env, pages, json)
    raise typer.Exit(Exit.DONE if holds else Exit.VOID_OR_UNPROVED)


def _diff_run(run_id: str, store: str | None, taskdefs: Path | None, json: bool) -> bool:
    from tasks_lib.episodes.drift import drift
    from tasks_lib.taskdefs import load_all

    if Path(run_id).is_file():
        msg = f"{run_id} is one snapshot, and a difference takes two: name the other one as well"
        raise ConfigurationError(msg)
    place = open_store(store, load_settings())
    found = drift(place, run_id, load_all(taskdefs_root(taskdefs)).tasks)
    if json:
        print_json(found.model_dump(mode="json"))
    else:
        for line in _drift_lines(found):
            out.print(scrub(line), markup=False, soft_wrap=True)
    return found.moved


def _drift_lines(found: RunDrift) -> Iterator[str]:
    for task in found.tasks:
        yield f"{task.task_id}: {task.state}. {task.why}"
        asked, gold = task.asked, task.gold
        if asked.first is not None:
            versions = "".join(f", {name} {version}" for name, version in sorted(asked.versions.items()))
            yield f"  asked {asked.first:%Y-%m-%d %H:%M} UTC, {asked.replies} replies{versions}"
        if gold:
            yield "  gold from " + ", ".join(f"{name} {str(value)[:20]}" for name, value in sorted(gold.items()))
        for one in task.moved:
            wanted = one.wanted.get("value", one.wanted) if isinstance(one.wanted, dict) else one.wanted
            yield f"  {one.criterion}: got {_short(one.seen)}, the gold says {_short(wanted)}: {one.why}"
        if task.raised:
            yield f"  the oracle's script raised {task.raised}"
        yield from (f"  {one}" for one in task.findings)
        yield from (f"  {one.agent}, trial {one.trial}: {one.cause}" for one in task.episodes)
    held = sum(task.state == "database holds" for task in found.tasks)
    yield f"{held} of {len(found.tasks)} tasks: the database holds"


def _diff_files(first: Path, second: Path, tolerance: float, json: bool) -> bool:
    from tasks_lib.databases import load
    from tasks_lib.databases.comparison import compare

    found = compare(load(first), load(second), scale=tolerance)
    if json:
        print_json(found.model_dump(mode="json"))
    else:
        for line in _comparison_lines(found):
            out.print(scrub(line), markup=False, soft_wrap=True)
    return not found.same


def _comparison_lines(found: Comparison) -> Iterator[str]:
    for mark, side in (("before", found.before), ("after", found.after)):
        yield f"{mark}: {side.name} {side.version}, {side.entries} entries, sha256:{side.digest}"
    parts: tuple[tuple[str, list[str]], ...] = (
        ("ids gone", [f"{one.entry} ({one.formula})" for one in found.gone]),
        ("ids new", [f"{one.entry} ({one.formula})" for one in found.new]),
        ("ids given anew", [f"{one.before} is now {one.after} ({one.formula})" for one in found.renumbered]),
        ("hulls", [str(one) for one in found.hulls]),
        ("space groups", [str(one) for one in found.symmetry]),
        ("values", [str(one) for one in found.values]),
    )
    for title, lines in parts:
        if lines:
            yield f"{title}: {len(lines)}"
            yield from _first(lines)
    if found.same:
        yield "nothing differs beyond its tolerance"


def _verify_snapshot(path: Path | None, energies: int, json: bool) -> bool:
    from tasks_lib.databases import load
    from tasks_lib.databases.derivation import complaints

    snapshot = load(path)
    found = list(complaints(snapshot))
    others = list(_of_the_checkout(snapshot, energies))
    if json:
        print_json(
            {
                "name": snapshot.name,
                "digest": snapshot.digest,
                "entries": len(snapshot),
                "complaints": [one.model_dump(mode="json") for one in found],
                "others": others,
            }
        )
    else:
        for line in (*map(str, found), *others):
            say(line)
        count = len(found) + len(others)
        out.print(f"{snapshot.digest}  {snapshot.name}  {len(snapshot)} entries, {count} complaints", soft_wrap=True)
    return not (found or others)


def _of_the_checkout(snapshot: Snapshot, energies: int) -> Iterator[str]:
    """Yield what the builder knows besides: the systems of the tasks, and the potential's energies."""
    if energies:
        _need_builder()
    if not _has_builder():
        return
    checks: Any = importlib.import_module(f"{_BUILDER}.verify")
    yield from checks.of_systems(snapshot)
    yield from checks.of_energies(snapshot, energies)


def _verify_source(url: str, dialect: str | None, variable: str, pages: int, json: bool) -> bool:
    from tasks_lib.databases.ingest import Fetcher
    from tasks_lib.databases.ingest.check import check_source

    if dialect is None:
        msg = "an address does not say what is spoken there: give --dialect mp, oqmd or optimade"
        raise ConfigurationError(msg)
    key = os.environ.get(variable) if dialect == "mp" else None
    if dialect == "mp" and not key:
        msg = f"environment variable {variable} holds no key, and the dialect mp asks for one: set it"
        raise ConfigurationError(msg)
    with Fetcher(url, api_key=key) as fetch:
        report = check_source(dialect, url, fetch, pages=pages)
    if json:
        print_json({**report.model_dump(mode="json"), "well_formed": report.well_formed})
    else:
        for line in _report_lines(report):
            out.print(scrub(line), markup=False, soft_wrap=True)
    return report.well_formed


def _report_lines(report: SourceReport) -> Iterator[str]:
    for one in report.questions:
        of = "" if one.announced is None else f" of {one.announced}"
        yield f"{one.url}: {one.items}{of} items on {one.pages} pages"
        yield from _first(one.findings)
    if not report.reachable:
        yield f"{report.url} cannot be read: see above"
    else:
        yield f"{report.url} is {'well formed' if report.well_formed else 'not well formed'}"


def _first(items: Sequence[object]) -> Iterator[str]:
    yield from (f"  {item}" for item in items[:_MOST_LINES])
    if len(items) > _MOST_LINES:
        yield f"  and {len(items) - _MOST_LINES} more: --json has them all"


def _need_builder() -> None:
    """Refuse where the builder or what it needs is absent.

    Raises
    ------
    ConfigurationError
        With the commands that mend it.
    """
    if not _has_builder():
        msg = "the builder of the snapshot is part of the source, not of the installed package: run it in a checkout"
        raise ConfigurationError(msg)
    absent = [name for name in _BUILDERS_PACKAGES if importlib.util.find_spec(name) is None]
    if absent:
        msg = (
            f"the builder's potential needs {', '.join(absent)}, not installed here: in an environment of its own run "
            "pip install -e '.[databases-build]' (docs/databases.md, Build and verify)"
        )
        raise ConfigurationError(msg)


def _has_builder() -> bool:
    try:
        return importlib.util.find_spec(f"{_BUILDER}.verify") is not None
    except ModuleNotFoundError:  # one of its parents
        return False


def _short(value: Any) -> str:
    text = jsonlib.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:119]}…"
