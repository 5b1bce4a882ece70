"""One step of an agent: what it saw, what it answered, what was done and what came back."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from tasks_lib.records._document import Document, JsonValue, MaybeFloat, Record, Text, UtcTime
from tasks_lib.records.identifiers import RelativePath, Sha256


class BlobRef(Record):
    """A file in the content-addressed part of the store."""

    sha256: Sha256
    size: int = Field(ge=0, description="bytes")
    media_type: Text = "application/octet-stream"


class WindowState(Record):
    """A top-level window, as the window manager tells it."""

    id: int = Field(ge=0, description="X window id")
    title: Text
    x: int = Field(description="left edge of the client area, pixels")
    y: int = Field(description="top edge of the client area, pixels")
    width: int = Field(ge=0, description="pixels")
    height: int = Field(ge=0, description="pixels")
    focused: bool = False
    pid: int | None = Field(default=None, description="process, inside the machine")


class Observation(Record):
    """What the machine shows."""

    screenshot: BlobRef | None = None
    width: int = Field(default=0, ge=0, description="screen width, pixels")
    height: int = Field(default=0, ge=0, description="screen height, pixels")
    windows: tuple[WindowState, ...] = ()
    clipboard: Text = ""


class Mark(Record):
    """A numbered box on the picture that an agent is shown: something that can be pointed at."""

    id: int = Field(ge=1, description="the number drawn beside it")
    role: Text = Field(description="as the accessibility tree names it; text, box or icon where it was detected")
    text: Text = ""
    x: int = Field(ge=0, description="left edge on the screen, pixels")
    y: int = Field(ge=0, description="top edge on the screen, pixels")
    width: int = Field(ge=1, description="pixels")
    height: int = Field(ge=1, description="pixels")

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Left, top, width and height, pixels."""
        return self.x, self.y, self.width, self.height


class Usage(Record):
    """Tokens of one model reply; missing stays missing."""

    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    cached_tokens: int | None = Field(default=None, ge=0)
    cache_write_tokens: int | None = Field(default=None, ge=0)
    cost: MaybeFloat = Field(default=None, description="US dollars")
    from_cache: bool = Field(default=False, description="the reply was kept from an earlier request: nothing was paid")


class Decision(StrEnum):
    """What the agent says of the episode in a reply."""

    CONTINUE = "CONTINUE"
    WAIT = "WAIT"
    DONE = "DONE"
    FAIL = "FAIL"


class ActionRecord(Record):
    """One action: as it was parsed, and what became of it."""

    text: Text = Field(description="the call as the agent wrote it, or the kind of script")
    kind: Text
    arguments: dict[Text, JsonValue] = Field(default_factory=dict)
    ok: bool
    feedback: Text = ""
    seconds: float = Field(default=0.0, ge=0, description="s")


class Step(Document):
    """A line of ``trajectory.jsonl``."""

    index: int = Field(ge=1)
    started: UtcTime
    observation: Observation = Field(description="what the agent saw before it answered")
    marks: tuple[Mark, ...] = Field(default=(), description="what was numbered on the picture that the agent was shown")
    unchanged: bool | None = Field(
        default=None,
        description="the screen was as before the last reply, a caret or a clock left aside; None: unknown",
    )
    repeats: int = Field(
        default=0,
        ge=0,
        description="times in a row that this reply, alone or with up to three before it, was given again on the same"
        " screens; 0: it is new",
    )
    notices: tuple[Text, ...] = Field(default=(), description="what the agent was told besides, before it answered")
    reply: Text
    reasoning: Text = ""
    decision: Decision
    actions: tuple[ActionRecord, ...] = ()
    feedback: Text = Field(default="", description="what the agent is told of the step")
    wasted: bool = Field(default=False, description="the reply held nothing that could be done")
    shown: tuple[int, int] | None = Field(
        default=None,
        description="size of the picture that the reply's coordinates belong to, pixels; None: screen",
    )
    usage: Usage = Usage()
    model_seconds: float = Field(default=0.0, ge=0, description="time until the reply, s")
    action_seconds: float = Field(default=0.0, ge=0, description="time for the actions, s")
    settle_seconds: float = Field(default=0.0, ge=0, description="time until the pixels were still, s")


class Ending(StrEnum):
    """Why an act phase ended."""

    DONE = "done"
    GAVE_UP = "gave up"
    STEPS = "step budget"
    SECONDS = "time budget"
    TOKENS = "token budget"
    REPETITION = "repetition"


class CollectedFile(Record):
    """A file that was found in the work folder when the agent had ended."""

    path: RelativePath
    blob: BlobRef


class Evidence(Document):
    """``evidence.json``: everything that a verdict may rest on."""

    stage: Text = "main"
    ending: Ending
    steps: int = Field(ge=0)
    files: tuple[CollectedFile, ...] = ()
    missing: tuple[RelativePath, ...] = Field(default=(), description="deliverables that were not there")
    refused: tuple[Text, ...] = Field(default=(), description="files left out for size, kind or number, and why")
    final: Observation = Observation()
    collected: UtcTime

    def file(self, path: str) -> BlobRef | None:
        """Return the collected file of that path, or None."""
        return next((entry.blob for entry in self.files if entry.path == path), None)
