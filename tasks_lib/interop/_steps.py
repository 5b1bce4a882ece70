"""A step taken apart into what another format has a place for, and the rest; and put together again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from tasks_lib.agents import parse_reply
from tasks_lib.interop._faults import fault
from tasks_lib.interop._pictures import Keep, Shown
from tasks_lib.records import ActionRecord, Decision, Modality, Observation, Step, clean_json, now

# A recorded reply has at most 200 000 characters and a word on what was cut.
LONGEST_REPLY = 201_000
MOST_STEPS = 1_000


def rest_of(step: Step) -> dict[str, Any]:
    """Return what a chat message has no place for: sizes, windows, timings, what became of each action.

    References to blobs are left out, since the blobs stay behind; pictures travel in the format's own way.
    """
    rest = step.model_dump(mode="json", exclude={"reply", "reasoning"})
    rest["observation"]["screenshot"] = None
    for action in rest["actions"]:
        action["arguments"].pop("figure", None)
    return rest


@dataclass(frozen=True, slots=True)
class Told:
    """What a foreign document says of one step.

    Attributes
    ----------
    place : str
        Where it stands, for messages.
    reply : str
        What the agent answered.
    reasoning : str
    picture : Shown or None
        What it saw.
    rest : object
        What `rest_of` wrote, or None.
    started : datetime or None
    """

    place: str
    reply: str
    reasoning: str = ""
    picture: Shown | None = None
    rest: object = None
    started: datetime | None = None


def step_of(told: Told, index: int, modality: Modality, keep: Keep) -> Step:
    """Build a step that `replay` can play.

    Without the rest, what can be known is read from the reply and the picture: coordinates belong to the picture that
    was shown.

    Raises
    ------
    ConfigurationError
        If what the document says is no step; the message names the place and the field.
    """
    if len(told.reply) > LONGEST_REPLY:
        raise fault(told.place, f"a reply has at most {LONGEST_REPLY} characters, got {len(told.reply)}", "shorten it")
    picture = None if told.picture is None else keep(told.picture.data, told.picture.media_type)
    try:
        if told.rest is None:
            return _read(told, index, modality, picture)
        if not isinstance(told.rest, dict):
            raise fault(
                told.place, f"the record of a step is an object, got {type(told.rest).__name__}", "leave it out"
            )
        rest = dict(clean_json(told.rest))
        seen = rest.get("observation")
        if isinstance(seen, dict):
            rest["observation"] = {**seen, "screenshot": None if picture is None else picture.model_dump()}
        return Step.model_validate({**rest, "index": index, "reply": told.reply, "reasoning": told.reasoning})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise fault(told.place, f"{field}: {first['msg']}", "mend the field, or leave the record out") from error
    except ValueError as error:
        raise fault(told.place, str(error), "mend the record, or leave it out") from error


def _read(told: Told, index: int, modality: Modality, picture: Any) -> Step:
    parsed = parse_reply(told.reply, modality)
    size = None if told.picture is None else (told.picture.width, told.picture.height)
    return Step(
        index=index,
        started=told.started or now(),
        observation=Observation(screenshot=picture, width=size[0] if size else 0, height=size[1] if size else 0),
        reply=told.reply,
        reasoning=told.reasoning,
        decision=parsed.decision if not parsed.problems else Decision.CONTINUE,
        actions=tuple(
            ActionRecord(text=action.text, kind=action.kind, arguments=clean_json(action.arguments), ok=True)
            for action in parsed.actions
        ),
        wasted=bool(parsed.problems),
        shown=size,
    )
