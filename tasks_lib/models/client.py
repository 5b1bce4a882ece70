"""The client of chat endpoints: one request a reply, tried again where that can help, in its provider's dialect."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tasks_lib.models._failures import LOG, TryFailedError
from tasks_lib.models._wire import Seen, Wire
from tasks_lib.models.dialects import DIALECTS, ChatReply
from tasks_lib.models.dialects.reply import one_line
from tasks_lib.models.messages import ImagePart, Message, OpaquePart, Part, TextPart, ToolCallPart, ToolSpec
from tasks_lib.models.protocol import Completion, DeadlineError, Exchange, Gate
from tasks_lib.models.redaction import Redactor
from tasks_lib.models.retries import RetryPolicy
from tasks_lib.models.settings import ImageSettings, ModelSettings
from tasks_lib.records import now
from tasks_lib.records.errors import ConfigurationError, EndpointError, TransientEndpointError

# Above this share of the caller's time, waiting at the gate makes running out of time no fault of the caller.
_GATE_SHARE = 0.05
_LONGEST_WHY = 500


class HttpChat:
    """A chat model behind an HTTP endpoint, spoken to in the dialect of ``settings.provider``.

    Parameters
    ----------
    name : str
        The model's name in the settings.
    settings : ModelSettings
        Where it answers and how it is asked.
    api_key : str, optional
        The key; by default the value of the variable ``settings.api_key_env``.
    environ : mapping, optional
        The environment; the process's own by default.
    retries : RetryPolicy, optional
        By default after ``settings.attempts`` and ``settings.seed``.
    gate : Gate, optional
        Asked for a place before each try.
    on_exchange : callable, optional
        Told of each try when it is over.
    sleep, clock : callable
        Time, for tests.

    Raises
    ------
    ConfigurationError
        If the variable of the key is not set.
    """

    def __init__(
        self,
        name: str,
        settings: ModelSettings,
        *,
        api_key: str | None = None,
        environ: Mapping[str, str] | None = None,
        retries: RetryPolicy | None = None,
        gate: Gate | None = None,
        on_exchange: Callable[[Exchange], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        found = os.environ if environ is None else environ
        key = api_key
        if key is None and settings.api_key_env is not None:
            key = found.get(settings.api_key_env, "").strip()
            if not key:
                msg = f"model {name!r} needs a key: set the environment variable {settings.api_key_env}"
                raise ConfigurationError(msg)
        if key is not None and not (key.isascii() and key.isprintable()):
            msg = f"the key of model {name!r} holds characters that no HTTP header can carry: set it anew"
            raise ConfigurationError(msg)
        self._name = name
        self._settings = settings
        self._retries = retries or RetryPolicy(attempts=settings.attempts, seed=settings.seed or 0)
        self._gate = gate
        self._on_exchange = on_exchange
        self._sleep = sleep
        self._clock = clock
        self._redactor = Redactor.from_environment(found) | Redactor([key] if key else [])
        self._wire = Wire(settings, key, clock)

    @property
    def name(self) -> str:
        """The model's name in the settings."""
        return self._name

    @property
    def image(self) -> ImageSettings:
        """How pictures are to be prepared for it."""
        return self._settings.image

    def complete(
        self, messages: Sequence[Message], *, tools: Sequence[ToolSpec] = (), seconds: float | None = None
    ) -> Completion:
        """Ask once, and again while the failure is one that passes; see `ChatModel.complete`."""
        started = self._clock()
        body = self.request_body(messages, tools)
        attempt, waited = 0, 0.0
        while True:
            attempt += 1
            left = None if seconds is None else seconds - (self._clock() - started)
            if left is not None and left <= 0 and attempt == 1:
                raise DeadlineError(self._say("no time is left to ask", "give the stage a larger budget in seconds"))
            waited += self._enter(left)
            sent = self._clock()
            left = None if seconds is None else seconds - (sent - started)
            # Time that went to failures and to the gate is no fault of the caller.
            own = attempt == 1 and (seconds is None or waited <= _GATE_SHARE * seconds)
            found = self._try_once(body, attempt, left, own=own)
            if isinstance(found, ChatReply):
                lost = waited if attempt == 1 else sent - started
                return self._completion(found, attempts=attempt, seconds=self._clock() - started, lost=lost)
            if found.of_caller:
                raise DeadlineError(self._say(found.why, found.advice))
            if not found.transient:
                raise EndpointError(self._say(found.why, found.advice))
            wait = self._retries.wait(attempt, found.retry_after)
            left = None if seconds is None else seconds - (self._clock() - started)
            if wait is None or (left is not None and wait >= left):
                tries = f"after {attempt} {'try' if attempt == 1 else 'tries'}"
                raise TransientEndpointError(self._say(found.why, found.advice, tries))
            self._sleep(wait)

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        self._wire.close()

    def request_body(self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> dict[str, Any]:
        """Return the JSON of a request.

        Raises
        ------
        ConfigurationError
            If there is a picture, and the model's settings say that it takes none.
        """
        if not self.image.enabled and any(isinstance(part, ImagePart) for one in messages for part in one.parts):
            msg = (
                f"model {self._name!r} is to be shown a picture, but `image.enabled` is false: play stages without "
                "pictures with it, or set `image.enabled = true` if it takes them"
            )
            raise ConfigurationError(msg)
        return DIALECTS[self._settings.provider].write(messages, self._settings, tools)

    def _enter(self, left: float | None) -> float:
        if self._gate is None:
            return 0.0
        try:
            return self._gate.enter(left)
        except DeadlineError as error:
            why = f"no place among the calls at a time came free in the time that was left ({error})"
            advice = "lower the number of episodes at a time, or raise `max_concurrency`"
            raise TransientEndpointError(self._say(why, advice)) from None

    def _try_once(
        self, body: Mapping[str, Any], attempt: int, left: float | None, *, own: bool
    ) -> ChatReply | TryFailedError:
        limit = self._settings.read_seconds
        of_caller = left is not None and left < limit
        if left is not None and of_caller:
            limit = left
        began, started = now(), self._clock()
        found: ChatReply | TryFailedError | None = None
        seen = Seen()
        try:
            if limit > 0:
                found, seen = self._wire.ask(body, limit, of_caller=of_caller and own)
            else:
                found = TryFailedError("no time is left for another try", LOG)
        finally:
            if self._gate is not None:
                failure = found if isinstance(found, TryFailedError) else None
                self._gate.leave(
                    throttled=failure is not None and failure.throttled,
                    retry_after=None if failure is None else failure.retry_after,
                )
        if self._on_exchange is not None and limit > 0:
            self._on_exchange(
                Exchange(
                    dialect=self._settings.provider,
                    url=self._wire.url,
                    attempt=attempt,
                    request=self._hide(body),
                    status=seen.status,
                    reply=self._redactor(seen.reply),
                    error=self._redactor(found.why) if isinstance(found, TryFailedError) else "",
                    seconds=self._clock() - started,
                    started=began,
                    streamed=seen.streamed,
                )
            )
        return found

    def _completion(self, reply: ChatReply, *, attempts: int, seconds: float, lost: float) -> Completion:
        usage = reply.usage
        if self._settings.price_per_million is not None:
            usage = usage.model_copy(update={"cost": self._settings.price_per_million.cost(usage)})
        parts = tuple(map(self._hide_in_part, reply.parts))
        return Completion(
            text=self._redactor(reply.text),
            reasoning=self._redactor(reply.reasoning),
            usage=usage,
            finish_reason=reply.finish_reason and self._redactor(reply.finish_reason),
            model=reply.model and self._redactor(reply.model),
            seconds=seconds,
            attempts=attempts,
            lost=lost,
            calls=tuple(part.call for part in parts if isinstance(part, ToolCallPart)),
            turn=Message("assistant", parts),
            refused=reply.refused,
        )

    def _hide_in_part(self, part: Part) -> Part:
        if isinstance(part, TextPart):
            return TextPart(self._redactor(part.text))
        if isinstance(part, OpaquePart):
            return replace(part, data=self._hide(part.data))
        if isinstance(part, ToolCallPart):
            call = part.call
            return ToolCallPart(
                replace(
                    call,
                    id=self._redactor(call.id),
                    name=self._redactor(call.name),
                    raw=self._redactor(call.raw),
                    arguments=None if call.arguments is None else self._hide(call.arguments),
                    problem=self._redactor(call.problem),
                )
            )
        return part

    def _hide(self, value: Any) -> Any:
        """Return JSON whose texts hold no secret."""
        if isinstance(value, str):
            return self._redactor(value)
        if isinstance(value, Mapping):
            return {self._redactor(str(key)): self._hide(inner) for key, inner in value.items()}
        return [self._hide(inner) for inner in value] if isinstance(value, list | tuple) else value

    def _say(self, why: str, advice: str, tries: str = "") -> str:
        """Return a message; what an endpoint said is cut only when secrets are out of it."""
        told = one_line(self._redactor(why), _LONGEST_WHY) + (f" {tries}" if tries else "")
        model = f"model {self._name!r} ({self._settings.model} at {self._settings.base_url})"
        return self._redactor(f"{model}: {told}: {advice}")
