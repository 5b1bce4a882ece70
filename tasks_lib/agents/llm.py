"""Agents that ask a chat model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tasks_lib.agents._conversation import Conversation, Told
from tasks_lib.agents.prompts import state_prompt, system_prompt, task_prompt
from tasks_lib.agents.protocol import Reply, Turn, View
from tasks_lib.agents.settings import AgentSettings
from tasks_lib.agents.tool_replies import Toolbox, ToolReply, reply_of
from tasks_lib.models import (
    Canned,
    ChatModel,
    Fault,
    HttpChat,
    ImagePart,
    Picture,
    ScriptedEndpoint,
    ScriptedSession,
    fit_picture,
)


class LlmAgent:
    """Asks a chat model; the stage's modality decides between the gui, the code and the figure loop.

    The task comes first in every request and never drops out. In a fresh conversation a request does not grow with the
    number of steps: each is a system and a user message, and the last calls with their results where tools are called.

    Parameters
    ----------
    model : ChatModel
        Who is asked. One whose settings say that it takes no pictures is told in words what is on the screen.
    settings : AgentSettings, optional
        How it is asked.
    name : str
        Key of the registry.
    """

    def __init__(self, model: ChatModel, *, settings: AgentSettings | None = None, name: str = "llm") -> None:
        self.name = name
        self._model = model
        self._settings = settings or AgentSettings()
        self._conversation = Conversation(self._settings)
        self._previous: bytes | None = None

    def reply(self, view: View) -> Reply:
        """Ask the model."""
        settings = self._settings
        toolbox = Toolbox.of(view.brief.modality, marks=settings.marks != "none")
        native = settings.replies == "tools"
        pictures, shown, note = self._pictures(view)
        told = Told(
            state_prompt(
                view, shown, settings, pictures=[picture.what for picture in pictures], history=self._history(view)
            ),
            "\n".join(filter(None, [view.feedback, note])),
            tuple(picture.part for picture in pictures),
        )
        completion = self._model.complete(
            self._conversation.request(system_prompt(view, shown, settings), task_prompt(view.brief, settings), told),
            tools=toolbox.specs() if native else (),
            seconds=view.seconds_left,
        )
        called = reply_of(completion.text, completion.calls, toolbox) if native else ToolReply(completion.text)
        self._conversation.answered(completion, called.problems)
        self._previous = view.screenshot
        screen = (view.observation.width, view.observation.height)
        return Reply(
            text=called.text,
            usage=completion.usage,
            reasoning=completion.reasoning,
            seconds=completion.seconds,
            lost=completion.lost,
            shown=None if shown == screen else shown,
        )

    def close(self) -> None:
        """Close the model's connections."""
        self._model.close()

    def _history(self, view: View) -> tuple[Turn, ...]:
        """Return the earlier blocks that a fresh conversation tells again; a kept one holds them."""
        if self._settings.conversation == "kept" or not self._settings.history:
            return ()
        # The last calls stand before their results.
        told = self._settings.replies == "tools"
        turns = [turn for turn in view.history if not (told and turn.step == view.step - 1)]
        return tuple(turns[-self._settings.history :])

    def _pictures(self, view: View) -> tuple[list[_Shown], tuple[int, int] | None, str]:
        """Return the pictures to show, the size of that of the screen, and what is to be said of one left out."""
        image = self._model.image
        if not image.enabled or view.screenshot is None:
            return [], None, ""
        found: list[_Shown] = []
        if self._settings.previous_screenshot and self._previous is not None:
            found.append(_Shown("the screen before your last reply", _part(fit_picture(self._previous, image))))
        picture = fit_picture(view.marked or view.screenshot, image)
        found.append(_Shown("the screen now", _part(picture)))
        note = ""
        if view.figure is not None:
            try:
                figure = fit_picture(view.figure, image)
            except ValueError as error:
                # The script decides the size of the page: what is too large to show is the agent's to mend.
                note = f"the figure cannot be shown: {error}"
            else:
                what = "the figure as Veusz rendered it, which is no part of the screen"
                found.append(_Shown(what, _part(figure)))
        return found, (picture.width, picture.height), note


@dataclass(frozen=True, slots=True)
class _Shown:
    """A picture of a message, and what it shows."""

    what: str
    part: ImagePart


def _part(picture: Picture) -> ImagePart:
    return ImagePart(picture.data, picture.media_type)


class ScriptedLlmAgent(LlmAgent):
    """The model-driven agent over a local endpoint that serves a transcript: prompts, HTTP and parsing are real.

    Parameters
    ----------
    replies : iterable
        What the endpoint serves, faults among them.
    settings : AgentSettings, optional
        How it is asked; it answers in blocks whatever they say, as its transcript does.
    """

    def __init__(self, replies: Iterable[str | Canned | Fault], *, settings: AgentSettings | None = None) -> None:
        self._endpoint = ScriptedEndpoint()
        self.session: ScriptedSession = self._endpoint.open(replies)
        model = HttpChat("scripted", self.session.settings(), api_key=self.session.token, environ={})
        asked = (settings or AgentSettings()).model_copy(update={"replies": "blocks"})
        super().__init__(model, settings=asked, name="scripted-llm")

    def close(self) -> None:
        """Close the connections and stop the endpoint."""
        super().close()
        self._endpoint.close()
