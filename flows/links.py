"""Addresses of the store's files on the Prefect server of `matassay serve`, relative to its origin."""

from __future__ import annotations

from urllib.parse import quote

PREFIX = "/files"


def link(path: str, *, media_type: str = "", name: str = "") -> str:
    """Return the address of a path in the store.

    Parameters
    ----------
    path : str
        Path in the store.
    media_type, name : str
        For a blob, whose path has no suffix: what it is, and what its file is called.
    """
    query = "&".join(f"{key}={quote(value, safe='')}" for key, value in (("type", media_type), ("name", name)) if value)
    return f"{PREFIX}/{quote(path)}" + (f"?{query}" if query else "")
