"""The client of chat endpoints: one request a reply, tried again where that can help, in its provider's dialect."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from tasks_lib.models._deadline import OverdueError, within
from tasks_lib.models.dialects import DIALECTS, BrokenReplyError, error_text, retry_delay
from tasks_lib.models.messages import Message, ToolSpec
from tasks_lib.models.protocol import Completion, DeadlineError, Exchange, Gate
from tasks_lib.models.redaction import Redactor
from tasks_lib.models.retries import RetryPolicy, retry_after_seconds
from tasks_lib.models.settings import ImageSettings, ModelSettings
from tasks_lib.records.errors import ConfigurationError, EndpointError, TransientEndpointError

# A reply of a chat model is some kilobytes; a longer body is a fault or an attack.
LARGEST_BODY = 32 * 1024 * 1024
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_TRANSIENT = frozenset({408, 409, 425, 429})
_ADVICE = {
    400: "check the model's settings (image size, seed, max_tokens, extra_body) against what the endpoint takes",
    401: "set the variable of `api_key_env` to a valid key",
    402: "the account has no credit left",
    403: "the key may not use this model: check its rights",
    404: "check `base_url` (what comes after it is added here), `provider` and `model`",
    413: "the request is too large: lower `image.max_long_edge`",
    422: "check the model's settings (image, seed, max_tokens, extra_body) against what the endpoint takes",
    429: "wait, or lower the number of episodes at a time",
}


class _TransientError(Exception):
    """A try failed in a way that passes; carries what to say, and how long the endpoint wants to be left alone."""

    def __init__(self, why: str, advice: str, retry_after: float | None = None) -> None:
        super().__init__(why)
        self.why, self.advice, self.retry_after = why, advice, retry_after


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
        self._dialect = DIALECTS[settings.provider]
        self._url = settings.base_url + self._dialect.path.format(model=quote(settings.model, safe=""))
        self._headers = self._dialect.headers_with(key)
        self._client: httpx.Client | None = None

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
        body = self.request_body(messages)
        attempt = 0
        while True:
            attempt += 1
            tried = self._clock()
            left = None if seconds is None else seconds - (self._clock() - started)
            try:
                raw = self._try_once(body, left, first=attempt == 1)
                reply = self._dialect.read(raw)
            except BrokenReplyError as error:
                failure = _TransientError(f"broken reply: {error}", "see the log of the endpoint")
            except _TransientError as error:
                failure = error
            else:
                usage = reply.usage
                if self._settings.price_per_million is not None:
                    usage = usage.model_copy(update={"cost": self._settings.price_per_million.cost(usage)})
                return Completion(
                    text=self._redactor(reply.text),
                    reasoning=self._redactor(reply.reasoning),
                    usage=usage,
                    finish_reason=reply.finish_reason,
                    model=reply.model,
                    seconds=self._clock() - started,
                    attempts=attempt,
                    lost=tried - started,
                )
            wait = self._retries.wait(attempt, failure.retry_after)
            left = None if seconds is None else seconds - (self._clock() - started)
            if wait is None or (left is not None and wait >= left):
                tries = f"after {attempt} {'try' if attempt == 1 else 'tries'}"
                raise TransientEndpointError(self._say(f"{failure.why} {tries}", failure.advice))
            self._sleep(wait)

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def request_body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """Return the JSON of a request."""
        return self._dialect.write(messages, self._settings)

    def _try_once(self, body: dict[str, Any], left: float | None, *, first: bool) -> bytes:
        limit = self._settings.read_seconds
        of_caller = left is not None and left < limit
        if left is not None and of_caller:
            limit = left
        if limit <= 0:
            if not first:
                raise _TransientError("no time is left for another try", "see the log of the endpoint")
            raise DeadlineError(self._say("no time is left to ask", "give the stage a larger budget in seconds"))
        abandoned = threading.Event()
        try:
            return within(limit, lambda: self._post(body, limit, abandoned), abandoned.set)
        except (OverdueError, httpx.ReadTimeout) as error:
            if of_caller and first:
                why = f"no whole reply within the {limit:.3g} s that were left of the budget"
                raise DeadlineError(self._say(why, "give the stage a larger budget in seconds")) from None
            why = f"no whole reply within {limit:.3g} s ({type(error).__name__})"
            raise _TransientError(why, "see whether it is overloaded, or raise `read_seconds`") from None
        except httpx.ConnectError as error:
            raise _TransientError(f"cannot connect ({error})", "start the server, or check `base_url`") from None
        except httpx.TimeoutException as error:
            raise _TransientError(f"{type(error).__name__}", "see whether the server is overloaded") from None
        except httpx.DecodingError as error:
            raise _TransientError(f"broken reply: {error}", "see the log of the endpoint") from None
        except httpx.TransportError as error:
            raise _TransientError(f"the connection was cut ({error})", "see the log of the endpoint") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EndpointError(self._say(f"{type(error).__name__}: {error}", "check `base_url`")) from None

    def _post(self, body: dict[str, Any], limit: float, abandoned: threading.Event) -> bytes:
        timeout = httpx.Timeout(limit, connect=min(limit, 10.0))
        with self._open().stream("POST", self._url, json=body, headers=self._headers, timeout=timeout) as response:
            chunks, size = [], 0
            for chunk in response.iter_bytes():
                size += len(chunk)
                if abandoned.is_set():
                    return b""
                if size > LARGEST_BODY:
                    why = f"a reply of more than {LARGEST_BODY // 2**20} MiB"
                    raise EndpointError(self._say(why, "check that `base_url` is a chat endpoint"))
                chunks.append(chunk)
        raw = b"".join(chunks)
        status = response.status_code
        if response.is_success:
            return raw
        said, code = error_text(self._redactor(raw.decode("utf-8", "replace")).encode())
        why = f"status {status} {response.reason_phrase}".rstrip() + (f" ({said})" if said else "")
        if status == 429 and "insufficient_quota" in code:
            raise EndpointError(self._say(why, _ADVICE[402]))
        if status in _TRANSIENT or status >= 500:
            advice = _ADVICE.get(status, "see the log of the endpoint")
            asked = retry_after_seconds(response.headers.get("Retry-After"))
            raise _TransientError(why, advice, retry_delay(raw) if asked is None else asked)
        if response.is_redirect:
            raise EndpointError(self._say(why, "redirects are not followed: put the final address into `base_url`"))
        raise EndpointError(self._say(why, _ADVICE.get(status, "see the documentation of the endpoint")))

    def _open(self) -> httpx.Client:
        if self._client is None:
            # A proxy of the environment must not be asked for an endpoint on this very host.
            local = urlsplit(self._url).hostname in _LOOPBACK
            self._client = httpx.Client(trust_env=not local, follow_redirects=False)
        return self._client

    def _say(self, why: str, advice: str) -> str:
        return self._redactor(
            f"model {self._name!r} ({self._settings.model} at {self._settings.base_url}): {why}: {advice}"
        )
