"""Agents, the loop in which they work, and the reading of what they answer."""

from tasks_lib.agents._matching import THRESHOLD, Match, Search, find_target
from tasks_lib.agents._text_matching import ReadText, TextLine, find_text
from tasks_lib.agents._work import SCRIPT_SECONDS
from tasks_lib.agents.actions import CALLS, Action, read_actions
from tasks_lib.agents.guess import GuessAgent
from tasks_lib.agents.llm import LlmAgent, ScriptedLlmAgent
from tasks_lib.agents.loop import play
from tasks_lib.agents.parsing import ParsedReply, Script, parse_reply, reply_problems
from tasks_lib.agents.prompts import state_prompt, system_prompt, task_prompt
from tasks_lib.agents.protocol import Agent, Brief, Reply, Turn, View
from tasks_lib.agents.random_agent import RandomAgent
from tasks_lib.agents.registry import AGENTS, ASKED_AGENTS, MODEL_AGENTS, make_agent
from tasks_lib.agents.settings import AgentSettings, agent_settings
from tasks_lib.agents.targets import TargetAbsentError, TargetError, Targets, place_of, place_of_text
from tasks_lib.agents.transcripts import TranscriptAgent, stuck_reason

__all__ = [
    "AGENTS",
    "ASKED_AGENTS",
    "CALLS",
    "MODEL_AGENTS",
    "SCRIPT_SECONDS",
    "THRESHOLD",
    "Action",
    "Agent",
    "AgentSettings",
    "Brief",
    "GuessAgent",
    "LlmAgent",
    "Match",
    "ParsedReply",
    "RandomAgent",
    "ReadText",
    "Reply",
    "Script",
    "ScriptedLlmAgent",
    "Search",
    "TargetAbsentError",
    "TargetError",
    "Targets",
    "TextLine",
    "TranscriptAgent",
    "Turn",
    "View",
    "agent_settings",
    "find_target",
    "find_text",
    "make_agent",
    "parse_reply",
    "place_of",
    "place_of_text",
    "play",
    "read_actions",
    "reply_problems",
    "state_prompt",
    "stuck_reason",
    "system_prompt",
    "task_prompt",
]
