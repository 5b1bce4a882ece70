"""What a criterion read, as files a person opens: a crop of the final screen, a thumbnail, the lines of a text."""

from __future__ import annotations

import io
from dataclasses import dataclass

from tasks_lib.evaluation.ocr import decode as decode_screen
from tasks_lib.records import BlobRef, Criterion, Json
from tasks_lib.records.errors import EvaluatorError, StoreError
from tasks_lib.reporting._excerpts import excerpt
from tasks_lib.reporting._previews import decode, preview
from tasks_lib.reporting._sink import Sink
from tasks_lib.reporting._text import Redact
from tasks_lib.store import Store

_LARGEST = 24 * 2**20
Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class Written:
    """A file that was written, or why there is none.

    Attributes
    ----------
    where : str or None
        What a person opens.
    note : str
        What was left out, or why nothing was written.
    """

    where: str | None
    note: str = ""


class EvidenceFiles:
    """Writes what criteria read into one folder, under names that hold nothing of the agent's."""

    def __init__(self, store: Store, sink: Sink, redact: Redact) -> None:
        self._store = store
        self._sink = sink
        self._redact = redact

    def screen(self, name: str, ref: BlobRef, box: Box | None) -> Written:
        """Write a part of a screenshot as ``name.screen.png``.

        Parameters
        ----------
        name : str
            The criterion.
        ref : BlobRef
            The screenshot.
        box : tuple of int or None
            ``(x, y, width, height)``, pixels; what of it is off the screen is left out. None: all of it.
        """
        data, problem = self._blob(ref)
        if data is None:
            return Written(None, problem)
        try:
            picture = decode_screen(data)
        except EvaluatorError as error:
            return Written(None, str(error))
        if box is not None:
            x, y, width, height = box
            left, top = max(x, 0), max(y, 0)
            right, bottom = min(x + width, picture.width), min(y + height, picture.height)
            if right <= left or bottom <= top:
                return Written(None, f"the region {list(box)} lies off the screen of {picture.width}×{picture.height}")
            picture = picture.crop((left, top, right, bottom))
        out = io.BytesIO()
        picture.save(out, "PNG")
        return self._keep(f"{name}.screen.png", out.getvalue())

    def file(self, name: str, path: str, ref: BlobRef, criterion: Criterion | None, seen: Json) -> Written:
        """Write what is to see of a file: ``name.file.webp`` of a picture, ``name.lines.txt`` of a text.

        Parameters
        ----------
        name : str
            The criterion.
        path : str
            The file as the agent named it; its extension says how it is looked at.
        ref : BlobRef
            Its content.
        criterion, seen
            As for `excerpt`.
        """
        if ref.size > _LARGEST:
            return Written(None, f"not shown: {ref.size} bytes, more than {_LARGEST}; whole in the store")
        data, problem = self._blob(ref)
        if data is None:
            return Written(None, problem)
        look = preview(path, data)
        if look.kind == "image":
            return self._keep(f"{name}.file.webp", look.picture, look.note)
        text = decode(data) if look.kind in {"text", "table"} else None
        if text is None:
            return Written(None, "a PDF: what was seen is its text" if look.kind == "pdf" else look.note)
        return self._keep(f"{name}.lines.txt", excerpt(text, criterion, seen, self._redact).encode("utf-8", "replace"))

    def _blob(self, ref: BlobRef) -> tuple[bytes | None, str]:
        try:
            return self._store.get_blob(ref), ""
        except StoreError as error:
            return None, f"cannot be shown: {error}"

    def _keep(self, name: str, data: bytes, note: str = "") -> Written:
        self._sink.write(name, data)
        return Written(self._sink.where(name), note)
