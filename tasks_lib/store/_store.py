"""The store's one class: checked paths, documents, lines and content-addressed blobs over a back end."""

from __future__ import annotations

import builtins
import hashlib
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from pydantic import ValidationError

from tasks_lib.records import BlobRef, Document, check_relative_path
from tasks_lib.records.errors import BrokenDocumentError, ConfigurationError, StoreError
from tasks_lib.store._backend import Backend, Paths
from tasks_lib.store._local import LocalBackend

D = TypeVar("D", bound=Document)


class Store:
    """Files by path and blobs by digest, in a local folder or an S3 bucket.

    Paths are relative to the store's root, with ``/`` as separator. Every method raises `StoreError` where the
    store does not answer, where there is no room (then the ``OSError`` is its cause) or where a path could leave
    the root. A store can be shared by threads, and pickled for another process.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @classmethod
    def open(cls, url: str) -> Store:
        """Open a store; nothing is made before the first write.

        Parameters
        ----------
        url : str
            A folder (``artifacts``), ``file:///…`` or ``s3://bucket/prefix``. Endpoint and keys of S3 come from the
            environment: ``AWS_ENDPOINT_URL_S3`` or ``AWS_ENDPOINT_URL``, ``AWS_ACCESS_KEY_ID``, ….

        Raises
        ------
        ConfigurationError
            If the address is of another kind, or names no bucket.
        """
        scheme, separator, rest = url.partition("://")
        if url and not separator:
            return cls(LocalBackend(Path(url)))
        if scheme == "file" and urlsplit(url).path.startswith("/") and urlsplit(url).netloc in {"", "localhost"}:
            return cls(LocalBackend(Path(unquote(urlsplit(url).path))))
        if scheme == "s3" and (root := rest.strip("/")):
            from tasks_lib.store._s3 import S3Backend

            return cls(S3Backend(root))
        msg = f"a store is a folder, 'file:///…' or 's3://bucket/prefix', got {url!r}: give one of these"
        raise ConfigurationError(msg)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Store.open, (self.url,)

    def __repr__(self) -> str:
        return f"Store.open({self.url!r})"

    @property
    def url(self) -> str:
        """The address that opens this store again, absolute."""
        return self._backend.url

    def local_path(self, path: str) -> Path | None:
        """Return where a file lies on this machine, or None where the store is not a local folder."""
        checked = _checked(path, root=True)
        return self._backend.folder / checked if isinstance(self._backend, LocalBackend) else None

    def read_bytes(self, path: str) -> bytes:
        """Read a file.

        Raises
        ------
        FileNotFoundError
            If there is none.
        """
        return self._backend.read(_checked(path))

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file, new or over an old one; a killed writer leaves the old content or the new, never a part."""
        self._backend.write(_checked(path), data)

    def create(self, path: str, data: bytes) -> bool:
        """Write a file that does not exist yet.

        Returns
        -------
        bool
            True for the one among many who made it, False where the path exists. The classes of the back ends say
            what that rests on.
        """
        return self._backend.create(_checked(path), data)

    def swap(self, path: str, old: bytes, new: bytes) -> bool:
        """Replace a file if it still holds `old`: of many who try from the same content, one gets True."""
        return self._backend.swap(_checked(path), old, new)

    def exists(self, path: str) -> bool:
        """Whether a file or a folder of that name is there."""
        return self._backend.exists(_checked(path))

    def list(self, prefix: str = "") -> Paths:
        """Return the paths of all files in a folder and below it, sorted; none where there is no such folder."""
        return self._backend.list(_checked(prefix, root=True))

    def children(self, prefix: str = "") -> Paths:
        """Return the names of files and folders directly in a folder, sorted."""
        return self._backend.children(_checked(prefix, root=True))

    def delete(self, path: str) -> None:
        """Delete a file; a file that is not there is fine."""
        self._backend.delete(_checked(path))

    def free_bytes(self) -> int | None:
        """Return the room that is left, in bytes, or None where the notion does not exist (S3)."""
        return self._backend.free_bytes()

    def write_document(self, path: str, document: Document) -> None:
        """Write a document as strict JSON."""
        self.write_bytes(path, document.to_json().encode())

    def read_document(self, path: str, model: type[D]) -> D:
        """Read a document.

        Raises
        ------
        FileNotFoundError
            If there is none.
        BrokenDocumentError
            If it is not a document of that kind; the message names the path and the field.
        """
        return _parse(self.read_bytes(path), model, path)

    def append_line(self, path: str, line: str) -> None:
        """Add one line to a ``.jsonl`` file that has a single writer.

        On S3 the whole object is written anew; locally a torn last line of a killed writer is cut off first.
        """
        text = line.removesuffix("\n")
        if "\n" in text or not text:
            msg = f"a line for {path!r} is one non-empty line, got {text[:80]!r}: append line by line"
            raise StoreError(msg)
        self._backend.append(_checked(path), text.encode() + b"\n")

    def read_lines(self, path: str, model: type[D]) -> builtins.list[D]:
        """Read the whole lines of a ``.jsonl`` file; a torn last line is dropped.

        A file that no line was appended to does not exist, and has no lines.

        Raises
        ------
        BrokenDocumentError
            If a whole line is not a document of that kind; the message names the path, the line and the field.
        """
        try:
            data = self.read_bytes(path)
        except FileNotFoundError:
            return []
        whole = data.split(b"\n")[:-1]
        return [_parse(line, model, f"{path}:{number}") for number, line in enumerate(whole, start=1)]

    @staticmethod
    def blob_path(sha256: str) -> str:
        """Return where the blob of that digest lies."""
        return f"blobs/sha256/{sha256[:2]}/{sha256[2:]}"

    def put_blob(self, data: bytes, media_type: str = "application/octet-stream") -> BlobRef:
        """Store bytes once under their SHA-256 and return the reference."""
        ref = BlobRef(sha256=hashlib.sha256(data).hexdigest(), size=len(data), media_type=media_type)
        path = self.blob_path(ref.sha256)
        # A blob of another length was damaged after it was written: write it again.
        if self._backend.size(path) != ref.size:
            self._backend.write(path, data)
        return ref

    def get_blob(self, ref: BlobRef) -> bytes:
        """Read a blob and check it against its digest.

        Raises
        ------
        BrokenDocumentError
            If it is missing or its bytes are not those that were stored.
        """
        path = self.blob_path(ref.sha256)
        try:
            data = self.read_bytes(path)
        except FileNotFoundError as error:
            msg = f"blob {path!r} is missing in the store {self.url}: retry the episode that refers to it"
            raise BrokenDocumentError(msg) from error
        found = hashlib.sha256(data).hexdigest()
        if found != ref.sha256:
            msg = (
                f"blob {path!r} in the store {self.url} has digest {found} and {len(data)} bytes, wanted {ref.size} "
                "bytes: the file was damaged; delete it and retry the episode that refers to it"
            )
            raise BrokenDocumentError(msg)
        return data


def _checked(path: str, *, root: bool = False) -> str:
    if root and not path:
        return path
    try:
        return check_relative_path(path)
    except ValueError as error:
        msg = f"path {path!r} could leave the store: {error}"
        raise StoreError(msg) from error


def _parse(data: bytes, model: type[D], place: str) -> D:
    try:
        return model.from_json(data)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc']) or 'document'}: {fault['msg']}" for fault in error.errors()
        )
    except ValueError as error:
        faults = str(error)
    msg = f"{place} is not a good {model.__name__} document: {faults}; mend or delete it"
    raise BrokenDocumentError(msg)
