"""The zip archive around a log: measured before the package reads it, and written with the same bytes each time."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tasks_lib.interop._faults import fault
from tasks_lib.records import check_relative_path

MOST_MEMBERS = 20_000
LARGEST_MEMBER = 512 * 2**20
LARGEST_SUM = 1024 * 2**20
# Zip's number for Zstandard, in which the package packs.
ZSTANDARD = 93
_CHUNK = 1 << 20
_WINDOW = 128 * 2**20
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_EPOCH = (1980, 1, 1, 0, 0, 0)


def check(path: Path) -> None:
    """Unpack a log into nothing, chunk by chunk, so that no archive can fill the memory of who reads it next.

    Raises
    ------
    ConfigurationError
        If it is no zip, has a name that leaves its folder, is encrypted, packed in another way than these logs are,
        too large, or of other sizes than it says.
    """
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check_names(path, members)
            total = 0
            for member in members:
                size = 0
                for chunk in _unpacked(file, member):
                    size += len(chunk)
                    if size > min(LARGEST_MEMBER, LARGEST_SUM - total):
                        raise fault(_at(path, member), f"unpacks to more than {LARGEST_MEMBER} bytes", "split the log")
                if size != member.file_size:
                    rule = f"says that it has {member.file_size} bytes and has {size}"
                    raise fault(_at(path, member), rule, "write the log anew")
                total += size
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, ValueError) as error:
        rule = f"is no log of Inspect AI ({type(error).__name__}: {error})"
        raise fault(str(path), rule, "give a whole one") from error


def _at(path: Path, member: zipfile.ZipInfo) -> str:
    return f"{path}, {member.filename[:100]!r}"


def _check_names(path: Path, members: list[zipfile.ZipInfo]) -> None:
    if len(members) > MOST_MEMBERS:
        raise fault(str(path), f"has at most {MOST_MEMBERS} members, got {len(members)}", "split the log")
    names: set[str] = set()
    for member in members:
        try:
            check_relative_path(member.filename)
        except ValueError as error:
            raise fault(_at(path, member), str(error), "do not trust the file") from error
        if member.filename in names:
            raise fault(_at(path, member), "stands twice", "write the log anew")
        if member.flag_bits & 0x1:
            raise fault(_at(path, member), "is encrypted", "give a plain log")
        names.add(member.filename)


def _unpacked(file: IO[bytes], member: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield a member's bytes in chunks of a bounded size, whatever the ratio of its packing."""
    packed = _packed(file, member)
    if member.compress_type == zipfile.ZIP_STORED:
        yield from packed
    elif member.compress_type == zipfile.ZIP_DEFLATED:
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        for chunk in packed:
            yield unpacker.decompress(chunk, _CHUNK)
            while unpacker.unconsumed_tail:
                yield unpacker.decompress(unpacker.unconsumed_tail, _CHUNK)
        yield unpacker.flush(_CHUNK)
    elif member.compress_type == ZSTANDARD:
        yield from _zstandard(packed)
    else:
        msg = f"{member.filename[:100]!r} is packed by method {member.compress_type}"
        raise NotImplementedError(msg)


def _packed(file: IO[bytes], member: zipfile.ZipInfo) -> Iterator[bytes]:
    file.seek(member.header_offset)
    header = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    if header[0] != b"PK\x03\x04":
        msg = "a member has no header"
        raise zipfile.BadZipFile(msg)
    file.seek(header[-2] + header[-1], 1)
    left = member.compress_size
    while left > 0:
        chunk = file.read(min(_CHUNK, left))
        if not chunk:
            raise EOFError
        left -= len(chunk)
        yield chunk


def _zstandard(packed: Iterator[bytes]) -> Iterator[bytes]:
    import zstandard  # comes with inspect-ai

    class _Source:
        """Gives the packed bytes in pieces."""

        def read(self, _size: int = -1) -> bytes:
            return next(packed, b"")

    unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    try:
        with unpacker.stream_reader(_Source(), read_across_frames=True) as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error


def settle(source: Path, target: Path) -> None:
    """Write an archive anew with fixed times: what the package writes holds the time of writing in every header."""
    with (
        zipfile.ZipFile(source) as old,
        zipfile.ZipFile(target, "x", compression=ZSTANDARD, allowZip64=True) as new,
    ):
        for member in old.infolist():
            kept = zipfile.ZipInfo(member.filename, _EPOCH)
            kept.compress_type = ZSTANDARD
            new.writestr(kept, old.read(member))
