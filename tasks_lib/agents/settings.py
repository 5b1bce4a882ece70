"""How a model is asked: what it is shown, in which form it answers, what it is reminded of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import Field, ValidationError

from tasks_lib.records import Budget, Record
from tasks_lib.records.errors import ConfigurationError

# Key of a manifest's settings under which they stand.
SETTING = "agent"
_NOTHING = frozenset({"", "none", "null"})


class AgentSettings(Record):
    """The table ``[agent]`` of ``matassay.toml``; recorded in the manifest, a part of what two runs have in common."""

    replies: Literal["blocks", "tools"] = Field(
        default="blocks", description="fenced blocks in the text, or native tool calls"
    )
    marks: Literal["none", "accessibility", "detected"] = Field(
        default="none", description="numbered marks on the screenshot, and where they are taken from"
    )
    prompt: Literal["plain", "careful", "short"] = Field(default="plain", description="variant of the system prompt")
    help: Literal["template+hints", "hints", "bare"] = Field(
        default="hints", description="a template script for figures and hints, hints alone, or neither"
    )
    history: int = Field(default=3, ge=0, le=20, description="earlier blocks that a fresh conversation shows again")
    previous_screenshot: bool = Field(default=False, description="show the screen before the last reply as well")
    conversation: Literal["fresh", "kept"] = Field(
        default="fresh", description="each step by itself, or the whole conversation so far"
    )
    context_tokens: int | None = Field(
        default=None, ge=1000, description="a kept conversation is trimmed to about so many tokens; None: never"
    )
    steps: int | None = Field(default=None, ge=1, le=500, description="replies at most, if a stage allows more")
    stop_repetition: int | None = Field(
        default=None, ge=2, le=500, description="end a stage after so many repeats; None: go on"
    )

    @property
    def hints(self) -> bool:
        """Whether hints are told; stages are set up for the same."""
        return self.help != "bare"

    def told(self, *, hints: bool) -> Self:
        """Return the settings of a run with or without hints: without them the help is ``bare``."""
        return self if hints or not self.hints else self.model_copy(update={"help": "bare"})

    def budget(self, stage: Budget) -> Budget:
        """Return a stage's budget, its steps cut to `steps`; they are never raised."""
        if self.steps is None or self.steps >= stage.steps:
            return stage
        return stage.model_copy(update={"steps": self.steps})


def agent_settings(table: Mapping[str, Any] | None, assignments: Sequence[str] = ()) -> AgentSettings:
    """Read the settings of agents from a table, and from a command line that overrides it.

    Parameters
    ----------
    table : mapping or None
        As in ``matassay.toml`` or a manifest; None for the defaults.
    assignments : sequence of str
        Each ``KEY=VALUE``; the last of a key counts. A number that may be missing is taken away by ``KEY=none``.

    Raises
    ------
    ConfigurationError
        If a key is unknown or a value does not fit; the message names key, value and what is possible.
    """
    given = dict(table or {})
    for assignment in assignments:
        key, sign, value = assignment.partition("=")
        key, value = key.strip(), value.strip()
        if not sign or not key:
            msg = f"agent setting {assignment!r} is no KEY=VALUE: write e.g. history=5"
            raise ConfigurationError(msg)
        optional = key in AgentSettings.model_fields and AgentSettings.model_fields[key].default is None
        given[key] = None if optional and value.lower() in _NOTHING else value
    try:
        return AgentSettings.model_validate(given)
    except ValidationError as error:
        raise ConfigurationError("\n".join(map(_explained, error.errors(include_url=False)))) from None


def _explained(fault: Any) -> str:
    key = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        return f"agent setting {key!r}: no such setting; known are {', '.join(sorted(AgentSettings.model_fields))}"
    return f"agent setting {key} = {fault['input']!r}: {fault['msg']}: see docs/agents.md"
