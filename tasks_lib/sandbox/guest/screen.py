"""The screen, read straight from the file that Xvfb keeps its frame buffer in."""

from __future__ import annotations

import io
import mmap
import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from .faults import RefusedError

_HEADER = struct.Struct(">25I")
_POLL = 0.025


class Screen:
    """Frame buffer of the X server: 32 bits a pixel, blue first, rows of `stride` bytes.

    Parameters
    ----------
    frame_file : Path
        XWD file of ``Xvfb -fbdir``; it stays mapped.

    Raises
    ------
    RefusedError
        If the file is not an XWD image of 32 bits a pixel, least significant byte first.
    """

    def __init__(self, frame_file: Path) -> None:
        with frame_file.open("rb") as stream:
            self._map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        header = _HEADER.unpack_from(self._map)
        header_size, version, _, _, self.width, self.height = header[:6]
        byte_order, bits, self.stride, colours = header[7], header[11], header[12], header[19]
        if (version, byte_order, bits) != (7, 0, 32):
            msg = f"{frame_file} is not a 32-bit XWD file of version 7: version {version}, {bits} bits"
            raise RefusedError(msg, "broken")
        self._start = header_size + colours * 12
        self._end = self._start + self.stride * self.height

    def copy(self) -> bytes:
        """Return a copy of the pixels as the server keeps them, for `image` and `png`."""
        return self._map[self._start : self._end]

    def image(self, pixels: bytes | None = None) -> Image.Image:
        """Return the screen, or a copy of it, as an RGB picture."""
        view = memoryview(self._map)[self._start : self._end] if pixels is None else memoryview(pixels)
        try:
            return Image.frombytes("RGB", (self.width, self.height), view, "raw", "BGRX", self.stride, 1)
        finally:
            view.release()

    def png(self, pixels: bytes | None = None) -> bytes:
        """Return the screen, or a copy of it, as PNG.

        The lightest compression, since pictures cross a socket and not a network.
        """
        stream = io.BytesIO()
        self.image(pixels).save(stream, "PNG", compress_level=1)
        return stream.getvalue()

    def digest(self) -> int:
        """Return a checksum of the pixels, without encoding them."""
        view = memoryview(self._map)[self._start : self._end]
        try:
            return zlib.adler32(view)
        finally:
            view.release()

    def settle(self, quiet: float, limit: float, busy: Callable[[], bool]) -> tuple[float, bool]:
        """Wait until the pixels have not changed, and nothing was busy, for `quiet` seconds.

        Parameters
        ----------
        quiet : float
            How long the screen must stand still, s.
        limit : float
            When to give up, s.
        busy : callable
            Asked at every look at the screen.

        Returns
        -------
        tuple of float and bool
            Seconds waited, and whether the screen stood still.
        """
        begin = changed = time.monotonic()
        last = self.digest()
        while True:
            time.sleep(min(_POLL, max(quiet, 0.001)))
            now = time.monotonic()
            seen = self.digest()
            if busy() or seen != last:
                last, changed = seen, now
            elif now - changed >= quiet:
                return now - begin, True
            if now - begin >= limit:
                return now - begin, False
