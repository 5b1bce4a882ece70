"""Why a try of a request failed, and whether another one can help."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import httpx

from tasks_lib.models.dialects import error_text, retry_delay, told_error
from tasks_lib.models.dialects.reply import text_of_field
from tasks_lib.models.retries import retry_after_seconds

# Cut to what a line can hold only after secrets were taken out: a cut secret would not be found.
_LONGEST_ERROR = 64 * 1024
LOG = "see the log of the endpoint"
_TRANSIENT = frozenset({408, 409, 425, 429})
# Statuses by which an endpoint says that it is asked too much.
_THROTTLED = frozenset({429, 503, 529})
_NO_CREDIT = 402
_ADVICE = {
    400: "check the model's settings (image, seed, max_tokens, stream_usage, extra_body) against what it takes",
    401: "set the variable of `api_key_env` to a valid key",
    _NO_CREDIT: "the account has no credit left",
    403: "the key may not use this model: check its rights",
    404: "check `base_url` (what comes after it is added here), `provider` and `model`",
    413: "the request is too large: lower `image.max_long_edge`",
    422: "check the model's settings (image, seed, max_tokens, extra_body) against what the endpoint takes",
    429: "wait, or lower the number of episodes at a time",
}
# What an event of a stream calls an error, as the status that a reply in one piece would have had.
_STATUSES = (
    (_NO_CREDIT, ("insufficient_quota", "billing_error", "billing_hard_limit")),
    (429, ("rate_limit", "resource_exhausted", "too_many_requests")),
    (529, ("overloaded",)),
    (503, ("unavailable",)),
    (401, ("authentication", "invalid_api_key", "unauthenticated")),
    (403, ("permission",)),
    (404, ("not_found",)),
    (413, ("request_too_large",)),
    (400, ("invalid_", "bad_request", "context_length_exceeded", "failed_precondition")),
)


class TryFailedError(Exception):
    """A try failed.

    Attributes
    ----------
    why, advice : str
        What happened, and what to do about it.
    transient : bool
        Whether another try can help.
    throttled : bool
        Whether the endpoint is asked too much.
    retry_after : float or None
        How long it wants to be left alone, s.
    of_caller : bool
        Whether it was the caller's time that ran out.
    """

    def __init__(
        self,
        why: str,
        advice: str = LOG,
        *,
        transient: bool = True,
        throttled: bool = False,
        retry_after: float | None = None,
        of_caller: bool = False,
    ) -> None:
        super().__init__(why)
        self.why, self.advice, self.transient = why, advice, transient
        self.throttled, self.retry_after, self.of_caller = throttled, retry_after, of_caller


def failed_status(response: httpx.Response, raw: bytes) -> TryFailedError:
    """Judge a reply whose status is no success."""
    status = response.status_code
    said, codes = error_text(raw[:_LONGEST_ERROR], _LONGEST_ERROR)
    why = f"status {status} {response.reason_phrase}".rstrip() + (f" ({said})" if said else "")
    if response.is_redirect:
        advice = "redirects are not followed: put the final address into `base_url`"
        return TryFailedError(why, advice, transient=False)
    if status == 429 and "insufficient_quota" in codes:
        status = _NO_CREDIT
    asked = retry_after_seconds(response.headers.get("Retry-After"))
    return _judged(status, why, retry_delay(raw) if asked is None else asked)


def failed_event(event: Mapping[str, Any]) -> TryFailedError | None:
    """Judge the JSON of an event, or of a reply of status 200; None where it tells of no error."""
    kind = text_of_field(event, "type")
    inner = event.get("response") if kind == "response.failed" else event
    if not isinstance(inner, Mapping) or not (inner.get("error") or kind in {"error", "response.failed"}):
        return None
    said, codes = told_error(inner)
    known = codes.lower()
    status = next((int(code) for code in known.split() if re.fullmatch("[45][0-9]{2}", code)), 0)
    if not status:
        status = next((found for found, words in _STATUSES if any(word in known for word in words)), 500)
    named = ": ".join(part for part in (codes, said) if part)
    return _judged(status, f"an error instead of a reply ({named or 'no reason is given'})", None)


def _judged(status: int, why: str, retry_after: float | None) -> TryFailedError:
    if status in _TRANSIENT or status >= 500:
        throttled = status in _THROTTLED
        return TryFailedError(why, _ADVICE.get(status, LOG), throttled=throttled, retry_after=retry_after)
    return TryFailedError(why, _ADVICE.get(status, "see the documentation of the endpoint"), transient=False)
