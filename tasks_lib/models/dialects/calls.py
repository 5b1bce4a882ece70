"""Calls of tools as models write them: read where they are sound, never guessed at where they are not."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import defaultdict
from typing import Any, NoReturn

from tasks_lib.models.dialects.reply import deeper_than
from tasks_lib.models.messages import ToolCall
from tasks_lib.records import clean_text, no_key_twice

# No tool of ours has arguments within arguments within arguments.
_DEEPEST = 32
# Some servers put the empty text that they started from behind the empty object that they mean.
_EMPTY_TWICE = re.compile(r'\{\s*\}\s*""')


def read_call(given: Any, name: Any, raw: str, position: int) -> ToolCall:
    """Read a call.

    The arguments are a JSON object, or no text at all for none. ``{}""`` is read as ``{}`` with a note. Anything else
    is a problem: such a call has no arguments and must not be executed.

    Parameters
    ----------
    given : object
        The id that the endpoint gave, if it is a text.
    name : object
        The tool.
    raw : str
        The arguments as they came.
    position : int
        Number of the call in its reply, from 0.
    """
    name = clean_text(name) if isinstance(name, str) else ""
    raw = clean_text(raw)
    if isinstance(given, str) and re.fullmatch(r"[A-Za-z0-9_.:|-]{1,128}", given):
        call_id = given
    else:
        call_id = f"call_{position}_{hashlib.sha256(f'{name} {raw}'.encode()).hexdigest()[:12]}"
    note = ""
    text = raw.strip()
    if _EMPTY_TWICE.fullmatch(text):
        note, text = f"arguments {text} were read as {{}}", "{}"
    if not name:
        return ToolCall(call_id, name, raw, None, "the call names no tool")
    try:
        arguments = json.loads(
            text or "{}", object_pairs_hook=no_key_twice, parse_constant=_not_json, parse_float=_finite
        )
        if deeper_than(_DEEPEST, arguments):
            raise RecursionError  # told as what the reader of JSON itself finds too deep
    except RecursionError:
        return ToolCall(call_id, name, raw, None, "the arguments are nested too deeply")
    except ValueError as error:
        return ToolCall(call_id, name, raw, None, f"the arguments are no valid JSON object: {error}")
    if not isinstance(arguments, dict):
        kind = "null" if arguments is None else type(arguments).__name__
        return ToolCall(call_id, name, raw, None, f"the arguments are a JSON {kind}, not an object")
    return ToolCall(call_id, name, raw, arguments, note=note)


def with_ids_of_their_own(calls: list[ToolCall]) -> list[ToolCall]:
    """Return the calls of a reply, those that bear the id of an earlier one renamed: results are told by it."""
    seen: set[str] = set()
    last: defaultdict[str, int] = defaultdict(lambda: 1)
    found = []
    for call in calls:
        call_id = call.id
        while call_id in seen:
            last[call.id] += 1
            call_id = f"{call.id}_{last[call.id]}"
        seen.add(call_id)
        found.append(ToolCall(call_id, call.name, call.raw, call.arguments, call.problem, call.note))
    return found


def arguments_text(call: ToolCall) -> str:
    """Return the arguments for the next request: as the model wrote them, if they are sound.

    What could not be read goes back as no arguments: servers that parse the history would refuse it for good.
    """
    if call.arguments is not None and not call.note and call.raw.strip():
        return call.raw
    return json.dumps(dict(call.arguments or {}), ensure_ascii=False)


def sendable(name: str) -> str:
    """Return the name of a tool for the next request: endpoints refuse a conversation in which another one stands.

    Names of our tools come back as they are; what a model made up may be anything.
    """
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "_"


def is_ours(call_id: str) -> bool:
    """Tell whether an id was made here because the endpoint gave none."""
    return re.fullmatch(r"call_\d+_[0-9a-f]{12}(?:_\d+)?", call_id) is not None


def _not_json(name: str) -> NoReturn:
    msg = f"{name} is no JSON"
    raise ValueError(msg)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        msg = f"{text} is too large a number"
        raise ValueError(msg)
    return number
