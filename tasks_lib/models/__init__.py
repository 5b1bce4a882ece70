"""Chat models of four dialects behind one protocol, their settings, and an endpoint that serves canned replies."""

from tasks_lib.models.budgeted import BudgetedChat
from tasks_lib.models.cache import CachedChat
from tasks_lib.models.client import HttpChat
from tasks_lib.models.gate import EndpointGate
from tasks_lib.models.images import Picture, fit_picture, to_screen
from tasks_lib.models.messages import (
    ImagePart,
    Message,
    OpaquePart,
    Part,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolResultPart,
    ToolSpec,
)
from tasks_lib.models.protocol import ChatModel, Completion, DeadlineError, Exchange, Gate
from tasks_lib.models.redaction import Redactor
from tasks_lib.models.request_log import RequestLog
from tasks_lib.models.retries import RetryPolicy
from tasks_lib.models.scripted import ScriptedEndpoint
from tasks_lib.models.scripted_faces import ChatFace, Face
from tasks_lib.models.scripted_replies import Canned, Fault, FaultKind, ScriptedSession
from tasks_lib.models.settings import ImageSettings, ModelSettings, Prices, find_model, load_models

__all__ = [
    "BudgetedChat",
    "CachedChat",
    "Canned",
    "ChatFace",
    "ChatModel",
    "Completion",
    "DeadlineError",
    "EndpointGate",
    "Exchange",
    "Face",
    "Fault",
    "FaultKind",
    "Gate",
    "HttpChat",
    "ImagePart",
    "ImageSettings",
    "Message",
    "ModelSettings",
    "OpaquePart",
    "Part",
    "Picture",
    "Prices",
    "Redactor",
    "RequestLog",
    "RetryPolicy",
    "ScriptedEndpoint",
    "ScriptedSession",
    "TextPart",
    "ToolCall",
    "ToolCallPart",
    "ToolResultPart",
    "ToolSpec",
    "find_model",
    "fit_picture",
    "load_models",
    "to_screen",
]
