"""Whether a judge judges its own work, or that of its family."""

from __future__ import annotations

import re
from enum import StrEnum

_FAMILY = re.compile(r"[a-z]+")
# Names under which one maker's models go.
_MAKERS = {"chatgpt": "gpt", "o": "gpt", "gemma": "gemini", "codestral": "mistral", "mixtral": "mistral", "qwq": "qwen"}
# A release of a model is the model: -2025-08-07, -20250807, -0613, -latest, -preview.
_RELEASE = re.compile(r"(?:-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest|preview))+$")


class Kinship(StrEnum):
    """How near a judge is to the contestant."""

    SAME = "the contestant"
    FAMILY = "its family"
    NONE = "unrelated"
    UNKNOWN = "unknown"


def kinship(judge: str, contestant: str) -> Kinship:
    """Compare two names of models.

    Parameters
    ----------
    judge, contestant : str
        As endpoints know them: ``openai/gpt-5-mini-2025-08-07``. What stands before the last slash and a release at
        the end do not count; a family is the first word.

    Returns
    -------
    Kinship
        By name alone: a model behind another name is not seen.
    """
    one, other = _plain(judge), _plain(contestant)
    if not other:
        return Kinship.UNKNOWN
    if one == other:
        return Kinship.SAME
    return Kinship.FAMILY if _family(one) == _family(other) else Kinship.NONE


def _plain(name: str) -> str:
    return _RELEASE.sub("", name.strip().lower().rpartition("/")[2].partition(":")[0])


def _family(name: str) -> str:
    found = _FAMILY.search(name)
    word = found.group() if found else name
    return _MAKERS.get(word, word)
