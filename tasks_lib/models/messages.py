"""What a conversation with a chat model is made of: messages, their parts, tools and the calls of tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that a model may call.

    Attributes
    ----------
    name : str
        Letters, digits, ``_`` and ``-``, at most 64: what every dialect takes.
    description : str
        What it does, for the model.
    parameters : mapping
        JSON schema of the arguments, an object's.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool in a model's reply.

    Attributes
    ----------
    id : str
        By which the result names its call; one of ours where the endpoint gave none.
    name : str
        The tool, as the model wrote it; whether there is such a tool is for the caller to see.
    raw : str
        The arguments as the model wrote them.
    arguments : mapping or None
        The arguments read; None where `problem` says why the call must not be executed.
    problem : str
        What is wrong with the arguments, for the model to read; empty where nothing is.
    note : str
        What was put up with; empty where nothing was.
    """

    id: str
    name: str
    raw: str
    arguments: Mapping[str, Any] | None
    problem: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text of a message."""

    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture of a message, as a file's bytes."""

    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A call of a tool, part of an assistant's message."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """What came of a call of a tool, part of the user's message that follows it.

    Attributes
    ----------
    call_id : str
        `ToolCall.id` of the call.
    name : str
        `ToolCall.name` of the call.
    text : str
        The result, for the model.
    is_error : bool
        Whether the call failed or was refused.
    """

    call_id: str
    name: str
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class OpaquePart:
    """What an endpoint wants back unchanged in the next request: thinking blocks, signatures of thoughts.

    Attributes
    ----------
    dialect : str
        `ModelSettings.provider` of the dialect that reads it; the others leave it out.
    data : mapping
        JSON as it came.
    """

    dialect: str
    data: Mapping[str, Any]


Part = TextPart | ImagePart | ToolCallPart | ToolResultPart | OpaquePart


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; results of tools are parts of a user's message."""

    role: Role
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, role: Role, *parts: str | Part) -> Message:
        """Build a message from texts and parts."""
        return cls(role, tuple(TextPart(part) if isinstance(part, str) else part for part in parts))
