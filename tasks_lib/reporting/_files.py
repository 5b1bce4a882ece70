"""Blobs of the store as files of the report: copied once by digest, under names that no viewer runs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tasks_lib.records import BlobRef
from tasks_lib.records.errors import StoreError
from tasks_lib.reporting._previews import Preview, decode, preview
from tasks_lib.reporting._sink import Sink
from tasks_lib.reporting._text import Redact, safe_name
from tasks_lib.store import Store

_FOLDER = "files"
_LARGEST = 24 * 2**20
_SCREENS = {
    "image/png": ("png", b"\x89PNG\r\n\x1a\n"),
    "image/webp": ("webp", b"RIFF"),
    "image/jpeg": ("jpg", b"\xff\xd8\xff"),
}


@dataclass(frozen=True)
class Shown:
    """A file of the report.

    Attributes
    ----------
    path : str
        What the agent or the task calls it.
    size : int
        Bytes.
    href : str or None
        Relative to the report's folder; None where it was not copied.
    name : str
        Name that a download gets.
    note : str
        Why it was not copied, if so.
    seen : Preview
        What is shown of it.
    thumbnail : str or None
        Picture of it, relative to the report's folder.
    """

    path: str
    size: int
    href: str | None
    name: str
    note: str
    seen: Preview
    thumbnail: str | None = None


class ReportFiles:
    """Copies blobs into a report, each once."""

    def __init__(self, store: Store, sink: Sink, redact: Redact) -> None:
        self._store = store
        self._sink = sink
        self._redact = redact
        self._there = sink.existing(_FOLDER)
        self._shown: dict[tuple[str, str], Shown] = {}
        self._broken: dict[str, str] = {}

    def screen(self, ref: BlobRef) -> tuple[str | None, str]:
        """Copy a screenshot.

        Returns
        -------
        href : str or None
            Relative to the report's folder; None where there is none.
        problem : str
            Why there is none; empty where there is one.
        """
        extension, magic = _SCREENS.get(ref.media_type, ("", b""))
        if not extension:
            return None, f"screenshot {ref.sha256[:12]} is of type {ref.media_type}, which is not shown"
        name = f"{ref.sha256}.{extension}"
        if name in self._there:
            return f"{_FOLDER}/{name}", ""
        if ref.sha256 not in self._broken:
            data, problem = self._blob(ref)
            if data is not None and not data.startswith(magic):
                problem = f"screenshot {ref.sha256[:12]} is not the {extension.upper()} picture it is recorded as"
            if data is not None and not problem:
                return self._keep(name, data, ref), ""
            self._broken[ref.sha256] = problem
        return None, self._broken[ref.sha256]

    def file(self, path: str, ref: BlobRef) -> Shown:
        """Copy a file that an agent made, with its preview."""
        key = (path, ref.sha256)
        if key not in self._shown:
            self._shown[key] = self._show(path, ref)
        return self._shown[key]

    def _show(self, path: str, ref: BlobRef) -> Shown:
        name = safe_name(self._redact(path))
        none = Preview("binary")
        if ref.size > _LARGEST:
            note = (
                f"not copied: larger than {_LARGEST // 2**20} MiB; in the store at {self._store.blob_path(ref.sha256)}"
            )
            return Shown(path, ref.size, None, name, note, none)
        data, problem = self._blob(ref)
        if data is None:
            return Shown(path, ref.size, None, name, problem, none)
        clean = self._without_secrets(data)
        if clean is None:
            return Shown(path, ref.size, None, name, "not copied: the file holds a secret of this run", none)
        seen = preview(path, clean)
        thumbnail = None
        if seen.picture:
            thumbnail = self._keep(f"{hashlib.sha256(seen.picture).hexdigest()}.webp", seen.picture)
        digest = ref.sha256 if clean is data else hashlib.sha256(clean).hexdigest()
        href = self._keep(f"{digest}.{_kind(clean, seen)}", clean, ref if clean is data else None)
        return Shown(path, ref.size, href, name, "" if clean is data else "a secret was taken out", seen, thumbnail)

    def _without_secrets(self, data: bytes) -> bytes | None:
        text = decode(data)
        if text is not None:
            redacted = self._redact(text)
            return data if redacted == text else redacted.encode("utf-8", "replace")
        raw = data.decode("latin-1")
        return data if self._redact(raw) == raw else None

    def _blob(self, ref: BlobRef) -> tuple[bytes | None, str]:
        try:
            return self._store.get_blob(ref), ""
        except StoreError as error:
            return None, f"file {ref.sha256[:12]} cannot be shown: {error}"

    def _keep(self, name: str, data: bytes, ref: BlobRef | None = None) -> str:
        if name not in self._there:
            same = self._store.local_path(self._store.blob_path(ref.sha256)) if ref is not None else None
            self._sink.write(f"{_FOLDER}/{name}", data, same)
            self._there.add(name)
        return f"{_FOLDER}/{name}"


def _kind(data: bytes, seen: Preview) -> str:
    """Return an extension by content, so that a page or a script of an agent opens as text or not at all."""
    if seen.kind == "pdf":
        return "pdf"
    if seen.kind == "image":
        return next((extension for extension, magic in _SCREENS.values() if data.startswith(magic)), "bin")
    return "txt" if seen.kind in {"text", "table", "empty"} else "bin"
