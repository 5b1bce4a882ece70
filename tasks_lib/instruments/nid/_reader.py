"""`read_nid` and what it returns."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tasks_lib.instruments.frame import Direction, Frame
from tasks_lib.instruments.nid._channels import NidChannel, read_channels
from tasks_lib.instruments.nid._errors import NidError
from tasks_lib.instruments.nid._frame import images, lines_done, to_frame
from tasks_lib.instruments.nid._header import NidHeader, parse_header
from tasks_lib.instruments.nid._settings import Acquisition, read_settings

# A frame of 4096 × 4096 with sixteen channels of 32 bits.
MAX_FILE_BYTES = 2**30


@dataclass(frozen=True, eq=False)
class NidFile:
    """A `.nid` file: its header, its channels, and what follows from them.

    Attributes
    ----------
    source : str
        The file's name, for messages.
    header : NidHeader
        Sections and keys with typed values in SI units.
    channels : tuple of NidChannel
        In the order of the file.
    """

    source: str
    header: NidHeader
    channels: tuple[NidChannel, ...]
    content: bytes = field(repr=False)

    def channel(
        self, name: str, direction: Direction | str = Direction.FORWARD, *, recorded: str = "Scan"
    ) -> NidChannel:
        """Return a channel by name and direction.

        Parameters
        ----------
        name : str
            As the file has it, for example ``Z-Axis``.
        direction : Direction or str
        recorded : str
            What was recorded: ``Scan``, ``2nd scan`` or ``Spec``.

        Raises
        ------
        KeyError
            If the file has no such channel; the message lists those it has.
        """
        frame = f"{recorded} {Direction(direction)}"
        for channel in self.channels:
            if channel.frame == frame and channel.name == name:
                return channel
        have = ", ".join(channel.label for channel in self.channels)
        raise KeyError(f"{self.source} has no channel {frame} {name}; it has: {have}")

    @cached_property
    def settings(self) -> Acquisition:
        """Gains, setpoint, geometry, timing, lever and date."""
        return read_settings(self.header)

    @property
    def lines_done(self) -> int | None:
        """Lines of the image that were scanned, from scan direction and current line; None where these are missing."""
        return lines_done(self.channels, self.settings)

    @property
    def complete(self) -> bool | None:
        """Whether every line of the image was scanned; None where the file does not say."""
        done = self.lines_done
        return None if done is None else done == images(self.channels)[0].codes.shape[0]

    def frame(self) -> Frame:
        """Return the image as a Frame, in SI units.

        Row 0 is the lowest line: `.nid` files store it first whichever way the frame was scanned. Rows beyond
        `lines_done` hold what the instrument left there from the frame before. `engaged` is None unless the file was
        written by `write_nid` from a frame that knew it. The names that older programs gave to channels are replaced
        by those of `tasks_lib.instruments.frame`.

        Raises
        ------
        NidError
            If the file holds no image, its channels differ in shape or size, or a setting that a Frame needs is
            missing.
        """
        return to_frame(self.source, self.header, self.channels, self.settings)


def read_nid(source: bytes | str | os.PathLike[str], *, name: str = "") -> NidFile:
    """Read a `.nid` file of a Nanosurf microscope.

    Parameters
    ----------
    source : bytes or path
    name : str
        What messages call the file; the path's last part if empty.

    Raises
    ------
    NidError
        If the file is no whole `.nid` file; the message names channel and byte.
    OSError
        If the file cannot be opened.
    """
    if isinstance(source, bytes):
        content, name = source, name or "(bytes)"
    else:
        content, name = _content(Path(source)), name or Path(source).name
    header, start = parse_header(content, name)
    return NidFile(name, header, read_channels(header, content, start), content)


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise NidError("is no regular file", source=path.name, channel="file")
        if state.st_size > MAX_FILE_BYTES:
            rule = f"the file has {state.st_size} bytes; at most {MAX_FILE_BYTES} are read"
            raise NidError(rule, source=path.name, channel="file", byte=MAX_FILE_BYTES)
        return file.read(state.st_size)
