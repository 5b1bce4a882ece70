"""What is wrong with an answer of a live database: kind, the field's path, value, and what it means for the set."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import Field

from tasks_lib.databases.ingest._shown import shown
from tasks_lib.records import Record, Text


class Fault(StrEnum):
    """One way in which databases really answer wrongly."""

    # No reply that could be read.
    UNREACHABLE = "unreachable"
    NOT_JSON = "not-json"
    NOT_A_REPLY = "not-a-reply"
    # Pages.
    EMPTY_PAGE = "empty-page-with-next"
    PAGE_AGAIN = "same-page-again"
    ITEM_AGAIN = "item-twice"
    MISNAMED_NEXT = "misnamed-next"
    FIELDS_LOST = "next-loses-fields"
    PAGING_IGNORED = "paging-ignored"
    FOREIGN_NEXT = "next-leads-elsewhere"
    TOO_FEW = "fewer-than-announced"
    TOO_MANY = "more-than-announced"
    LIMIT = "limit-reached"
    # Structures.
    NOT_FINITE = "not-finite"
    NO_CELL = "no-cell"
    OWN_NAN = "nan-in-own-field"
    NAIVE_TIME = "time-without-zone"
    NOT_THE_MODEL = "not-the-model"
    # OQMD.
    NO_META = "no-meta"
    BARE_ENTRY = "entry-not-under-data"
    COUNTED_ONES = "formula-with-ones"
    ELEMENTS_AS_TEXT = "elements-as-text"
    # Materials Project.
    TWO_HULLS = "two-hull-energies"
    DEPRECATED = "deprecated-id"
    ID_GONE = "id-gone"
    VALUE_GONE = "value-gone"


class Effect(StrEnum):
    """What a finding does to the set that it was found in."""

    MALFORMED = "malformed"
    REJECTED = "rejected"
    INCOMPLETE = "incomplete"
    NOTED = "noted"


_MALFORMED = (
    Fault.NOT_JSON, Fault.NOT_A_REPLY, Fault.EMPTY_PAGE, Fault.PAGE_AGAIN, Fault.ITEM_AGAIN, Fault.MISNAMED_NEXT,
    Fault.FIELDS_LOST, Fault.PAGING_IGNORED, Fault.FOREIGN_NEXT, Fault.TOO_FEW, Fault.TOO_MANY, Fault.NO_META,
)  # fmt: skip
_REJECTED = (Fault.NOT_FINITE, Fault.NO_CELL, Fault.NAIVE_TIME, Fault.NOT_THE_MODEL)
_INCOMPLETE = (Fault.UNREACHABLE, Fault.LIMIT)
EFFECTS: dict[Fault, Effect] = (
    dict.fromkeys(Fault, Effect.NOTED)
    | dict.fromkeys(_MALFORMED, Effect.MALFORMED)
    | dict.fromkeys(_REJECTED, Effect.REJECTED)
    | dict.fromkeys(_INCOMPLETE, Effect.INCOMPLETE)
)


class Finding(Record):
    """One fault, where it stands and what was there."""

    fault: Fault
    path: Text = Field(description="of the field within the reply, such as data[3].attributes.elements_ratios[0]")
    value: Text = Field(description="what was there, as JSON, cut")
    message: Text = Field(description="the rule that is broken, and what was done")
    url: Text = Field(default="", description="what was asked, keys removed")

    @property
    def effect(self) -> Effect:
        """What it does to the set."""
        return EFFECTS[self.fault]

    def __str__(self) -> str:
        place = f" ({self.url})" if self.url else ""
        return f"{self.effect}: {self.fault} at {self.path or 'the reply'} = {self.value}: {self.message}{place}"


def finding(fault: Fault, path: str, value: Any, message: str, url: str = "") -> Finding:
    """Return a finding, its value shown as short JSON."""
    return Finding(fault=fault, path=path, value=shown(value), message=message, url=url)


@dataclass(frozen=True)
class Collected:
    """What was got from a source, and whether that is all there is.

    Attributes
    ----------
    items : tuple
        What was got and accepted, each once, in the order in which it came.
    findings : tuple of Finding
        What was wrong.
    pages : int
        Replies that were read.
    announced : int or None
        How many items the source says there are; None where it does not say.
    """

    items: tuple[Any, ...]
    findings: tuple[Finding, ...]
    pages: int
    announced: int | None

    @property
    def malformed(self) -> bool:
        """Whether the source broke its own rules."""
        return any(found.effect is Effect.MALFORMED for found in self.findings)

    @property
    def complete(self) -> bool:
        """Whether the set is whole: nothing was malformed, rejected or left unread."""
        return all(found.effect is Effect.NOTED for found in self.findings)
