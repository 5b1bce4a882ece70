"""Named targets: small pictures of what an oracle clicks on, kept below ``targets/`` of the task definitions.

A target ``fityk/menu-data`` is the picture ``targets/fityk/menu-data.png``. Transcripts name it in place of a pixel;
where it is on a screen is found when the oracle's turn comes.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tasks_lib.records.errors import TaskError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLDER = "targets"
SUFFIX = ".png"
# Bounds of a target's picture, pixels: below, a glyph alone would be found all over a screen; above, it is no target.
SMALLEST = (6, 6)
LEAST_AREA = 80
LARGEST = (640, 320)
# Standard deviation of the pixels, in levels of 255: a flat picture looks like every flat place.
LEAST_CONTRAST = 6.0
MOST_BYTES = 512 * 1024
MOST_SCREEN_PIXELS = 7680 * 4320
_MOST_SCREEN_BYTES = 128 * 2**20
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?/[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?")


class PictureError(TaskError):
    """A picture cannot be read, or is no good as a target."""


@dataclass(frozen=True, slots=True)
class Target:
    """A target with its picture.

    Attributes
    ----------
    name : str
        Such as ``fityk/menu-data``.
    pixels : ndarray of uint8, shape (height, width, 3)
        Red, green and blue.
    """

    name: str
    pixels: NDArray[np.uint8]


def check_name(name: str) -> str:
    """Return a target's name if it is one.

    Raises
    ------
    TaskError
        If it is not ``program/name`` in lower-case letters, digits and dashes.
    """
    if not _NAME.fullmatch(name):
        msg = f"{name[:80]!r} is no name of a target: write program/name in a-z, 0-9 and dashes, as in fityk/menu-data"
        raise TaskError(msg)
    return name


def target_file(root: Path, name: str) -> Path:
    """Return where the picture of a target lies below a root of task definitions.

    Raises
    ------
    TaskError
        If the name is none.
    """
    return root / FOLDER / f"{check_name(name)}{SUFFIX}"


def target_files(root: Path) -> dict[str, Path]:
    """Return every file below ``targets/`` of a root, by what its target would be called; hidden ones are left out."""
    top = root / FOLDER
    found = (path for path in sorted(top.rglob("*")) if path.is_symlink() or not path.is_dir())
    files = {path.relative_to(top).as_posix().removesuffix(SUFFIX): path for path in found}
    return {name: path for name, path in files.items() if not any(part.startswith(".") for part in name.split("/"))}


def read_target(root: Path, name: str) -> Target:
    """Read a target's picture.

    Raises
    ------
    PictureError
        If there is none, it is no plain PNG file, or its size or contrast is outside the bounds of a target.
    TaskError
        If the name is none.
    """
    path = target_file(root, name)
    try:
        if path.is_symlink() or not path.is_file():
            near = ", ".join(sorted(target_files(root))) or "none"
            msg = f"target {name} has no picture {FOLDER}/{name}{SUFFIX} (there are {near}): cut one, or mend the name"
            raise PictureError(msg)
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        msg = f"the picture of target {name} cannot be read: {error.strerror or error}"
        raise PictureError(msg) from error
    try:
        return Target(name, check_target(_pixels(data, MOST_BYTES, LARGEST[0] * LARGEST[1])))
    except PictureError as error:
        msg = f"target {name}: {error}"
        raise PictureError(msg) from error


def read_screen(data: bytes) -> NDArray[np.uint8]:
    """Decode a screenshot.

    Parameters
    ----------
    data : bytes
        A PNG file of at most 7680 x 4320 pixels.

    Returns
    -------
    ndarray of uint8, shape (height, width, 3)

    Raises
    ------
    PictureError
        If it is no such file.
    """
    return _pixels(data, _MOST_SCREEN_BYTES, MOST_SCREEN_PIXELS)


def cut_target(screen: NDArray[np.uint8], box: tuple[int, int, int, int], name: str) -> Target:
    """Cut a target out of a screenshot.

    Parameters
    ----------
    screen : ndarray of uint8, shape (height, width, 3)
        The screenshot.
    box : tuple of int
        Left, top, width and height, pixels.
    name : str
        What it is called.

    Raises
    ------
    PictureError
        If the box is not wholly on the screen, or what is in it is no good as a target.
    TaskError
        If the name is none.
    """
    x, y, width, height = box
    if min(x, y) < 0 or min(width, height) < 1 or x + width > screen.shape[1] or y + height > screen.shape[0]:
        size = f"{screen.shape[1]} x {screen.shape[0]} pixels"
        msg = f"{width} x {height} pixels at ({x}, {y}) are not wholly on the screen of {size}"
        raise PictureError(msg)
    return Target(check_name(name), check_target(screen[y : y + height, x : x + width].copy()))


def write_target(root: Path, target: Target, *, replace: bool = False) -> Path:
    """Write a target's picture below a root; the same pixels give the same bytes.

    Raises
    ------
    PictureError
        If there is one of that name and `replace` is not given.
    """
    from PIL import Image

    path = target_file(root, target.name)
    if path.exists() and not replace:
        msg = f"target {target.name} is there already: name another, or replace it with --force"
        raise PictureError(msg)
    stream = io.BytesIO()
    Image.fromarray(target.pixels).save(stream, "PNG", optimize=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(stream.getvalue())
    return path


def check_target(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the pixels of a target if they can be told from others.

    Raises
    ------
    PictureError
        If the picture is too small, too large or almost flat.
    """
    height, width = pixels.shape[:2]
    size = f"{width} x {height} pixels"
    if width < SMALLEST[0] or height < SMALLEST[1] or width * height < LEAST_AREA:
        msg = f"{size} are too few for a target: at least {SMALLEST[0]} x {SMALLEST[1]} and {LEAST_AREA} in all"
        raise PictureError(msg)
    if width > LARGEST[0] or height > LARGEST[1]:
        msg = f"{size} are too many for a target, at most {LARGEST[0]} x {LARGEST[1]}: cut closer around it"
        raise PictureError(msg)
    contrast = float(pixels.std(axis=(0, 1)).max())
    if contrast < LEAST_CONTRAST:
        msg = f"the picture is almost flat (contrast {contrast:.1f}, wanted {LEAST_CONTRAST:g}): cut where something is"
        raise PictureError(msg)
    return pixels


def _pixels(data: bytes, most_bytes: int, most_pixels: int) -> NDArray[np.uint8]:
    import numpy as np
    from PIL import Image

    if len(data) > most_bytes:
        msg = f"the picture has more than {most_bytes} bytes"
        raise PictureError(msg)
    try:
        # The size stands in the header: nothing is unpacked before it is known to fit.
        with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
            if image.width * image.height > most_pixels:
                msg = f"the picture has {image.width} x {image.height} pixels, at most {most_pixels} are read"
                raise PictureError(msg)
            return np.asarray(image.convert("RGB"))
    except (
        OSError,
        SyntaxError,
        EOFError,
        ValueError,
        struct.error,
        zlib.error,
        Image.DecompressionBombError,
    ) as error:
        msg = f"the picture is no readable PNG file ({type(error).__name__}: {str(error)[:200]})"
        raise PictureError(msg) from error
