"""The page on which a person does a stage that takes scripts: they write, press a button, and see what came of it.

It shows what an agent is told and nothing else: the task, the feedback of the last step, the budget, the files' names.
"""

from __future__ import annotations

import base64
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from tasks_lib.agents import SCRIPT_SECONDS, View
from tasks_lib.agents.parsing import BLOCKS, LONGEST_SCRIPT
from tasks_lib.agents.prompts import task_prompt
from tasks_lib.agents.settings import AgentSettings
from tasks_lib.records import Decision, Modality, Stage

_PAGE = Path(__file__).with_name("bench.html")
_ELSEWHERE = 4001  # of the codes that are free for applications; the page knows it
_LARGEST_FIGURE = 8 * 2**20
_MOST_FILES = 200
_LONGEST_FAULT = 200
_GOODBYE = 3.0  # s that a window has to take its leave when another one has come
_BACKTICKS = re.compile(r"`{3,}")


class _Said(BaseModel):
    """What a page sends."""

    model_config = ConfigDict(extra="forbid", strict=True)

    do: Literal["run", "done", "fail"]
    kind: Literal["python", "veusz"] = "python"
    script: str = Field(default="", max_length=LONGEST_SCRIPT)


class Bench:
    """The page of one stage; see `tasks_lib.sandbox.viewing.Bench`.

    Parameters
    ----------
    stage : Stage
    settings : AgentSettings
        Whether hints are told.
    tell : callable
        Gets a sentence when the person comes or goes.
    """

    def __init__(self, stage: Stage, settings: AgentSettings, tell: Callable[[str], None]) -> None:
        self._stage = stage
        self._settings = settings
        self._tell = tell
        self._changed = threading.Condition()
        self._state: dict[str, Any] | None = None
        self._version = 0
        self._until = 0.0
        self._said = ""
        self._asking = False
        self._reply: str | None = None
        self._there: ServerConnection | None = None
        self._closed = False

    def ask(self, view: View, *, step: int, steps_left: int, files: Sequence[str], said: str = "") -> None:
        """Show how things stand, and wait for the person; `taken` tells when they have answered.

        Parameters
        ----------
        view : View
            What an agent would be shown.
        step, steps_left : int
            With the steps that hands have done.
        files : sequence of str
            What lies in the work folder.
        said : str
            A remark.
        """
        figure = view.figure if view.figure is not None and len(view.figure) <= _LARGEST_FIGURE else None
        more = [f"… and {len(files) - _MOST_FILES} more"] if len(files) > _MOST_FILES else []
        with self._changed:
            self._until = time.monotonic() + view.seconds_left
            self._said, self._reply, self._asking = said, None, True
            self._state = {
                "stage": self._stage.id,
                "modality": self._stage.modality,
                "kinds": {kind: _tip(kind, view) for kind in BLOCKS[self._stage.modality]},
                "task": task_prompt(view.brief, self._settings),
                "step": step,
                "steps_left": steps_left,
                "files": [*files[:_MOST_FILES], *more],
                "feedback": "\n".join([view.feedback, *view.notices]).strip(),
                "figure": None if figure is None else base64.b64encode(figure).decode(),
            }
            self._show()

    def taken(self) -> str | None:
        """Return what the person answered, as a reply of an agent; None where they have not yet."""
        with self._changed:
            return self._reply

    def page(self, nonce: str) -> str:
        """Return the page."""
        text = _PAGE.read_text(encoding="utf-8")
        return text.replace("{{nonce}}", nonce).replace("{{longest}}", str(LONGEST_SCRIPT))

    def attend(self, browser: ServerConnection) -> None:
        """Serve a page until it goes, another one comes, or the bench is closed."""
        with self._changed:
            if self._closed:
                return
            before, self._there = self._there, browser
            self._changed.notify_all()
        self._tell("the person is at the page" if before is None else "the page went over to another window")
        if before is not None:
            threading.Thread(target=_dismiss, args=(before,), name="bench", daemon=True).start()
        # A page that is suspended takes nothing: it keeps this thread waiting, and not the episode.
        sender = threading.Thread(target=self._send, args=(browser,), name="bench", daemon=True)
        sender.start()
        try:
            for message in browser:
                self._hear(browser, message)
        except ConnectionClosed:
            pass
        finally:
            with self._changed:
                last = self._there is browser
                self._there = None if last else self._there
                self._changed.notify_all()
            sender.join(5.0)
            if last and not self._closed:
                self._tell("the person left the page; the same browser finds it again at the address")

    def close(self) -> None:
        """Say on the page that the stage is over, and let it go; idempotent."""
        with self._changed:
            self._closed, self._asking = True, False
            self._show()

    def _show(self) -> None:
        self._version += 1
        self._changed.notify_all()

    def _hear(self, browser: ServerConnection, message: str | bytes) -> None:
        with self._changed:
            if not self._asking or self._there is not browser:
                return  # pressed twice, or in a window that has lost the page
            try:
                self._reply = _reply(_Said.model_validate_json(message), self._stage.modality)
            except ValidationError as error:
                fault = error.errors(include_input=False)[0]
                told = " ".join([*(str(place)[:_LONGEST_FAULT] for place in fault["loc"]), fault["msg"]])
                self._said = f"That was not done: {told}"
            except ValueError as error:
                self._said = str(error)
            else:
                self._asking = False
            self._show()

    def _send(self, browser: ServerConnection) -> None:
        sent = -1
        while True:
            with self._changed:
                while self._there is browser and not self._has_news(sent):
                    self._changed.wait()
                if self._there is not browser:
                    return
                sent, message, closed = self._version, self._message(), self._closed
            try:
                if message:
                    browser.send(message)
                if closed:
                    browser.close()
                    return
            except ConnectionClosed:
                return

    def _has_news(self, sent: int) -> bool:
        return self._version != sent and (self._state is not None or self._closed)

    def _message(self) -> str:
        if self._state is None:
            return ""
        state = "over" if self._closed else "asking" if self._asking else "busy"
        left = max(0.0, self._until - time.monotonic())
        return json.dumps(self._state | {"state": state, "said": self._said, "seconds_left": left})


def _tip(kind: str, view: View) -> str:
    """Say in the empty field what is written there."""
    if kind == "veusz":
        name = view.brief.figure_name
        return f"A whole Veusz script. It makes the document anew: {name}.vsz, {name}.pdf and {name}.png."
    if view.brief.modality is Modality.FIGURE:
        return 'Calls as agents make them, such as\ncomputer.os.open_program("veusz")'
    return f"A whole Python script. It is run in the work folder, for {SCRIPT_SECONDS:.0f} s at most."


def _dismiss(browser: ServerConnection) -> None:
    """Tell a window that another one has the page; a suspended one is cut off, for it would never hear of it."""

    def cut() -> None:
        with suppress(OSError):
            browser.socket.shutdown(socket.SHUT_RDWR)

    # Whoever sends holds the connection's lock for as long as nothing is taken, and closing waits for that lock.
    last = threading.Timer(_GOODBYE, cut)
    last.daemon = True
    last.start()
    browser.close(_ELSEWHERE, "another window has this page now")
    last.cancel()


def _reply(said: _Said, modality: Modality) -> str:
    """Write what a person asks for as an agent would; ValueError where there is nothing to do."""
    if said.do != "run":
        return decided(Decision.DONE if said.do == "done" else Decision.FAIL)
    if said.kind not in BLOCKS[modality]:
        msg = f"A {modality} stage takes no {said.kind} script: reload the page."
        raise ValueError(msg)
    if not said.script.strip():
        msg = "There is nothing to run: write a script first."
        raise ValueError(msg)
    # Longer than any fence in the script, so that none ends it.
    fence = "`" * max([3, *(len(found) + 1 for found in _BACKTICKS.findall(said.script))])
    script = said.script.replace("\r\n", "\n").rstrip("\n")
    return f"{fence}{said.kind}\n{script}\n{fence}"


def decided(decision: Decision) -> str:
    """Write a decision as an agent would."""
    return f"```decision\n{decision}\n```"


__all__ = ["Bench", "decided"]
