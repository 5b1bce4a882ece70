"""What every chat model does: messages in, one completion out; nothing here knows of desktops or tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from tasks_lib.models.messages import Message, TextPart, ToolCall, ToolCallPart, ToolSpec
from tasks_lib.models.settings import ImageSettings
from tasks_lib.records import Usage
from tasks_lib.records.errors import TransientEndpointError


class DeadlineError(TransientEndpointError):
    """The caller's time ran out while a healthy endpoint was still at work on the reply."""


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
        Part of `seconds` that went to tries that failed, to waits between them and to waits at the gate, s.
    calls : tuple of ToolCall
        The tools that the model called, in its order.
    turn : Message
        The assistant's message to append to the conversation; it also holds what the endpoint wants back unchanged.
    refused : bool
        Whether the model, or a filter before it, refused to answer; `text` is the refusal then.
    """

    text: str
    reasoning: str = ""
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = None
    model: str | None = None
    seconds: float = 0.0
    attempts: int = 1
    lost: float = 0.0
    calls: tuple[ToolCall, ...] = ()
    turn: Message = field(default_factory=lambda: Message("assistant", ()))
    refused: bool = False

    def __post_init__(self) -> None:
        """Make the turn of the text and the calls where none is given."""
        if not self.turn.parts:
            texts = (TextPart(self.text),) if self.text else ()
            object.__setattr__(self, "turn", Message("assistant", (*texts, *map(ToolCallPart, self.calls))))


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what came of it; secrets are taken out by their value.

    Attributes
    ----------
    dialect : str
        `ModelSettings.provider`.
    url : str
        Where the request went.
    attempt : int
        Number of the try, from 1.
    request : mapping
        The JSON that was sent, pictures in base64 included.
    status : int or None
        HTTP status; None where no answer began.
    reply : str
        The body; of a stream the JSON that its events make up, as far as they came.
    error : str
        Why the try failed; empty where it did not.
    seconds : float
        From sending to the end of the reply, s; the wait at the gate is not in it.
    started : datetime
        When it was sent, UTC.
    streamed : bool
        Whether the reply came as events.
    """

    dialect: str
    url: str
    attempt: int
    request: Mapping[str, Any]
    status: int | None
    reply: str
    error: str
    seconds: float
    started: datetime
    streamed: bool = False


class Gate(Protocol):
    """Lets as many calls through to an endpoint at a time as it can take."""

    def enter(self, seconds: float | None) -> float:
        """Wait for a place.

        Parameters
        ----------
        seconds : float or None
            Longest wait, s; None for no limit.

        Returns
        -------
        float
            How long the wait was, s.

        Raises
        ------
        DeadlineError
            If there will be no place in that time.
        """
        ...

    def leave(self, *, throttled: bool, retry_after: float | None) -> None:
        """Give the place back.

        Parameters
        ----------
        throttled : bool
            Whether the endpoint said that it is asked too much.
        retry_after : float or None
            How long it wants to be left alone, s.
        """
        ...


class ChatModel(Protocol):
    """A model that can be asked."""

    @property
    def name(self) -> str:
        """The model's name in the settings."""

    @property
    def image(self) -> ImageSettings:
        """How pictures are to be prepared for it."""

    def complete(
        self, messages: Sequence[Message], *, tools: Sequence[ToolSpec] = (), seconds: float | None = None
    ) -> Completion:
        """Ask once.

        Parameters
        ----------
        messages : sequence of Message
            The conversation, oldest first.
        tools : sequence of ToolSpec
            What the model may call.
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
        ConfigurationError
            If a picture is to be shown to a model whose settings say that it takes none.
        """

    def close(self) -> None:
        """Give connections back; may be called twice."""
