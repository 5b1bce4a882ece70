"""The folder that keeps what is no record of a run: databases of services, logs, Python environments."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return ``MATASSAY_STATE``, or ``.state`` in the working folder, as an absolute path; it need not exist."""
    return Path(environ.get("MATASSAY_STATE") or ".state").expanduser().resolve()
