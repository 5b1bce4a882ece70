"""The store, read-only, under ``/files`` of the Prefect server, so that links of artifacts open and pictures show.

What agents left is untrusted and is served from the same origin as Prefect's API. Therefore only pictures and plain
text are shown; pages and everything else of agents is downloaded; our own report is shown in a sandbox without
scripts and without the origin's rights.
"""

from __future__ import annotations

import mimetypes
import re
from pathlib import PurePosixPath

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from tasks_lib.records import check_relative_path
from tasks_lib.records.errors import StoreError
from tasks_lib.store import Store

_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_TEXT = frozenset({"application/json", "application/x-ndjson", "application/yaml", "chemical/x-cif"})
_TEXT_SUFFIXES = frozenset({".jsonl", ".cif", ".vasp", ".poscar", ".dat", ".xy", ".fit", ".log", ".md", ".py", ".yaml"})
_BLOB = re.compile(r"blobs/sha256/[0-9a-f]{2}/[0-9a-f]{62,64}")
_REPORT = re.compile(r"runs/[a-z0-9][a-z0-9.-]*/report/.+\.(html|css|svg)")
_SANDBOX = "sandbox; default-src 'none'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; font-src 'self' data:"
_COMMON = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache", "Referrer-Policy": "no-referrer"}


def headers_for(path: str, media_type: str, name: str) -> dict[str, str]:
    """Say how a file is delivered: shown as it is, as plain text, or as a download.

    Parameters
    ----------
    path : str
        Path in the store.
    media_type : str
        What the link says of a blob; trusted for nothing but the choice below.
    name : str
        File name for a download.
    """
    wanted = media_type if _BLOB.fullmatch(path) and media_type else mimetypes.guess_type(path)[0] or ""
    suffix = PurePosixPath(name or path).suffix.lower()
    if _REPORT.fullmatch(path):
        return {**_COMMON, "Content-Type": f"{wanted}; charset=utf-8", "Content-Security-Policy": _SANDBOX}
    if wanted in _PICTURES:
        return {**_COMMON, "Content-Type": wanted, "Content-Security-Policy": _SANDBOX}
    risky = wanted in {"text/html", "image/svg+xml", "application/xhtml+xml", "text/xml", "application/xml"}
    if not risky and (wanted.startswith("text/") or wanted in _TEXT or suffix in _TEXT_SUFFIXES):
        return {**_COMMON, "Content-Type": "text/plain; charset=utf-8", "Content-Security-Policy": _SANDBOX}
    shown = re.sub(r"[^A-Za-z0-9._-]", "_", PurePosixPath(name or path).name) or "file"
    return {
        **_COMMON,
        "Content-Type": "application/octet-stream",
        "Content-Disposition": f'attachment; filename="{shown}"',
        "Content-Security-Policy": _SANDBOX,
    }


class StoreFiles:
    """The endpoint that reads ``runs/``, ``tunings/`` and ``blobs/`` of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def answer(self, request: Request) -> Response:
        """Answer one GET or HEAD."""
        path = str(request.path_params["path"])
        try:
            check_relative_path(path)
        except ValueError:
            return PlainTextResponse("no such file\n", 404)
        if not path.startswith(("runs/", "tunings/", "blobs/")) or self._leads_out(path):
            return PlainTextResponse("no such file\n", 404)
        try:
            data = await run_in_threadpool(self._store.read_bytes, path)
        except FileNotFoundError:
            return PlainTextResponse(f"no file {path} in the store\n", 404)
        except (StoreError, OSError):
            return PlainTextResponse(f"the store cannot read {path}\n", 502)
        query = request.query_params
        return Response(data, headers=headers_for(path, query.get("type", ""), query.get("name", "")))

    def _leads_out(self, path: str) -> bool:
        """Whether a path leaves the folder of a local store by a link; the store makes none itself."""
        local, root = self._store.local_path(path), self._store.local_path("runs")
        return local is not None and root is not None and not local.resolve().is_relative_to(root.parent.resolve())
