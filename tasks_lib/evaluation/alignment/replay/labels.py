"""What a replay says: a label for each call, and counts of them, also in the five classes of the published program."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from pydantic import Field

from tasks_lib.records import Document, Record
from tasks_lib.records.identifiers import Sha256


class CallClass(StrEnum):
    """What became of a call; the first that fits, in this order."""

    ILLEGAL_FORMAT = "illegal format"
    UNKNOWN_TOOL = "unknown tool"
    INVALID_ARGUMENTS = "invalid arguments"
    NO_RESULT = "no result recorded"
    TIMEOUT = "time-out"
    TRANSPORT = "transport"
    AUTH_OR_QUOTA = "auth or quota"
    NOT_FOUND = "resource not found"
    SERVER_ERROR = "server error"
    SUCCESS = "success"


class CallLabel(Record):
    """One call, or one turn or item that should have been one."""

    task: str
    step: int | None = Field(default=None, ge=0, description="from 0; None: a turn or an item that was no call")
    call: int | None = Field(default=None, ge=0, description="index among the task's calls, from 0")
    tool: str = ""
    kind: CallClass
    rule: str = Field(description="what decided: snapshot, schema, a code, a phrase of an error")
    why: str = ""
    tolerated: bool = Field(default=False, description="the arguments break the schema, and the server answered")


class ClassCounts(Record):
    """Labels counted by class; a class without a label is left out."""

    name: str
    counts: dict[CallClass, int]

    @property
    def total(self) -> int:
        """All labels."""
        return sum(self.counts.values())


class PublishedCounts(Record):
    """The five published classes. The first counts samples, the others calls, as published."""

    illegal_calling: int = Field(ge=0, description="samples with a turn that holds no call")
    unknown_tool: int = Field(ge=0)
    invalid_arguments: int = Field(ge=0)
    resource_not_found: int = Field(ge=0)
    success: int = Field(ge=0)
    without_class: int = Field(ge=0, description="calls that none of the five is for")


class ReplayReport(Document):
    """What became of the calls of a file of predictions."""

    predictions: str
    snapshot: str
    snapshot_digest: Sha256
    tasks: int = Field(ge=0)
    calls: int = Field(ge=0)
    total: ClassCounts
    tolerated: int = Field(ge=0, description="calls with invalid arguments that the server answered all the same")
    published: PublishedCounts
    by_tool: tuple[ClassCounts, ...]
    by_family: tuple[ClassCounts, ...]
    labels: tuple[CallLabel, ...]
    oddities: tuple[str, ...] = ()


def counted(name: str, labels: Iterable[CallLabel]) -> ClassCounts:
    """Count labels by class, in the order of the classes."""
    kinds = [label.kind for label in labels]
    return ClassCounts(name=name, counts={kind: kinds.count(kind) for kind in CallClass if kind in kinds})
