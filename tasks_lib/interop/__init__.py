"""Trajectories in the formats of others: logs of Inspect AI, folders as OSWorld's, conversations for fine-tuning.

Every export passes the redactor and leaves gold behind; every import is read as hostile and becomes a run whose steps
the agent ``replay`` plays. `inspect` needs the package inspect-ai, which is an extra: it is imported when it is used.
"""

from tasks_lib.interop.chat import ChatFiles, export_chat, index_of, read_chat
from tasks_lib.interop.importing import IMPORTED, Foreign, Imported, import_into
from tasks_lib.interop.osworld import export_osworld, read_osworld
from tasks_lib.interop.trajectory import Judged, Play, Trajectory, label_of, redacted, trajectories

__all__ = [
    "IMPORTED",
    "ChatFiles",
    "Foreign",
    "Imported",
    "Judged",
    "Play",
    "Trajectory",
    "export_chat",
    "export_osworld",
    "import_into",
    "index_of",
    "label_of",
    "read_chat",
    "read_osworld",
    "redacted",
    "trajectories",
]
