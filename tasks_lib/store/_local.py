"""A local folder: temporary file + fsync + rename for writes, hard links for exclusive creation, flock for swaps."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fsspec.implementations.local import LocalFileSystem

from tasks_lib.store._backend import PRIVATE, UNFINISHED, Backend

# What file systems without hard links (FAT, some FUSE and network ones) answer to link(2).
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}


class LocalBackend(Backend):
    """Files in a folder of this machine.

    Guarantees: a file is whole or absent whenever its writer is killed, because the bytes are on the disk (fsync)
    before the name appears. Exclusive creation has exactly one winner (link(2) fails where the name exists). Swaps
    are serialised by flock(2), which the kernel gives up when its holder dies; on a network file system both hold
    as far as that file system implements them.
    """

    def __init__(self, root: Path) -> None:
        self.folder = root.expanduser().absolute()
        super().__init__(LocalFileSystem(), str(self.folder), self.folder.as_uri())

    def write(self, path: str, data: bytes) -> None:
        target = self.folder / path
        with self.guard("write", path), self._whole(target, data) as finished:
            finished.replace(target)

    def create(self, path: str, data: bytes) -> bool:
        target = self.folder / path
        with self.guard("create", path):
            if target.exists():
                return False
            with self._whole(target, data) as finished:
                return self._claim(path, finished, target)

    def _claim(self, path: str, finished: Path, target: Path) -> bool:
        try:
            os.link(finished, target)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            with self._lock(path):
                if target.exists():
                    return False
                finished.replace(target)
        return True

    def swap(self, path: str, old: bytes, new: bytes) -> bool:
        target = self.folder / path
        with self.guard("swap", path), self._lock(path):
            try:
                if target.read_bytes() != old:
                    return False
            except FileNotFoundError:
                return False
            with self._whole(target, new) as finished:
                finished.replace(target)
            return True

    def append(self, path: str, line: bytes) -> None:
        target = self.folder / path
        with self.guard("append to", path):
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                end = _end_of_whole_lines(descriptor)
                os.ftruncate(descriptor, end)
                try:
                    _write_all(descriptor, line, end)
                    os.fsync(descriptor)
                except OSError:
                    os.ftruncate(descriptor, end)
                    raise
            finally:
                os.close(descriptor)

    def free_bytes(self) -> int | None:
        folder = self.folder
        while not folder.exists():
            folder = folder.parent
        with self.guard("measure the room at", str(folder)):
            return shutil.disk_usage(folder).free

    @contextmanager
    def _whole(self, target: Path, data: bytes) -> Iterator[Path]:
        """Yield a file beside `target` whose bytes are on the disk; remove it if it was not renamed."""
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f"{UNFINISHED}{os.getpid()}-{uuid.uuid4().hex}")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            try:
                _write_all(descriptor, data, 0)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)

    @contextmanager
    def _lock(self, path: str) -> Iterator[None]:
        # 256 lock files serve all paths: they need no cleaning up, and two paths rarely share one.
        name = hashlib.sha256(path.encode()).hexdigest()[:2]
        folder = self.folder / PRIVATE / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _write_all(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def _end_of_whole_lines(descriptor: int, block: int = 65536) -> int:
    """Return the offset after the last newline, reading backwards."""
    end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(0, end - block)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
