"""The rule on scaffolds: what `matassay new-task` wrote is filled."""

from __future__ import annotations

from collections.abc import Iterator

from tasks_lib.records import Task
from tasks_lib.taskdefs._folder import TaskFolder
from tasks_lib.taskdefs.blanks import blanks
from tasks_lib.taskdefs.rules.registry import Broken, Known, rule


@rule("unfilled", "No blank of a scaffold is left, neither in `task.yaml` nor in a transcript.")
def _unfilled(folder: TaskFolder, _task: Task, _known: Known) -> Iterator[Broken]:
    texts = {folder.file: folder.text}
    texts |= {str(folder.folder / name): text for name, text in sorted(folder.transcripts.items())}
    for file, text in texts.items():
        for line, blank in blanks(text):
            yield Broken(f"{blank} is left", "write what it asks for in its place", file=file, line=line)
