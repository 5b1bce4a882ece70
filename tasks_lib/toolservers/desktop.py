"""An MCP server over the machine of one episode, so that an agent that speaks MCP is evaluated without rewriting.

Needs the extra ``mcp``. The tools are the calls of every native agent, written as replies and read by the same parser.
What a call answers is what any agent is shown after it; neither criteria nor scores are told, not even at the end.
"""

from __future__ import annotations

import base64
import json
import logging
import threading
from collections.abc import Mapping
from typing import Any

import anyio.to_thread
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ImageContent,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from tasks_lib import __version__
from tasks_lib.agents import View
from tasks_lib.agents.outside import pictures, told
from tasks_lib.agents.tool_replies import Toolbox, reply_of
from tasks_lib.episodes.asking import settings_of_agents
from tasks_lib.episodes.outside import OutsideEpisode
from tasks_lib.models import ToolCall
from tasks_lib.records import Modality

TASK, LOOK, SEVERAL = "task", "screenshot", "several"
_LOG = logging.getLogger(__name__)
_NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
_CALLS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "calls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"tool": {"type": "string"}, "arguments": {"type": "object"}},
                "required": ["tool"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["calls"],
    "additionalProperties": False,
}
_ABOUT = (
    "One task of materials science on one machine. Call task first: it says what is to be done and what is left of the "
    "budget. Every call but task and screenshot costs a step, whether it could be done or not; several does more than "
    "one call in a step. Call done when the task is finished, fail when it cannot be done; nothing can be done "
    "afterwards. Who leaves without either has given up."
)


class DesktopFace:
    """The tools of an episode.

    Parameters
    ----------
    episode : OutsideEpisode
        Under way; nobody else answers it.

    Attributes
    ----------
    server : Server
        Of the MCP SDK, for any of its transports.
    """

    def __init__(self, episode: OutsideEpisode) -> None:
        self._episode = episode
        self._settings = settings_of_agents(episode.work)
        self._one_call = threading.Lock()
        self._view: View | None = None
        self._begun = False
        self.server: Server[Any] = Server(
            "matassay-desktop",
            version=__version__,
            instructions=_ABOUT,
            on_list_tools=self._list,
            on_call_tool=self._called,
        )

    def leave(self) -> None:
        """Give up what is not done, and wait until the episode has been judged; idempotent."""
        self._episode.leave()

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return self._episode.is_over

    async def _list(self, _: ServerRequestContext[Any], __: PaginatedRequestParams | None) -> ListToolsResult:
        found = {
            TASK: Tool(
                name=TASK, description="Be told what is to be done and how things stand.", input_schema=_NOTHING
            ),
            LOOK: Tool(
                name=LOOK,
                description="See the screen as it was after your last call; call wait to let a program work on.",
                input_schema=_NOTHING,
            ),
        }
        for stage in self._episode.work.task.stages:
            for spec in self._toolbox(stage.modality).specs():
                tool = Tool(name=spec.name, description=spec.description, input_schema=dict(spec.parameters))
                found.setdefault(spec.name, tool)
        what = "Do several calls in one step, in order; all are checked before any is done."
        found[SEVERAL] = Tool(name=SEVERAL, description=what, input_schema=_CALLS)
        return ListToolsResult(tools=list(found.values()))

    async def _called(self, _: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        # A client that cancels does not undo what is being done: the thread goes on, and the next call waits for it.
        return await anyio.to_thread.run_sync(self._call, params.name, params.arguments or {}, abandon_on_cancel=True)

    def _call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        with self._one_call:
            try:
                return self._do(name, arguments)
            except Exception:  # noqa: BLE001  # logged; what is wrong with the harness is nothing for the evaluated
                _LOG.exception("the call of a tool broke")
                return _said("The machine does not answer any more: the episode is over.", error=True)

    def _do(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        if not self._begun:
            self._begun, self._view = True, self._episode.view()
        if self._view is None:
            return self._over(error=True)
        if name in (TASK, LOOK):
            if arguments:
                return _said(f"{name} takes no arguments", error=True)
            return self._told(self._view, task=name == TASK)
        toolbox = self._toolbox(self._episode.stage.modality)
        if name == SEVERAL:
            calls = _several(arguments)
            if isinstance(calls, str):
                return _said(calls, error=True)
        else:
            calls = [_tool_call(0, name, arguments)]
        stage = self._episode.stage
        self._view = self._episode.answer(reply_of("", calls, toolbox).text)
        if self._view is None:
            return self._over(error=False)
        last = self._episode.last
        failed = last is not None and (last.wasted or not all(action.ok for action in last.actions))
        return self._told(self._view, task=self._episode.stage is not stage, error=failed)

    def _told(self, view: View, *, task: bool, error: bool = False) -> CallToolResult:
        return CallToolResult(
            content=[TextContent(text=told(view, self._settings, task=task)), *(_image(png) for png in pictures(view))],
            is_error=error,
        )

    def _toolbox(self, modality: Modality) -> Toolbox:
        """Gather the tools of a stage; notes are the client's own affair."""
        whole = Toolbox.of(modality, marks=self._settings.marks != "none")
        return Toolbox(whole.computer, {name: own for name, own in whole.own.items() if name != "remember"})

    def _over(self, *, error: bool) -> CallToolResult:
        void = self._episode.void
        why = "" if void is None else f" It does not count, for a reason that is none of yours ({void.reason})."
        return _said(f"The episode is over.{why}", error=error)


def _several(arguments: Mapping[str, Any]) -> list[ToolCall] | str:
    entries = arguments.get("calls")
    if set(arguments) != {"calls"} or not isinstance(entries, list) or not entries:
        return 'several takes calls, a list such as [{"tool": "mouse_single_click", "arguments": {}}]'
    calls = []
    for number, entry in enumerate(entries):
        name = entry.get("tool") if isinstance(entry, dict) else None
        given = entry.get("arguments", {}) if isinstance(entry, dict) else None
        calls.append(_tool_call(number, name, given))
    return calls


def _tool_call(number: int, name: object, arguments: object) -> ToolCall:
    """Take a call as a client gave it; what is wrong with it is the client's to mend, and no fault of the machine."""
    if not isinstance(name, str) or not isinstance(arguments, Mapping):
        return ToolCall(str(number), "", "", None, "a call has a tool and its arguments")
    try:
        return ToolCall(str(number), name[:100], json.dumps(arguments, ensure_ascii=False), arguments)
    except (RecursionError, ValueError):
        return ToolCall(str(number), name[:100], "", None, "the arguments are nested too deeply")


def _said(text: str, *, error: bool) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=error)


def _image(png: bytes) -> ImageContent:
    return ImageContent(data=base64.b64encode(png).decode("ascii"), mime_type="image/png")
