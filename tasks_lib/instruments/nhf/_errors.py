"""The one exception of this room, with the place of what is wrong."""

from __future__ import annotations

from tasks_lib.records.errors import MatAssayError


class NhfError(MatAssayError):
    """A `.nhf` file is broken, or a frame cannot be written as one.

    Attributes
    ----------
    place : str
        The group, channel or attribute concerned, for example ``measurement_0/Forward/Topography``.
    """

    def __init__(self, rule: str, *, source: str = "", place: str = "file") -> None:
        self.place = place
        super().__init__(f"{f'{source}: ' if source else ''}{place}: {rule}")
