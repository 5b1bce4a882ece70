"""What every chat model does: messages in, one completion out; nothing here knows of desktops or tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from tasks_lib.models.settings import ImageSettings
from tasks_lib.records import Usage
from tasks_lib.records.errors import TransientEndpointError

Role = Literal["system", "user", "assistant"]


class DeadlineError(TransientEndpointError):
    """The caller's time ran out while a healthy endpoint was still at work on the reply."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text of a message."""

    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture of a message, as a file's bytes."""

    data: bytes
    media_type: str


Part = TextPart | ImagePart


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, role: Role, *parts: str | ImagePart) -> Message:
        """Build a message from texts and pictures."""
        return cls(role, tuple(TextPart(part) if isinstance(part, str) else part for part in parts))


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered.

    Attributes
    ----------
    text : str
        The answer; empty where the model said nothing.
    reasoning : str
        What the model thought aloud, kept apart from the answer.
    usage : Usage
        Tokens and cost; what the endpoint did not tell is None.
    finish_reason : str or None
        Why the model stopped, in the endpoint's word.
    model : str or None
        The model that the endpoint says has answered.
    seconds : float
        From the first request to the whole reply, retries and waits included, s.
    attempts : int
        Requests that were sent.
    lost : float
        Part of `seconds` that went to tries that failed and to waits between them, s.
    """

    text: str
    reasoning: str = ""
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = None
    model: str | None = None
    seconds: float = 0.0
    attempts: int = 1
    lost: float = 0.0


class ChatModel(Protocol):
    """A model that can be asked."""

    @property
    def name(self) -> str:
        """The model's name in the settings."""

    @property
    def image(self) -> ImageSettings:
        """How pictures are to be prepared for it."""

    def complete(self, messages: Sequence[Message], *, seconds: float | None = None) -> Completion:
        """Ask once.

        Parameters
        ----------
        messages : sequence of Message
            The conversation, oldest first.
        seconds : float, optional
            Time that the caller has, s; None for no other limit than the model's own.

        Raises
        ------
        DeadlineError
            If `seconds` passed while the endpoint worked on its first try.
        TransientEndpointError
            If the retries are used up.
        EndpointError
            If a retry cannot help.
        """

    def close(self) -> None:
        """Give connections back; may be called twice."""
