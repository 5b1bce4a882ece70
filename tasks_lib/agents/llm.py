"""Agents that ask a chat model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tasks_lib.agents.prompts import system_prompt, user_prompt
from tasks_lib.agents.protocol import Reply, View
from tasks_lib.agents.settings import AgentSettings
from tasks_lib.models import (
    Canned,
    ChatModel,
    Fault,
    HttpChat,
    ImagePart,
    Message,
    ScriptedEndpoint,
    ScriptedSession,
    fit_picture,
)


class LlmAgent:
    """Asks a chat model; the stage's modality decides between the gui, the code and the figure loop.

    Each step is a fresh conversation of one system and one user message: the task comes first in every request and
    never drops out, and a request does not grow with the number of steps.

    Parameters
    ----------
    model : ChatModel
        Who is asked.
    settings : AgentSettings, optional
        How it is asked.
    name : str
        Key of the registry.
    """

    def __init__(self, model: ChatModel, *, settings: AgentSettings | None = None, name: str = "llm") -> None:
        self.name = name
        self._model = model
        self._settings = settings or AgentSettings()

    def reply(self, view: View) -> Reply:
        """Ask the model."""
        shown: tuple[int, int] | None = None
        pictures: list[ImagePart] = []
        if view.screenshot is not None:
            picture = fit_picture(view.screenshot, self._model.image)
            shown = (picture.width, picture.height)
            pictures.append(ImagePart(picture.data, picture.media_type))
        if view.figure is not None:
            try:
                figure = fit_picture(view.figure, self._model.image)
            except ValueError as error:
                # The script decides the size of the page: what is too large to show is the agent's to mend.
                view = replace(view, figure=None, feedback=f"{view.feedback}\nthe figure cannot be shown: {error}")
            else:
                pictures.append(ImagePart(figure.data, figure.media_type))
        size = shown or (view.observation.width, view.observation.height)
        completion = self._model.complete(
            [
                Message.of("system", system_prompt(view, size)),
                Message.of("user", user_prompt(view, hints=self._settings.hints), *pictures),
            ],
            seconds=view.seconds_left,
        )
        screen = (view.observation.width, view.observation.height)
        return Reply(
            text=completion.text,
            usage=completion.usage,
            reasoning=completion.reasoning,
            seconds=completion.seconds,
            lost=completion.lost,
            shown=None if shown == screen else shown,
        )

    def close(self) -> None:
        """Close the model's connections."""
        self._model.close()


class ScriptedLlmAgent(LlmAgent):
    """The model-driven agent over a local endpoint that serves a transcript: prompts, HTTP and parsing are real.

    Parameters
    ----------
    replies : iterable
        What the endpoint serves, faults among them.
    settings : AgentSettings, optional
        How it is asked.
    """

    def __init__(self, replies: Iterable[str | Canned | Fault], *, settings: AgentSettings | None = None) -> None:
        self._endpoint = ScriptedEndpoint()
        self.session: ScriptedSession = self._endpoint.open(replies)
        model = HttpChat("scripted", self.session.settings(), api_key=self.session.token, environ={})
        super().__init__(model, settings=settings, name="scripted-llm")

    def close(self) -> None:
        """Close the connections and stop the endpoint."""
        super().close()
        self._endpoint.close()
