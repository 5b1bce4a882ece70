"""What a model can do: one tiny call for each capability, asked of the endpoint that its settings name."""

from __future__ import annotations

import io
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from PIL import Image, ImageDraw, ImageFont

from tasks_lib.models.client import HttpChat
from tasks_lib.models.images import fit_picture
from tasks_lib.models.messages import ImagePart, Message, ToolSpec
from tasks_lib.models.protocol import Completion, Exchange
from tasks_lib.models.retries import RetryPolicy
from tasks_lib.models.settings import ModelSettings
from tasks_lib.records import Usage
from tasks_lib.records.errors import ConfigurationError, EndpointError

# Two tries tell a fault that passes from one that stays; nobody waits for more before a run.
TRIES = 2
LONGEST_CALL = 120.0  # s
_LONGEST_QUOTE = 60
_REPORT = ToolSpec(
    "report",
    "Report a number.",
    {
        "type": "object",
        "properties": {"number": {"type": "integer", "description": "the number to report"}},
        "required": ["number"],
    },
)


class Capability(StrEnum):
    """Something that a model or its endpoint may be able to do."""

    TEXT = "text"
    STREAM = "streaming"
    IMAGE = "image"
    TOOLS = "tool call"


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one capability.

    Attributes
    ----------
    capability : Capability
    works : bool or None
        None where it was not tried; `said` is the reason.
    said : str
        What came, or what is wrong and what to do about it.
    seconds : float
        Time of the call, s; streaming is seen at the text call and has no time of its own.
    usage : Usage
        As the endpoint reported it; what it did not report is None.
    failed : bool
        Whether there was no reply to look at: the endpoint is down, or refuses such requests.
    """

    capability: Capability
    works: bool | None
    said: str
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    failed: bool = False


def claimed(settings: ModelSettings, *, tools: bool = False) -> frozenset[Capability]:
    """Return what a model has to be able to do by its settings.

    Streaming is not among it: a reply in one piece is read as well.

    Parameters
    ----------
    settings : ModelSettings
    tools : bool
        Whether agents answer with native tool calls.
    """
    wanted = {Capability.TEXT}
    if settings.image.enabled:
        wanted.add(Capability.IMAGE)
    if tools:
        wanted.add(Capability.TOOLS)
    return frozenset(wanted)


def examine(
    name: str,
    settings: ModelSettings,
    wanted: Iterable[Capability] = tuple(Capability),
    *,
    api_key: str | None = None,
    environ: Mapping[str, str] | None = None,
    number: int | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[Finding, ...]:
    """Try capabilities of a model, each by one call of a few tokens.

    Text is always tried, and first: an endpoint that does not answer at all is not asked for more.

    Parameters
    ----------
    name : str
        The model's name in the settings.
    settings : ModelSettings
    wanted : iterable of Capability
    api_key, environ
        As of `HttpChat`.
    number : int, optional
        What the picture shows and what the tool is to report; by default four digits that nobody can guess.
    sleep : callable
        Waits between tries, for tests.

    Returns
    -------
    tuple of Finding
        Of text and of `wanted`, in the order of `Capability`; of text alone where the model cannot be asked at all,
        since its key is not set: that is this model's fault alone, others are tried all the same.
    """
    asked = frozenset(wanted)
    secret = secrets.randbelow(9000) + 1000 if number is None else number
    exchanges: list[Exchange] = []
    try:
        model = HttpChat(
            name,
            settings,
            api_key=api_key,
            environ=environ,
            retries=RetryPolicy(attempts=min(TRIES, settings.attempts), seed=settings.seed or 0),
            on_exchange=exchanges.append,
            sleep=sleep,
        )
    except ConfigurationError as error:
        return (Finding(Capability.TEXT, False, str(error)),)
    try:
        findings = [_try_text(model)]
        rest: Mapping[Capability, Callable[[], Finding]] = {
            Capability.STREAM: lambda: _see_stream(settings, exchanges),
            Capability.IMAGE: lambda: _try_image(model, secret),
            Capability.TOOLS: lambda: _try_tools(model, secret),
        }
        reached = not findings[0].failed
        for capability in Capability:
            if capability in asked and capability in rest:
                silent = Finding(capability, None, "not tried: the endpoint gave no reply")
                findings.append(rest[capability]() if reached else silent)
    finally:
        model.close()
    return tuple(findings)


def picture_of(number: int) -> bytes:
    """Draw a number in large black digits on white; return the PNG file."""
    image = Image.new("RGB", (320, 128), "white")
    ImageDraw.Draw(image).text((160, 64), str(number), fill="black", anchor="mm", font=ImageFont.load_default(72))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _try_text(model: HttpChat) -> Finding:
    def judge(reply: Completion) -> str:
        if reply.refused:
            return f"the model refused: {_quote(reply)}"
        if reply.text.strip():
            return ""
        thought = ", after thinking" if reply.reasoning else ""
        return (
            f"an empty reply{thought} (it ended with {reply.finish_reason!r}): raise `max_tokens`, or look at `model`"
        )

    return _ask(model, Capability.TEXT, [Message.of("user", "Answer with one word: ready")], judge)


def _see_stream(settings: ModelSettings, exchanges: Sequence[Exchange]) -> Finding:
    if not settings.stream:
        return Finding(Capability.STREAM, None, "not tried: `stream` is false")
    if exchanges[-1].streamed:
        return Finding(Capability.STREAM, True, "the text came in pieces")
    said = "the text came in one piece although a stream was asked for: only `read_seconds` limits a silent reply"
    return Finding(Capability.STREAM, False, said)


def _try_image(model: HttpChat, number: int) -> Finding:
    if not model.image.enabled:
        return Finding(Capability.IMAGE, None, "not tried: `image.enabled` is false")
    picture = fit_picture(picture_of(number), model.image)

    def judge(reply: Completion) -> str:
        if str(number) in reply.text:
            return ""
        why = f"it did not read the number {number} in a picture of it, it said {_quote(reply)}"
        return f"{why}: set `image = {{ enabled = false }}` for a model without eyes"

    question = "Which number does the picture show? Answer with its digits."
    message = Message.of("user", question, ImagePart(picture.data, picture.media_type))
    return _ask(model, Capability.IMAGE, [message], judge)


def _try_tools(model: HttpChat, number: int) -> Finding:
    def judge(reply: Completion) -> str:
        advice = 'set `replies = "blocks"` in [agent], or start the server with its parser of tool calls'
        if not reply.calls:
            return f"no call came, it said {_quote(reply)}: {advice}"
        call = reply.calls[0]
        if call.problem:
            return f"the call cannot be read ({call.problem}): {advice}"
        if call.name != _REPORT.name or call.arguments != {"number": number}:
            return (
                f"asked to call report(number={number}), it called {call.name}({call.raw[:_LONGEST_QUOTE]}): {advice}"
            )
        return ""

    message = Message.of("user", f"Call the tool `report` with the number {number}. Do not answer with text.")
    return _ask(model, Capability.TOOLS, [message], judge, [_REPORT])


def _ask(
    model: HttpChat,
    capability: Capability,
    messages: Sequence[Message],
    judge: Callable[[Completion], str],
    tools: Sequence[ToolSpec] = (),
) -> Finding:
    started = time.monotonic()
    try:
        reply = model.complete(messages, tools=tools, seconds=LONGEST_CALL)
    except EndpointError as error:
        return Finding(capability, False, str(error), time.monotonic() - started, failed=True)
    problem = judge(reply)
    return Finding(capability, not problem, problem or _answered(reply), reply.seconds, reply.usage)


def _answered(reply: Completion) -> str:
    return f"called {reply.calls[0].name}" if reply.calls else f"said {_quote(reply)}"


def _quote(reply: Completion) -> str:
    text = " ".join(reply.text.split())
    return repr(text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…")
