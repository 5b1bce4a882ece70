"""What a dialect is: where a request goes, what it says, and how its answer is read."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tasks_lib.models.dialects.reply import ReplyReader
from tasks_lib.models.messages import ImagePart, Message, Part, TextPart, ToolResultPart, ToolSpec
from tasks_lib.models.settings import ModelSettings


class BodyWriter(Protocol):
    """Writes the JSON of a request."""

    def __call__(
        self, messages: Sequence[Message], settings: ModelSettings, tools: Sequence[ToolSpec] = ()
    ) -> dict[str, Any]:
        """Write a request."""
        ...


class Assembler(Protocol):
    """Puts the events of a streamed reply together into the body that a reply in one piece would have."""

    @property
    def complete(self) -> bool:
        """Whether the model has said all: the reply counts even if the stream breaks from now on."""

    @property
    def ended(self) -> bool:
        """Whether the endpoint has said that nothing follows."""

    def take(self, event: Mapping[str, Any]) -> None:
        """Take the JSON of the next event."""

    def body(self) -> dict[str, Any]:
        """Return the body, as far as it came."""


@dataclass(frozen=True)
class Dialect:
    """How one family of endpoints is spoken to.

    Attributes
    ----------
    path, stream_path : str
        After ``base_url``, for a reply in one piece and in events; ``{model}`` stands for the model's name.
    key_header, key_prefix : str
        The header that carries the key, and what stands before it there.
    headers : mapping
        Further headers of each request.
    write : BodyWriter
    read : ReplyReader
    assembler : callable
        Makes an `Assembler` for one streamed reply.
    """

    path: str
    stream_path: str
    key_header: str
    key_prefix: str
    headers: Mapping[str, str]
    write: BodyWriter
    read: ReplyReader
    assembler: Callable[[], Assembler]

    def headers_with(self, key: str | None) -> dict[str, str]:
        """Return the headers of a request."""
        return dict(self.headers) | ({self.key_header: self.key_prefix + key} if key else {})


def base64_text(part: ImagePart) -> str:
    """Return the bytes of a picture as base64."""
    return base64.b64encode(part.data).decode("ascii")


def data_url(part: ImagePart) -> str:
    """Return a picture as a data URL."""
    return f"data:{part.media_type};base64,{base64_text(part)}"


def text_of(parts: Sequence[Part]) -> str:
    """Return the texts of parts, one a line."""
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def system_text(messages: Sequence[Message]) -> str:
    """Return what the system messages say, for dialects that take it apart from the conversation."""
    return "\n\n".join(text_of(message.parts) for message in messages if message.role == "system")


def turns(messages: Sequence[Message]) -> list[tuple[str, list[Part]]]:
    """Return the conversation without system messages; neighbours of one role become one turn.

    Anthropic and Gemini want the roles to alternate, and results of tools first in their turn.
    """
    found: list[tuple[str, list[Part]]] = []
    for message in messages:
        if message.role == "system":
            continue
        if found and found[-1][0] == message.role:
            found[-1][1].extend(message.parts)
        else:
            found.append((message.role, list(message.parts)))
    return [(role, sorted(parts, key=lambda part: not isinstance(part, ToolResultPart))) for role, parts in found]


def known(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that have a value."""
    return {name: value for name, value in values.items() if value is not None}
