"""The artifact store: documents, blobs and leases over a local folder or an S3 bucket, with one code path."""

from tasks_lib.store._store import Store
from tasks_lib.store.attempts import new_attempt
from tasks_lib.store.layout import (
    MAIN,
    AttemptFolder,
    EpisodeFolder,
    RunFolder,
    StageFolder,
    folder_name,
    judge_requests,
    kept_reply,
    night_purse,
    runs,
)
from tasks_lib.store.leases import HeldLease, acquire, expired, lease_path, new_owner, owner_has_died
from tasks_lib.store.state import state_folder

__all__ = [
    "MAIN",
    "AttemptFolder",
    "EpisodeFolder",
    "HeldLease",
    "RunFolder",
    "StageFolder",
    "Store",
    "acquire",
    "expired",
    "folder_name",
    "judge_requests",
    "kept_reply",
    "lease_path",
    "new_attempt",
    "new_owner",
    "night_purse",
    "owner_has_died",
    "runs",
    "state_folder",
]
