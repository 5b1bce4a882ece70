"""The dialects that endpoints of chat models speak, by the `provider` of their settings."""

from collections.abc import Mapping
from types import MappingProxyType

from tasks_lib.models.dialects.anthropic import ANTHROPIC
from tasks_lib.models.dialects.chat_completions import CHAT_COMPLETIONS
from tasks_lib.models.dialects.dialect import Assembler, Dialect
from tasks_lib.models.dialects.gemini import GEMINI
from tasks_lib.models.dialects.reply import BrokenReplyError, ChatReply, error_text, retry_delay, told_error
from tasks_lib.models.dialects.responses import RESPONSES

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {"anthropic": ANTHROPIC, "gemini": GEMINI, "openai": CHAT_COMPLETIONS, "openai-responses": RESPONSES}
)

__all__ = [
    "DIALECTS", "Assembler", "BrokenReplyError", "ChatReply", "Dialect", "error_text", "retry_delay", "told_error",
]  # fmt: skip
