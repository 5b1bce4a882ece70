"""Groups, attributes and samples of an HDF5 file that nobody vouches for: checked before they are read."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from tasks_lib.instruments.nhf._errors import NhfError

MAX_LINKS = 1000
_MAX_TEXT_BYTES = 2**16
_MIN_BUDGET = 64 * 2**20
_BUDGET_PER_BYTE = 16
# Filters of HDF5 by number: a pipeline may shuffle, then deflate.
_PIPELINES = {(): False, (2,): False, (1,): True, (2, 1): True}
# What h5py raises on files that are none: the library's own errors arrive as all of these.
_BROKEN = (
    OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, IndexError, OverflowError, MemoryError,
    NotImplementedError,
)  # fmt: skip


@contextmanager
def reading(source: str, place: str) -> Iterator[None]:
    """Turn what the library raises into an error that says where."""
    try:
        yield
    except _BROKEN as error:
        raise NhfError(f"cannot be read: {error}", source=source, place=place) from error


@dataclass
class Budget:
    """Bytes that samples of one file may still take in memory."""

    left: int

    @classmethod
    def of(cls, size: int) -> Budget:
        return cls(max(_MIN_BUDGET, _BUDGET_PER_BYTE * size))


@dataclass(frozen=True)
class Node:
    """A group or a dataset, with the file's name and the place in it for messages."""

    item: Any
    source: str
    place: str
    budget: Budget

    @property
    def is_group(self) -> bool:
        return isinstance(self.item, h5py.Group)

    def refuse(self, rule: str, *, part: str = "") -> NhfError:
        return NhfError(rule, source=self.source, place=f"{self.place}{f' {part}' if part else ''}")

    def named(self, name: str) -> Node:
        """Return the same node under the name that it has for people."""
        parent = self.place.rpartition("/")[0]
        return Node(self.item, self.source, f"{parent}/{name}" if parent else name, self.budget)

    def children(self) -> list[Node]:
        """Return what lies in a group, in order of number; nothing outside the file, and nothing by another way."""
        with reading(self.source, self.place):
            if len(self.item) > MAX_LINKS:
                raise self.refuse(f"holds {len(self.item)} items, more than {MAX_LINKS}")
            found = []
            for name in sorted(self.item, key=_by_number):
                place = f"{self.place}/{name}" if self.place != "file" else str(name)
                link = self.item.get(name, getlink=True)
                if not isinstance(link, h5py.HardLink):
                    kind = type(link).__name__
                    raise NhfError(f"is a link ({kind}), and is not followed", source=self.source, place=place)
                found.append(Node(self.item[name], self.source, place, self.budget))
        return found

    def text(self, name: str) -> str | None:
        """Return an attribute that is text."""
        found = self._attribute(name, ())
        if found is None or isinstance(found, str):
            return found
        if isinstance(found, bytes):
            with reading(self.source, f"{self.place} {name}"):
                return found.decode()
        raise self.refuse("is no text", part=name)

    def number(self, name: str) -> float | int | None:
        """Return an attribute that is a finite number."""
        found = self._attribute(name, ())
        return None if found is None else self._finite(name, found)

    def pair(self, name: str) -> tuple[float | int, float | int] | None:
        """Return an attribute that is two finite numbers."""
        found = self._attribute(name, (2,))
        return None if found is None else (self._finite(name, found[0]), self._finite(name, found[1]))

    def has(self, name: str) -> bool:
        with reading(self.source, f"{self.place} {name}"):
            return name in self.item.attrs

    def is_number(self, name: str) -> bool:
        """Whether an attribute is there and a number, not text."""
        with reading(self.source, f"{self.place} {name}"):
            return name in self.item.attrs and self.item.attrs.get_id(name).dtype.kind in "iuf"

    def _finite(self, name: str, value: Any) -> float | int:
        if isinstance(value, np.integer):
            return int(value)
        if isinstance(value, np.floating) and math.isfinite(value):
            return float(value)
        raise self.refuse(f"is no finite number: {str(value)[:40]!r}", part=name)

    def _attribute(self, name: str, shape: tuple[int, ...]) -> Any:
        with reading(self.source, f"{self.place} {name}"):
            if name not in self.item.attrs:
                return None
            told = self.item.attrs.get_id(name)
            if told.shape != shape:
                raise self.refuse(f"has shape {told.shape}, not {shape}", part=name)
            kind = told.dtype
            if kind.kind not in "iufSO" or kind.itemsize > _MAX_TEXT_BYTES:
                raise self.refuse(f"has the type {kind}, which is neither a number nor a text", part=name)
            if kind.kind == "O" and h5py.check_string_dtype(kind) is None:
                raise self.refuse("is neither a number nor a text", part=name)
            return self.item.attrs[name]

    # ------------------------------------------------------------------ samples

    def size(self) -> int:
        """Return how many samples a dataset claims to have."""
        with reading(self.source, self.place):
            shape = self.item.shape
        if shape is None:
            raise self.refuse("holds nothing")
        return math.prod(int(one) for one in shape)

    def samples(self, shape: tuple[int, int], kind: np.dtype[Any]) -> tuple[NDArray[Any], Any]:
        """Return the codes in a shape, and the code of missing samples where the file has one."""
        with reading(self.source, self.place):
            item = self.item
            if item.dtype.newbyteorder("=") != kind:
                raise self.refuse(f"is stored as {item.dtype}, and is said to be {kind}")
            if item.ndim not in (1, 2) or (item.ndim == 2 and item.shape != shape):
                raise self.refuse(f"has shape {item.shape}, not {shape}")
            plan = item.id.get_create_plist()
            if item.is_virtual or plan.get_external_count():
                raise self.refuse("keeps its samples outside the file, which are not read")
            self._check_memory(math.prod(shape))
            self._check_filters(plan)
            codes = item[...].reshape(shape)
            told = plan.fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED
            return codes, item.fillvalue if told else None

    def _check_memory(self, count: int) -> None:
        """Refuse before anything is allocated."""
        needed = 8 * count
        chunk = 8 * math.prod(int(one) for one in self.item.chunks or (0,))
        if needed > self.budget.left or chunk > self.budget.left:
            raise self.refuse(
                f"claims {max(needed, chunk)} bytes of samples, more than the {self.budget.left} that a file of this"
                " size may take"
            )
        self.budget.left -= needed

    def _check_filters(self, plan: Any) -> None:
        filters = tuple(plan.get_filter(number)[0] for number in range(plan.get_nfilters()))
        if filters not in _PIPELINES:
            raise self.refuse(f"is stored through filters {filters}; those that are read are shuffle and deflate")
        if not _PIPELINES[filters]:
            return
        # A short block can be the start of a very long text; the library would unpack all of it.
        room = self.item.dtype.itemsize * math.prod(self.item.chunks)
        for number in range(self.item.id.get_num_chunks()):
            raw = self.item.id.read_direct_chunk(self.item.id.get_chunk_info(number).chunk_offset)[1]
            try:
                size = len(zlib.decompressobj().decompress(raw, room + 1))
            except zlib.error as error:
                raise self.refuse(f"block {number} is torn: {error}") from error
            if size > room:
                raise self.refuse(f"block {number} unpacks to more than its {room} bytes")


def _by_number(name: str) -> tuple[str, int]:
    stem, _, number = name.rpartition("_")
    return (stem, int(number)) if number.isascii() and number.isdigit() and len(number) < 10 else (name, -1)
