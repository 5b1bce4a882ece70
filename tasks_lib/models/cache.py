"""A chat model that is asked the same only once: its replies are kept in the store under the request's digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tasks_lib.models.messages import ImagePart, Message, ToolSpec
from tasks_lib.models.protocol import ChatModel, Completion
from tasks_lib.models.settings import ImageSettings, ModelSettings
from tasks_lib.records import KeptReply, Usage, now
from tasks_lib.records.errors import BrokenDocumentError, StoreError
from tasks_lib.store import Store, kept_reply

WriteBody = Callable[[Sequence[Message], Sequence[ToolSpec]], Mapping[str, Any]]
OnHit = Callable[[Mapping[str, Any], Completion], None]
_COMPLETION: TypeAdapter[Completion] = TypeAdapter(Completion)


def request_digest(settings: ModelSettings, body: Mapping[str, Any]) -> str:
    """Return the SHA-256 of everything that decides on a reply: dialect, address, and the whole body.

    Parameters
    ----------
    settings : ModelSettings
    body : mapping
        The JSON of the request; it names the model and holds sampling, seed, tools and pictures.
    """
    return _digest(
        {"provider": settings.provider, "base_url": settings.base_url, "model": settings.model, "body": body}
    )


class CachedChat:
    """Answers from the store what was answered before, and asks the rest.

    A reply that is kept is whole: an entry that is damaged, or of another request, is passed over and written anew. An
    entry that cannot be written is let go.

    Parameters
    ----------
    inner : ChatModel
        Who is asked.
    settings : ModelSettings
        Of the model.
    body : callable
        Writes the JSON of a request.
    store : Store
        Where the replies are kept.
    on_hit : callable, optional
        Told of each reply that was there.
    """

    def __init__(
        self,
        inner: ChatModel,
        settings: ModelSettings,
        body: WriteBody,
        store: Store,
        on_hit: OnHit | None = None,
    ) -> None:
        self._inner = inner
        self._settings = settings
        self._body = body
        self._store = store
        self._on_hit = on_hit

    @property
    def name(self) -> str:
        """The model's name in the settings."""
        return self._inner.name

    @property
    def image(self) -> ImageSettings:
        """How pictures are to be prepared for it."""
        return self._inner.image

    def complete(
        self, messages: Sequence[Message], *, tools: Sequence[ToolSpec] = (), seconds: float | None = None
    ) -> Completion:
        """Look, then ask; see `ChatModel.complete`. A reply that was there cost nothing and took no time."""
        body = self._body(messages, tools)
        digest = request_digest(self._settings, body)
        found = self._find(digest)
        if found is not None:
            if self._on_hit is not None:
                self._on_hit(body, found)
            return found
        completion = self._inner.complete(messages, tools=tools, seconds=seconds)
        self._keep(digest, completion)
        return completion

    def close(self) -> None:
        """Close what is asked."""
        self._inner.close()

    def _find(self, digest: str) -> Completion | None:
        try:
            kept = self._store.read_document(kept_reply(digest), KeptReply)
        except (FileNotFoundError, BrokenDocumentError):
            return None
        if kept.request != digest or kept.content != _digest(kept.completion):
            return None
        try:
            completion = _COMPLETION.validate_python(kept.completion)
        except ValidationError:
            # Of a release that wrote other fields.
            return None
        usage: Usage = completion.usage.model_copy(update={"cost": 0.0, "from_cache": True})
        return replace(completion, usage=usage, seconds=0.0, attempts=0, lost=0.0)

    def _keep(self, digest: str, completion: Completion) -> None:
        if any(isinstance(part, ImagePart) for part in completion.turn.parts):
            return
        try:
            content = _COMPLETION.dump_python(completion, mode="json")
            if _COMPLETION.validate_python(content) != completion:
                # Arguments with NaN, say: what does not come back as it went is asked for again.
                return
            kept = KeptReply(request=digest, content=_digest(content), kept=now(), completion=content)
        except ValueError:
            return
        # The reply is there and counts: a store that has no room for it says so elsewhere.
        with suppress(OSError, StoreError):
            self._store.write_document(kept_reply(digest), kept)


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False, default=dict)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
