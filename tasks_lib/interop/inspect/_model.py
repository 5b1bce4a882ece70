"""Inspect's model behind our protocol: our loop asks it from a thread, and it answers in Inspect's event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Sequence
from typing import Any

from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
    Model,
)
from inspect_ai.util import LimitExceededError

from tasks_lib.interop._pictures import data_uri
from tasks_lib.models import Completion, DeadlineError, ImagePart, ImageSettings, Message, TextPart, ToolSpec
from tasks_lib.records import Usage
from tasks_lib.records.errors import ConfigurationError, EndpointError

_KINDS = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


class InspectChat:
    """A `ChatModel` over the model of an ``inspect eval``; its retries, cache and limits are Inspect's.

    Parameters
    ----------
    model : inspect_ai.model.Model
    loop : asyncio.AbstractEventLoop
        In which Inspect runs.
    """

    def __init__(self, model: Model, loop: asyncio.AbstractEventLoop) -> None:
        self.name = str(model)
        self.image = ImageSettings()
        self.limit: LimitExceededError | None = None
        """The limit of Inspect's that ended the sample."""
        self._model = model
        self._loop = loop
        self._stop = threading.Event()

    def complete(
        self, messages: Sequence[Message], *, tools: Sequence[ToolSpec] = (), seconds: float | None = None
    ) -> Completion:
        """Ask once; to be called from another thread than Inspect's.

        Raises
        ------
        DeadlineError
            If `seconds` passed.
        EndpointError
            If Inspect has given the model up, or ended the sample.
        ConfigurationError
            If tools are given: through Inspect a model answers in blocks.
        """
        if tools:
            msg = "through Inspect a model answers in blocks: set the agent setting replies=blocks"
            raise ConfigurationError(msg)
        started = time.monotonic()
        # No reply is asked for beyond the stage's time: Inspect's own time-out would count from each try.
        asking = asyncio.run_coroutine_threadsafe(self._ask([_said(message) for message in messages]), self._loop)
        while True:
            try:
                output = asking.result(timeout=0.5)
                break
            except concurrent.futures.TimeoutError:
                if self._stop.is_set():
                    asking.cancel()
                    msg = "Inspect has ended the sample"
                    raise EndpointError(msg) from None
                if seconds is not None and time.monotonic() - started >= seconds:
                    asking.cancel()
                    msg = f"no reply within {seconds:.0f} s"
                    raise DeadlineError(msg) from None
            except concurrent.futures.CancelledError:
                msg = "Inspect has ended the sample"
                raise EndpointError(msg) from None
            except LimitExceededError as error:
                self.limit = error
                msg = f"a limit of Inspect's is reached: {error}"
                raise EndpointError(msg) from error
            except Exception as error:  # each provider of Inspect's raises its own
                msg = f"{self.name} does not answer ({type(error).__name__}: {error}): see Inspect's log"
                raise EndpointError(msg) from error
        return Completion(
            text=output.completion,
            reasoning=_reasoning(output),
            usage=_usage(output.usage),
            finish_reason=output.stop_reason,
            model=output.model,
            seconds=time.monotonic() - started,
        )

    async def _ask(self, messages: list[Any]) -> Any:
        return await self._model.generate(messages, config=GenerateConfig())

    def stop(self) -> None:
        """Let whoever waits for a reply wait no longer."""
        self._stop.set()

    def close(self) -> None:
        """Nothing is held."""


def _said(message: Message) -> Any:
    content: list[Any] = []
    for part in message.parts:
        if isinstance(part, TextPart):
            content.append(ContentText(text=part.text))
        elif isinstance(part, ImagePart):
            content.append(ContentImage(image=data_uri(part.data, part.media_type)))
    return _KINDS[message.role](content=content)


def _reasoning(output: Any) -> str:
    content = output.message.content if output.choices else ""
    if isinstance(content, str):
        return ""
    return "\n".join(part.reasoning for part in content if part.type == "reasoning" and not part.redacted)


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    cached = usage.input_tokens_cache_read
    return Usage(
        input_tokens=usage.input_tokens + (cached or 0) + (usage.input_tokens_cache_write or 0),
        output_tokens=usage.output_tokens,
        cached_tokens=cached,
        cost=usage.total_cost,
    )
