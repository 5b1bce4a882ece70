"""What stands in a results file: a line that says which study it is, then a line an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pydantic import Field

from tasks_lib.records import Document, Text, UtcTime
from tasks_lib.records.identifiers import Sha256


class Side(StrEnum):
    """Where a trajectory stands on the page."""

    LEFT = "left"
    RIGHT = "right"


class Preferred(StrEnum):
    """What a person prefers, whatever side it stood on."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"


class StudyRecord(Document):
    """The first line: what is compared, and what decides order and sides."""

    first: Text = Field(description="name of the first file")
    second: Text = Field(description="name of the second file")
    rater: Text
    seed: int = Field(ge=0)
    pairs: int = Field(ge=1)
    digest: Sha256 = Field(description="over everything that is shown; the same for all raters")


class Ballot(Document):
    """One answer; the last one about a task counts."""

    task: Text
    first_on: Side
    preferred: Preferred | None = Field(description="None: the answer before is taken back")
    at: UtcTime


@dataclass(frozen=True)
class Answered:
    """A results file as it was read: the study and the answers that count, by task."""

    study: StudyRecord
    ballots: Mapping[str, Ballot]
