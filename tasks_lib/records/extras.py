"""The command that adds an extra to the environment at hand, for the errors that ask for one."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def install_command(extra: str) -> str:
    """Return a line that a shell takes as it stands.

    It names the interpreter that runs: a bare ``pip`` may well belong to another environment.

    Parameters
    ----------
    extra : str
        An extra of ``pyproject.toml``, such as ``m3``.
    """
    python = Path(sys.executable)
    if python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    return f"{shlex.quote(str(python))} -m pip install 'matassay[{extra}]'"
