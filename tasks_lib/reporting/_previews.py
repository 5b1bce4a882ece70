"""A look into a file of an agent: a small picture, the head of a table, the head of a text."""

from __future__ import annotations

import csv
import io
import itertools
import warnings
from dataclasses import dataclass
from typing import Literal

from PIL import Image

PreviewKind = Literal["image", "table", "text", "pdf", "binary", "empty"]

# Largest picture that is decoded; a "decompression bomb" of a few kB can ask for gigabytes.
_MOST_PIXELS = 40_000_000
_PICTURE_SIDE = 960
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
_ROWS, _COLUMNS, _CELL = 24, 12, 60
_LINES, _CHARACTERS = 40, 6000
_DELIMITERS = {"csv": ",;\t", "tsv": "\t", "dat": "\t,;"}
_PICTURES = frozenset(["bmp", "gif", "jpeg", "jpg", "png", "tif", "tiff", "webp"])


@dataclass(frozen=True)
class Preview:
    """What is shown of a file.

    Attributes
    ----------
    kind : str
        ``image``, ``table``, ``text``, ``pdf``, ``binary`` or ``empty``.
    text : str
        Head of a text file.
    rows : tuple of tuple of str
        Head of a table, the first row is its heading.
    picture : bytes
        A picture drawn anew from the file's pixels, WebP; nothing else of the file is in it.
    width, height : int
        Of `picture`, pixels.
    note : str
        What was left out, or why there is no more to see.
    """

    kind: PreviewKind
    text: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    picture: bytes = b""
    width: int = 0
    height: int = 0
    note: str = ""


def preview(path: str, data: bytes) -> Preview:
    """Look into a file.

    Parameters
    ----------
    path : str
        Its name, for the extension.
    data : bytes
        Its content; nothing in it raises.

    Returns
    -------
    Preview
    """
    if not data:
        return Preview("empty", note="the file is empty")
    extension = path.rsplit(".", 1)[-1].lower() if "." in path else ""
    if data.startswith(b"%PDF-"):
        return Preview("pdf")
    if extension in _PICTURES or data.startswith(b"\x89PNG"):
        return _picture(data)
    text = decode(data)
    if text is None:
        return Preview("binary", note="binary, no preview")
    if extension in _DELIMITERS:
        rows = _table(text, _DELIMITERS[extension])
        if rows is not None:
            return rows
    return _head(text)


def decode(data: bytes) -> str | None:
    """Decode a text file, bytes that do not fit replaced; None where it is no text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\x00" in data[:65536]:
        return None
    return data.decode("utf-8-sig", "replace")


def _picture(data: bytes) -> Preview:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
                width, height = image.size
                if width * height > _MOST_PIXELS:
                    return Preview("binary", note=f"picture of {width}×{height} pixels, too large to preview")
                image.draft("RGB", (_PICTURE_SIDE, _PICTURE_SIDE))
                drawn = image.convert("RGBA" if "A" in image.getbands() or "transparency" in image.info else "RGB")
        drawn.thumbnail((_PICTURE_SIDE, _PICTURE_SIDE))
        out = io.BytesIO()
        drawn.save(out, "WEBP", quality=82, method=2)
    except Exception as error:  # noqa: BLE001  decoders raise all kinds of errors over a broken file
        return Preview(
            "binary", note=f"named or begun like a picture, but cannot be read as one ({type(error).__name__})"
        )
    note = f"{width}×{height} pixels"
    return Preview("image", picture=out.getvalue(), width=drawn.width, height=drawn.height, note=note)


def _table(text: str, delimiters: str) -> Preview | None:
    lines = text[: 40 * _CHARACTERS].splitlines()
    head = [line for line in lines[: _ROWS + 1] if line.strip()]
    delimiter = next((mark for mark in delimiters if head and all(mark in line for line in head)), None)
    if delimiter is None:
        return None
    try:
        rows = list(itertools.islice(csv.reader(head, delimiter=delimiter), _ROWS))
    except csv.Error:
        return None
    more = max(0, text.count("\n") + (not text.endswith("\n")) - len(rows))
    wide = max(len(row) for row in rows) > _COLUMNS
    notes = [f"{more:,} more lines"] * bool(more) + ["more columns"] * wide
    cells = tuple(tuple(_short(cell) for cell in row[:_COLUMNS]) for row in rows)
    return Preview("table", rows=cells, note=", ".join(notes))


def _short(cell: str) -> str:
    return cell if len(cell) <= _CELL else cell[: _CELL - 1] + "…"


def _head(text: str) -> Preview:
    lines = text.split("\n")
    head = "\n".join(lines[:_LINES])
    cut = head[:_CHARACTERS]
    more = len(lines) - _LINES - (lines[-1] == "")
    notes = [f"{more:,} more lines"] * (more > 0) + ["long lines cut"] * (len(cut) < len(head))
    return Preview("text", text=cut, note=", ".join(notes))
