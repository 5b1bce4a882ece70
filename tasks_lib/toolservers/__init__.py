"""Tool servers: the machine of an episode, for agents that speak a protocol of their own."""

from tasks_lib.toolservers.desktop import DesktopFace
from tasks_lib.toolservers.serving import Door, serve_http, serve_stdio

__all__ = ["DesktopFace", "Door", "serve_http", "serve_stdio"]
