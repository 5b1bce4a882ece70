"""What Nion Swift finds at its start: an empty project that is open, and dialogs that begin in the work folder.

Left alone it asks for a project first, and proposes one that is named after the day.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

# Where its Qt keeps settings and data of the application "Nion Swift" of the organisation "Nion".
_CONFIGURATION = ".config/Nion/Nion Swift/nionswift_appdata.json"
_DATA = ".local/share/Nion/Nion Swift"
_PROJECT = f"{_DATA}/micrographs.nsproj"
# Ids of our own; fixed, so that two machines hold the same bytes.
_PROFILE_ID = "6e5f9f55-6c0d-4f0e-9c4a-0d6a2f6c1a01"
_REFERENCE_ID = "6e5f9f55-6c0d-4f0e-9c4a-0d6a2f6c1a02"
_PROJECT_ID = "6e5f9f55-6c0d-4f0e-9c4a-0d6a2f6c1a03"
_WORKSPACE_ID = "6e5f9f55-6c0d-4f0e-9c4a-0d6a2f6c1a04"
_PANEL_ID = "6e5f9f55-6c0d-4f0e-9c4a-0d6a2f6c1a05"
_LAYOUT_ID = "6e5f9f55-6c0d-4f0e-9c4a-0d6a2f6c1a06"
_MADE = "2026-01-01T00:00:00"
# Preferences carry the number of their format.
_DIALOGS = ("3/import_directory", "3/export_directory", "3/open_directory", "3/project_directory")


def nion_files(home: str, work: str) -> Mapping[str, str]:
    """Return the files that Nion Swift reads, by their path below the home folder.

    Parameters
    ----------
    home, work : str
        Home and work folder as the program sees them.
    """
    reference = {
        "type": "project_index",
        "uuid": _REFERENCE_ID,
        "project_uuid": _PROJECT_ID,
        "project_path": f"{home}/{_PROJECT}",
        "modified": _MADE,
        "last_used": _MADE,
    }
    profile = {
        "version": 2,
        "uuid": _PROFILE_ID,
        "modified": _MADE,
        "script_items_updated": True,
        "project_references": [reference],
        "last_project_reference": _REFERENCE_ID,
    }
    workspace = {
        "type": "workspace",
        "uuid": _WORKSPACE_ID,
        "name": "Workspace",
        "layout": {"type": "image", "identifier": "A", "uuid": _PANEL_ID, "selected": True},
        "workspace_id": _LAYOUT_ID,
        "modified": _MADE,
    }
    project = {
        "version": 3,
        "uuid": _PROJECT_ID,
        "project_data_folders": ["micrographs Data"],
        "modified": _MADE,
        "workspaces": [workspace],
        "workspace_uuid": _WORKSPACE_ID,
    }
    return {
        _CONFIGURATION: json.dumps({"preference-values": dict.fromkeys(_DIALOGS, work)}),
        f"{_DATA}/Profile.nsproj": json.dumps(profile),
        _PROJECT: json.dumps(project),
    }
