"""What an agent is shown and what it answers; a task's criteria and gold are no part of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Protocol

from tasks_lib.records import Mark, Modality, Observation, Stage, Usage

_FIGURES = frozenset({".vsz", ".pdf", ".png", ".svg"})


@dataclass(frozen=True, slots=True)
class Brief:
    """What an agent is told of its stage.

    Attributes
    ----------
    modality : Modality
        How the agent works.
    instruction : str
        What is to be done.
    hints : tuple of str
        Help that an agent may be given or denied.
    inputs : tuple of str
        Files in the work folder at the start.
    deliverables : tuple of (str, str)
        Path and content of each file to leave behind.
    endpoints : tuple of str
        Services that the machine reaches, by name.
    """

    modality: Modality
    instruction: str
    hints: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    deliverables: tuple[tuple[str, str], ...] = ()
    endpoints: tuple[str, ...] = ()

    @property
    def figure_name(self) -> str:
        """File name, without suffix, of a Veusz document: that of the first figure among the deliverables."""
        paths = [PurePosixPath(path) for path, _ in self.deliverables]
        found = [path.stem for path in paths if path.suffix.lower() in _FIGURES and len(path.parts) == 1]
        return next((stem for stem in found if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", stem)), "figure")

    @classmethod
    def of(cls, stage: Stage) -> Brief:
        """Take from a stage what an agent may know."""
        return cls(
            modality=stage.modality,
            instruction=stage.instruction,
            hints=stage.hints,
            inputs=tuple(entry.path for entry in stage.inputs),
            deliverables=tuple((entry.path, entry.what) for entry in stage.deliverables),
            endpoints=stage.endpoints,
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier step: its number, the block that was done, what came back."""

    step: int
    block: str
    feedback: str


@dataclass(frozen=True, slots=True)
class View:
    """What an agent knows when it is asked.

    Attributes
    ----------
    brief : Brief
        The stage.
    step : int
        Number of the reply that is asked for, from 1.
    steps_left : int
        Replies left, this one included.
    seconds_left : float
        Wall clock left, s.
    tokens_left : int or None
        Tokens left; None without a limit.
    screenshot : bytes or None
        PNG of the whole screen; None on a machine without a desktop.
    figure : bytes or None
        PNG that Veusz rendered from the last document script.
    observation : Observation
        Screen size, windows, clipboard.
    unchanged : bool
        The screen is the same as before the last reply; a blinking caret and a running clock count for nothing.
    marks : tuple of Mark
        What is numbered on `marked`, in reading order; empty where the settings ask for no marks.
    marked : bytes or None
        PNG of the screenshot with the numbers drawn into it; None without marks. It has the screenshot's size.
    notices : tuple of str
        What the loop has to say besides, such as that the agent goes round in circles; `unchanged` is no part of it.
    feedback : str
        What came of the last reply.
    memory : str
        The agent's own notes.
    history : tuple of Turn
        The last steps, oldest first.
    """

    brief: Brief
    step: int
    steps_left: int
    seconds_left: float
    tokens_left: int | None = None
    screenshot: bytes | None = field(default=None, repr=False)
    figure: bytes | None = field(default=None, repr=False)
    observation: Observation = field(default_factory=Observation)
    unchanged: bool = False
    marks: tuple[Mark, ...] = ()
    marked: bytes | None = field(default=None, repr=False)
    notices: tuple[str, ...] = ()
    feedback: str = ""
    memory: str = ""
    history: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What an agent answered.

    Attributes
    ----------
    text : str
        The reply, in the format that `parse_reply` reads.
    usage : Usage
        Tokens and cost, where a model was asked.
    reasoning : str
        What a model thought aloud.
    seconds : float
        Time until the reply, s.
    lost : float
        Time that failures of a model's endpoint took before this reply came, s.
    shown : tuple of int or None
        Width and height of the picture that the coordinates in `text` belong to, pixels; None for the screen's own.
    quiet : float or None
        How long the screen has to stand still before the next turn, s; None for as long as it takes to see what came
        of this one. An agent that does not look need not wait for a sight.
    marks : tuple of Mark or None
        The marks that the ids in `text` belong to; None for those of the view. A recorded reply brings its own.
    """

    text: str
    usage: Usage = field(default_factory=Usage)
    reasoning: str = ""
    seconds: float = 0.0
    lost: float = 0.0
    shown: tuple[int, int] | None = None
    quiet: float | None = None
    marks: tuple[Mark, ...] | None = None


class Agent(Protocol):
    """Something that works on one stage; made anew for each."""

    @property
    def name(self) -> str:
        """Key of the registry."""

    def reply(self, view: View) -> Reply:
        """Answer as a chat model would.

        Raises
        ------
        EndpointError
            If a model that is asked does not answer: the episode is VOID.
        """

    def close(self) -> None:
        """Give back what the agent holds; may be called twice."""
