"""Templates to pages: everything that is printed is redacted, scrubbed and escaped, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tasks_lib.records import Outcome
from tasks_lib.reporting._advice import ADVICE
from tasks_lib.reporting._index import LETTERS
from tasks_lib.reporting._text import Redact, scrub

# No script at all, no request to anywhere; `file:` because some browsers do not count a local folder as 'self'.
POLICY = "default-src 'none'; img-src 'self' file:; style-src 'self' file:; base-uri 'none'; form-action 'none'"

# Between a number and its unit: a line must not break there.
_SPACE = "\u00a0"


def environment(redact: Redact) -> Environment:
    """Return the templates' environment.

    Parameters
    ----------
    redact : callable
        Takes secrets out of a text; called on every text that is printed.

    Returns
    -------
    Environment
        With autoescape on and a `finalize` that no template can forget.
    """
    env = Environment(
        loader=PackageLoader("tasks_lib.reporting", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalizer(redact),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    env.filters.update(
        percent=percent, number=number, seconds=seconds, tokens=tokens, size=size, time=time_of, letter=letter
    )
    env.globals.update(policy=POLICY, advice=ADVICE)
    return env


def _finalizer(redact: Redact) -> Callable[[Any], Any]:
    def finalize(value: Any) -> Any:
        # Markup comes from our own macros alone: what they print has passed through here already.
        if isinstance(value, Markup) or not isinstance(value, str):
            return value
        return scrub(redact(str(value)))

    return finalize


def percent(value: float | None) -> str:
    """Write a share of 1 in per cent; a dash where there is none."""
    return "–" if value is None else f"{100 * value:.1f}{_SPACE}%"


def number(value: float | None, digits: int = 1) -> str:
    """Write a number; a dash where there is none."""
    return "–" if value is None else f"{value:,.{digits}f}"


def seconds(value: float | None) -> str:
    """Write a duration given in seconds."""
    if value is None:
        return "–"
    if value < 120:
        return f"{value:.1f}{_SPACE}s"
    return f"{value / 60:.1f}{_SPACE}min" if value < 7200 else f"{value / 3600:.1f}{_SPACE}h"


def tokens(value: float | None) -> str:
    """Write a number of tokens; a dash where they were not counted."""
    return "–" if value is None else f"{value:,.0f}"


def size(value: int) -> str:
    """Write a number of bytes."""
    if value < 1000:
        return f"{value}{_SPACE}B"
    return f"{value / 1e3:.1f}{_SPACE}kB" if value < 1e6 else f"{value / 1e6:.1f}{_SPACE}MB"


def time_of(value: datetime) -> str:
    """Write a time in UTC, to the second."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def letter(outcome: Outcome | str | None) -> str:
    """Return the letter of an outcome, for those who do not see its colour."""
    return LETTERS[Outcome(outcome) if outcome else None]
