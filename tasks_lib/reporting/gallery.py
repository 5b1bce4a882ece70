"""A page of end states: what the oracle of each desktop task leaves on the screen, with what is asked of it."""

from __future__ import annotations

import html
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import PurePosixPath

from PIL import Image

from tasks_lib.records import Difficulty, Task
from tasks_lib.records.errors import BrokenDocumentError

PAGE = "gallery.md"
FOLDER = "gallery"
# Width of a picture, px: the text of menus stays legible; 40 pictures have about 1 MB.
WIDTH = 960
# A screen has 1.3 million pixels; what claims far more is no screenshot of ours.
_MOST_PIXELS = 40_000_000
_LONGEST_SIDE = 16_383  # of a WebP
_QUALITY = 82


@dataclass(frozen=True)
class EndState:
    """A task and its final screen.

    Attributes
    ----------
    task : Task
    picture : bytes
        As `small_picture` draws it.
    """

    task: Task
    picture: bytes = field(repr=False)

    @property
    def place(self) -> PurePosixPath:
        """Where the picture goes, relative to the page."""
        return PurePosixPath(FOLDER, self.task.domain, f"{self.task.id}.webp")


def small_picture(screenshot: bytes) -> bytes:
    """Draw a screenshot again, `WIDTH` pixels wide at most: the same bytes for the same pixels.

    Parameters
    ----------
    screenshot : bytes
        PNG.

    Returns
    -------
    bytes
        WebP without any metadata.

    Raises
    ------
    BrokenDocumentError
        If it cannot be read, or is larger than any screen.
    """
    try:
        with Image.open(io.BytesIO(screenshot), formats=["PNG"]) as image:
            width, height = image.size
            if width * height > _MOST_PIXELS or height > _LONGEST_SIDE:
                msg = f"a screenshot of {width} x {height} pixels is larger than any screen: play the episode again"
                raise BrokenDocumentError(msg)
            pixels = image.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        msg = f"a screenshot cannot be read as PNG ({error}): play the episode again"
        raise BrokenDocumentError(msg) from error
    if width > WIDTH:
        pixels = pixels.resize((WIDTH, max(1, round(height * WIDTH / width))), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    pixels.save(out, "WEBP", quality=_QUALITY, method=6)
    return out.getvalue()


def gallery_page(states: Iterable[EndState], command: str) -> str:
    """Write the page: a table of domains, then every task by domain and id, with its picture.

    Parameters
    ----------
    states : iterable of EndState
        One a task, in any order.
    command : str
        The command that makes the page, for the one who reads it.

    Returns
    -------
    str
        Markdown. It holds no date and no name of a run, so that the same evidence gives the same page.
    """
    ordered = sorted(states, key=lambda state: (state.task.domain, state.task.id))
    domains = [(name, list(group)) for name, group in groupby(ordered, key=lambda state: state.task.domain)]
    lines = [
        "# End states",
        "",
        "What the oracle of each desktop task leaves on the screen. Most criteria read the files that it saved, not",
        "what is seen here. The page and its pictures are written by",
        "",
        f"```\n{command}\n```",
        "",
        "| domain | tasks | points | easy / medium / hard |",
        "|---|---|---|---|",
    ]
    for name, group in domains:
        levels = [sum(state.task.difficulty is level for state in group) for level in Difficulty]
        points = sum(state.task.points for state in group)
        lines.append(f"| [{name}](#{name}) | {len(group)} | {points} | {' / '.join(map(str, levels))} |")
    for name, group in domains:
        lines += ["", f"## {name}", *(line for state in group for line in _entry(state))]
    return "\n".join(lines) + "\n"


def _entry(state: EndState) -> Sequence[str]:
    task = state.task
    title = html.escape(task.title, quote=False)
    points = f"{task.points} point{'' if task.points == 1 else 's'}"
    criteria = ", ".join(f"`{criterion.id}` ({criterion.points})" for criterion in task.criteria)
    return (
        "",
        f"### {title}",
        "",
        f"`{task.id}`, {task.difficulty}, {points}: {criteria}",
        "",
        f"![{title.replace('[', '(').replace(']', ')')}]({state.place})",
    )
