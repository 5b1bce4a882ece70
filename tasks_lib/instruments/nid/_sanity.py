"""What in a file is no measurement: rows of noise, constant rows, rows at the converter's limit."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tasks_lib.instruments.frame import Direction
from tasks_lib.instruments.nid._channels import Codes, NidChannel
from tasks_lib.instruments.nid._frame import images
from tasks_lib.instruments.nid._reader import NidFile

_BLOCK = 16
_WINDOW = 4 * _BLOCK
# Of 200,000 windows of uniform noise the narrowest spans 0.77 of the range; of the real images at hand the widest 0.40.
_SPAN = 0.6
# Mean squared difference of neighbours over variance (von Neumann): 2 for noise, near 0 for a scanned line.
_RATIO = 1.0
_JUMP = 1 / 32
_GAP = 16


class Trouble(StrEnum):
    """Kinds of findings."""

    NOISE = "noise"
    CONSTANT = "constant"
    SATURATED = "saturated"


@dataclass(frozen=True, slots=True)
class Finding:
    """Rows of one channel with the same trouble.

    `first_byte` and `last_byte` bound them in the file; for noise to the sample, else to the row.
    """

    trouble: Trouble
    name: str
    direction: Direction
    rows: tuple[int, ...]
    first_byte: int
    last_byte: int

    def __str__(self) -> str:
        rows = ", ".join(_runs(self.rows))
        return f"{self.name} {self.direction}: {self.trouble} in rows {rows} (bytes {self.first_byte}–{self.last_byte})"


@dataclass(frozen=True, slots=True)
class SanityReport:
    """Findings on the image of a file.

    Attributes
    ----------
    source, sha256 : str
        The file's name and the digest of its bytes.
    lines, lines_done : int or None
        None where the file holds no image, or does not say how far it got.
    findings : tuple of Finding
        In the order of the channels.
    """

    source: str
    sha256: str
    lines: int | None
    lines_done: int | None
    findings: tuple[Finding, ...]

    @property
    def clean(self) -> bool:
        """Whether every line was scanned and nothing was found."""
        return not self.findings and self.lines == self.lines_done

    def rows(self, trouble: Trouble | str, name: str, direction: Direction | str) -> tuple[int, ...]:
        """Return the rows of a channel that have a trouble."""
        wanted = (Trouble(trouble), name, Direction(direction))
        return tuple(
            row for one in self.findings if (one.trouble, one.name, one.direction) == wanted for row in one.rows
        )


def sanity_report(nid: NidFile) -> SanityReport:
    """Look through the image of a file for rows that cannot be a measurement.

    *Noise* is judged on the codes, before any scale: a window of 64 samples that spans more than 0.6 of the converter's
    whole range, and whose neighbours differ as strangers do (mean squared difference over variance above 1), is no
    scanned line but bytes of something else. From there the block is followed to its first and last jump, across rows.
    Channels of fewer than 16 samples are not judged for noise. A row is *constant* where all its codes are equal, and
    *saturated* where at least half of them stand at the lowest or highest code.

    Raises
    ------
    NidError
        If a line of the header, in whatever section, is broken.
    """
    for section in nid.header.values():
        len(section)
    scanned = images(nid.channels)
    findings: list[Finding] = []
    for channel in scanned:
        findings += _noise(channel)
        low, high = np.iinfo(channel.codes.dtype).min, np.iinfo(channel.codes.dtype).max
        constant = channel.codes.min(axis=1) == channel.codes.max(axis=1)
        limited = ((channel.codes == low) | (channel.codes == high)).mean(axis=1) >= 0.5
        for trouble, rows in ((Trouble.CONSTANT, constant), (Trouble.SATURATED, limited)):
            if channel.codes.shape[1] > 1 and rows.any():
                where = tuple(int(row) for row in np.flatnonzero(rows))
                findings.append(_finding(trouble, channel, where, (where[0], 0), (where[-1], -1)))
    return SanityReport(
        source=nid.source,
        sha256=hashlib.sha256(nid.content).hexdigest(),
        lines=scanned[0].codes.shape[0] if scanned else None,
        lines_done=nid.lines_done,
        findings=tuple(findings),
    )


def _finding(
    trouble: Trouble, channel: NidChannel, rows: tuple[int, ...], first: tuple[int, int], last: tuple[int, int]
) -> Finding:
    row, column = last
    end = channel.byte_of(row, column % channel.codes.shape[1]) + channel.codes.itemsize - 1
    return Finding(trouble, channel.name, channel.direction or Direction.FORWARD, rows, channel.byte_of(*first), end)


def _noise(channel: NidChannel) -> list[Finding]:
    points = channel.codes.shape[1]
    found = []
    for first, last in noisy_stretches(channel.codes):
        rows = tuple(range(first // points, last // points + 1))
        found.append(_finding(Trouble.NOISE, channel, rows, divmod(first, points), divmod(last, points)))
    return found


def noisy_stretches(codes: Codes) -> list[tuple[int, int]]:
    """Return first and last sample, counted through the rows, of every stretch of noise."""
    if codes.size < _BLOCK:
        return []
    level = codes.ravel().astype(np.float64)
    level /= 2.0 ** (8 * codes.itemsize)
    step = np.abs(np.diff(level))
    core = _noisy_windows(level, step)
    if not core.any():
        return []
    # From the end of a row to the start of the next, a tilted line jumps as well.
    step[codes.shape[1] - 1 :: codes.shape[1]] = 0.0
    jumps = np.flatnonzero(step > _JUMP)
    stretches = []
    for group in np.split(jumps, np.flatnonzero(np.diff(jumps) > _GAP) + 1):
        first, last = int(group[0]), int(group[-1])
        if core[first // _BLOCK : last // _BLOCK + 1].any() and last - first >= _BLOCK:
            # A jump leads from sample n to n + 1: the first leads into the noise, the last out of it, unless there is
            # nothing before or after.
            start, end = first + 1 if first else 0, last if last < level.size - 2 else level.size - 1
            stretches.append((start, end))
    return stretches


def _noisy_windows(level: NDArray[np.float64], step: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say for each block of 16 samples whether a window of four blocks (or of all, if fewer) around it is noise."""
    blocks = level.size // _BLOCK
    wide = min(_WINDOW // _BLOCK, blocks)
    cut = level[: blocks * _BLOCK].reshape(blocks, _BLOCK)
    steps = np.append(step, 0.0)[: blocks * _BLOCK].reshape(blocks, _BLOCK)

    def rolled(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.lib.stride_tricks.sliding_window_view(values, wide)

    count = wide * _BLOCK
    span = rolled(cut.max(axis=1)).max(axis=1) - rolled(cut.min(axis=1)).min(axis=1)
    mean = rolled(cut.sum(axis=1)).sum(axis=1) / count
    variance = rolled((cut**2).sum(axis=1)).sum(axis=1) / count - mean**2
    squares = rolled((steps**2).sum(axis=1)).sum(axis=1) / count
    noisy = (span > _SPAN) & (squares > _RATIO * variance)
    core = np.zeros(blocks, dtype=np.bool_)
    for window in np.flatnonzero(noisy):
        core[window : window + wide] = True
    return core


def _runs(rows: tuple[int, ...]) -> list[str]:
    numbers = np.array(rows)
    parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
    return [f"{part[0]}–{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts]
