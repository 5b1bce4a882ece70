"""`matassay targets`: pictures and texts by which oracles find what they click on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from tasks_lib.cli.console import Exit, explained, out, print_json, say
from tasks_lib.cli.options import JsonOption, TaskdefsOption, taskdefs_root

if TYPE_CHECKING:
    from tasks_lib.agents import Search

targets_app = typer.Typer(help="Cut and find the named targets of oracles.", no_args_is_help=True)

_Screenshot = Annotated[Path, typer.Argument(metavar="SCREENSHOT", help="A PNG of the whole screen.")]


@targets_app.command("cut")
def cut(
    screenshot: _Screenshot,
    x: Annotated[int, typer.Argument(help="Left edge, pixels.")],
    y: Annotated[int, typer.Argument(help="Top edge, pixels.")],
    width: Annotated[int, typer.Argument(help="Width, pixels.")],
    height: Annotated[int, typer.Argument(help="Height, pixels.")],
    name: Annotated[str, typer.Argument(metavar="PROGRAM/NAME", help="What transcripts call it.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a target of that name.")] = False,
    json: JsonOption = False,
    taskdefs: TaskdefsOption = None,
) -> None:
    """Cut a target out of a screenshot and say where else on it the same picture is found.

    Example: matassay targets cut step-04.png 62 24 36 16 fityk/menu-data
    """
    from tasks_lib.agents import find_target
    from tasks_lib.taskdefs import cut_target, read_screen, write_target

    with explained():
        root = taskdefs_root(taskdefs)
        screen = read_screen(screenshot.read_bytes())
        target = cut_target(screen, (x, y, width, height), name)
        search = find_target(screen, target)
        file = write_target(root, target, replace=force)
    others = [match for match in search.matches if (match.x, match.y) != (x, y)]
    if json:
        print_json({"name": name, "file": str(file), **_record(search)})
    else:
        out.print(f"{file}: {width} x {height} pixels", markup=False, soft_wrap=True)
    if others:
        places = ", ".join(str(match.middle) for match in others)
        say(f"matassay: {name} is on this screen at {places} too: cut more around it, or say near=… or within=…")
    raise typer.Exit(Exit.DONE)


@targets_app.command("find")
def find(
    screenshot: _Screenshot,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[PROGRAM/NAME]...", help="By default all pictures.")
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option("--text", metavar="TEXT", help="Find a text by OCR; may be repeated.")
    ] = None,
    region: Annotated[
        tuple[int, int, int, int] | None,
        typer.Option("--region", metavar="X Y W H", help="Look only there, as within=… does in a window; pixels."),
    ] = None,
    json: JsonOption = False,
    taskdefs: TaskdefsOption = None,
) -> None:
    """Find targets on a screenshot; exit code 1 where one that was named is not there exactly once.

    Example: matassay targets find step-04.png fityk/menu-data --text "Save Session"
    """
    from tasks_lib.agents import find_target, find_text
    from tasks_lib.evaluation.ocr import read_screen as read_text
    from tasks_lib.taskdefs import read_screen, read_target, target_files

    with explained():
        data = screenshot.read_bytes()
        screen = read_screen(data)
        found: dict[str, Search] = {}
        if names or not text:
            root = taskdefs_root(taskdefs)
            wanted = list(dict.fromkeys(names)) if names else sorted(target_files(root))
            found = {name: find_target(screen, read_target(root, name), region) for name in wanted}
        for wanted_text in dict.fromkeys(text or ()):
            found[f'text="{wanted_text}"'] = find_text(screen, read_text(data, region), wanted_text)
    named = bool(names or text)
    if json:
        print_json({"targets": [{"name": name, **_record(search)} for name, search in found.items()]})
    else:
        _show(found, every=named)
    once = all(len(search.matches) == 1 for search in found.values())
    raise typer.Exit(Exit.DONE if once or not named else Exit.VOID_OR_UNPROVED)


def _record(search: Search) -> dict[str, Any]:
    matches = [
        {"x": m.x, "y": m.y, "width": m.width, "height": m.height, "middle": m.middle, "score": round(m.score, 4)}
        for m in search.matches
    ]
    return {"matches": matches, "best": round(search.best, 4), "but": search.but}


def _show(found: dict[str, Search], *, every: bool) -> None:
    table = Table("target", "middle", "score", "remark")
    for name, search in found.items():
        for match in search.matches:
            again = f"one of {len(search.matches)} places" if len(search.matches) > 1 else ""
            table.add_row(name, str(match.middle), f"{match.score:.3f}", again)
        if every and not search.matches:
            score = f"{search.best:.3f}" if search.best >= 0 else ""
            table.add_row(name, "", score, search.but or "not there")
    out.print(table)
    out.print(f"{sum(bool(search.matches) for search in found.values())} of {len(found)} targets are on the screen")
