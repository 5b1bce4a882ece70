"""What the tests of shipped tasks share: an answer, left by a run and judged."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from tasks_lib.evaluation import judge
from tasks_lib.records import BlobRef, CollectedFile, Ending, Evidence
from tasks_lib.taskdefs import LoadedTask


def earned(task: LoadedTask, content: bytes) -> int:
    """Return the points of a run that left this content under the task's one deliverable."""
    path = task.task.criteria[0].reads.path
    assert path is not None
    digest = hashlib.sha256(content).hexdigest()
    file = CollectedFile(path=path, blob=BlobRef(sha256=digest, size=len(content), media_type="text/plain"))
    evidence = Evidence(ending=Ending.DONE, steps=1, files=(file,), collected=datetime(2026, 11, 30, tzinfo=UTC))
    return judge(task.task, task.gold(), {"main": evidence}, lambda _: content).earned
