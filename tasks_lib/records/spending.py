"""What calls of models cost, how much a run or a night may spend, and the log of every request."""

from __future__ import annotations

from pydantic import Field

from tasks_lib.records._document import Document, JsonValue, Record, Text, UtcTime
from tasks_lib.records.identifiers import Sha256
from tasks_lib.records.trajectory import BlobRef


class SpendingLimit(Record):
    """How much may be spent; None: as much as is asked for."""

    usd: float | None = Field(default=None, gt=0, description="US dollars")
    tokens: int | None = Field(default=None, gt=0, description="input and output together")

    def __bool__(self) -> bool:
        """Whether there is any limit."""
        return self.usd is not None or self.tokens is not None


class Spending(Record):
    """What was spent."""

    usd: float = Field(default=0.0, ge=0, description="US dollars")
    tokens: int = Field(default=0, ge=0, description="input and output together")
    calls: int = Field(default=0, ge=0, description="calls that were paid for")
    estimated: int = Field(
        default=0,
        ge=0,
        description="calls of which the endpoint did not tell the usage: they count by an upper estimate",
    )

    def plus(self, usd: float, tokens: int, *, estimated: int = 0) -> Spending:
        """Return the spending after one more call."""
        return Spending(
            usd=self.usd + usd,
            tokens=self.tokens + tokens,
            calls=self.calls + 1,
            estimated=self.estimated + estimated,
        )


class Account(Record):
    """A limit and what was spent of it."""

    name: Text = Field(description="whose: 'run …' or 'night …'")
    limit: SpendingLimit
    spent: Spending = Spending()
    closed: bool = Field(
        default=False, description="a call was refused; nothing more is spent until the limit is raised"
    )


class Reservation(Record):
    """The most that a call under way may cost; it counts as spent when its time is over."""

    id: Text
    owner: Text = Field(description="episode and attempt")
    usd: float = Field(ge=0, description="US dollars")
    tokens: int = Field(ge=0, description="input and output together")
    until: UtcTime


class Purse(Document):
    """``purse.json``: what a run or a night has spent at models; every change of it is exclusive."""

    account: Account
    open: tuple[Reservation, ...] = ()


class ExchangeRecord(Document):
    """A line of ``requests.jsonl``: one try to get a reply from a model, secrets taken out by their value."""

    call: int = Field(ge=1, description="number of the reply that was asked for, in this stage")
    attempt: int = Field(ge=0, description="number of the try; 0: the reply was kept from an earlier run")
    model: Text = Field(description="name in the settings")
    dialect: Text
    url: Text
    started: UtcTime
    seconds: float = Field(ge=0, description="from sending to the end of the reply, s")
    status: int | None = Field(default=None, description="HTTP status; None: no answer began")
    error: Text = Field(default="", description="why the try failed")
    request: JsonValue = Field(description="the JSON that was sent; a picture is 'blob:' and the digest of a blob")
    pictures: tuple[BlobRef, ...] = ()
    reply: Text = Field(default="", description="the body; of a stream the JSON that its events make up")
    from_cache: bool = False


class KeptReply(Document):
    """A reply in the store that the same request may be given again."""

    request: Sha256 = Field(description="digest of the request")
    content: Sha256 = Field(description="digest of `completion` as compact JSON with sorted keys")
    kept: UtcTime
    completion: JsonValue
