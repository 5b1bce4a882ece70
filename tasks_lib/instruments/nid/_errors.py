"""The one exception of this room, with the place of what is wrong."""

from __future__ import annotations

from tasks_lib.records.errors import MatAssayError


class NidError(MatAssayError):
    """A `.nid` file is broken, or a frame cannot be written as one.

    Attributes
    ----------
    channel : str
        The channel concerned, for example ``Scan backward Z-Axis``, or ``header``.
    byte : int or None
        Offset in the file at which the trouble begins; None where no file is read.
    """

    def __init__(self, rule: str, *, source: str = "", channel: str = "header", byte: int | None = None) -> None:
        self.channel = channel
        self.byte = byte
        place = f"{channel}, byte {byte}" if byte is not None else channel
        super().__init__(f"{f'{source}: ' if source else ''}{place}: {rule}")
