"""Where JSON stands in a reply: fenced blocks, by the published rule and by ours, and the marks around an answer."""

from __future__ import annotations

import re

_BOX_MARKERS = re.compile(r"<\|(?:begin|end)_of_box\|>")
# The published rule finds a block in the middle of a line, and takes any word but json for a part of what is fenced.
_PUBLISHED = re.compile(r"```(?:json)?\s*\n?(.*?)```", re.DOTALL | re.IGNORECASE)
_OURS = re.compile(r"^```[a-z]*[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE)


def without_box_markers(text: str) -> str:
    """Take out the marks that some models put around an answer."""
    return _BOX_MARKERS.sub("", text)


def published_block(text: str) -> str | None:
    """Return what the first fenced block holds by the published rule; None where there is none."""
    found = _PUBLISHED.search(text)
    return found.group(1) if found else None


def fenced_blocks(text: str) -> list[str]:
    """Return what each fenced block holds whose fences stand on lines of their own."""
    return _OURS.findall(text)
