"""The file itself, whatever it holds."""

from __future__ import annotations

from tasks_lib.evaluation._context import Context
from tasks_lib.evaluation._registry import CallError, Seen, getter


@getter("file")
def read_file(context: Context, path: str, what: str | None = None) -> Seen:
    """Read whether a file is there, and its size.

    Parameters
    ----------
    what : str or null
        ``size`` for the size alone, in bytes (0 where there is no file); default: ``{exists, size}``.
    """
    if what not in (None, "size"):
        msg = f"what is 'size' or left out, got {what!r}"
        raise CallError(msg)
    reference = context.find(path)
    note = "" if reference is not None else context.absent(path)
    size = 0 if reference is None else reference.size
    if what == "size":
        return Seen(size, unit="B", note=note)
    return Seen({"exists": reference is not None, "size": size}, note=note)
