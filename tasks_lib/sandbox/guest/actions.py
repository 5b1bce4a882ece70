"""Every input action that the server knows, as one closed union; a body that fits none of them is refused."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Pixel = Annotated[int, Field(ge=-100_000, le=100_000)]


class _Action(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Move(_Action):
    """Move the pointer."""

    kind: Literal["move"]
    x: Pixel
    y: Pixel


class Click(_Action):
    """Click where the pointer is."""

    kind: Literal["click", "double_click", "right_click"]


class Drag(_Action):
    """Hold the left button from where the pointer is to a pixel."""

    kind: Literal["drag"]
    x: Pixel
    y: Pixel


class Scroll(_Action):
    """Turn the wheel by `notches`."""

    kind: Literal["scroll"]
    direction: Literal["up", "down"]
    notches: int = Field(default=3, ge=1, le=100)


class Press(_Action):
    """Press a key or a chord."""

    kind: Literal["press"]
    chord: str = Field(max_length=100)


class Write(_Action):
    """Type text."""

    kind: Literal["write"]
    text: str


class CopyText(_Action):
    """Put text on the clipboard; without one, copy what is selected in the focused window (Ctrl+C)."""

    kind: Literal["copy_text"]
    text: str | None = None


class Paste(_Action):
    """Paste into the focused window (Ctrl+V)."""

    kind: Literal["paste"]


class CopyImage(_Action):
    """Put a part of the screen on the clipboard as a picture."""

    kind: Literal["copy_image"]
    x: Pixel
    y: Pixel
    width: int = Field(ge=1)
    height: int = Field(ge=1)


class Launch(_Action):
    """Start a program of the machine."""

    kind: Literal["launch"]
    program: str = Field(min_length=1, max_length=200)
    arguments: tuple[Annotated[str, Field(max_length=4096)], ...] = Field(default=(), max_length=64)


class Focus(_Action):
    """Raise the window that a name means."""

    kind: Literal["focus"]
    name: str = Field(min_length=1, max_length=500)


class Maximise(_Action):
    """Give a window the whole screen."""

    kind: Literal["maximise"]
    window: int | None = None


class CloseWindow(_Action):
    """Ask a window to close."""

    kind: Literal["close_window"]
    window: int


Action = Annotated[
    Move
    | Click
    | Drag
    | Scroll
    | Press
    | Write
    | CopyText
    | Paste
    | CopyImage
    | Launch
    | Focus
    | Maximise
    | CloseWindow,
    Field(discriminator="kind"),
]
ACTION: TypeAdapter[Action] = TypeAdapter(Action)
