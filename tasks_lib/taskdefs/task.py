"""A task as loaded from its folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tasks_lib.records import Task
from tasks_lib.records.errors import TaskError
from tasks_lib.taskdefs._folder import TaskFolder, read_folder
from tasks_lib.taskdefs.digests import task_digest
from tasks_lib.taskdefs.edits import edit
from tasks_lib.taskdefs.findings import Severity, TaskFileError
from tasks_lib.taskdefs.rules import Known, run_rules
from tasks_lib.taskdefs.transcript import split_transcript
from tasks_lib.taskdefs.variants import replies_for


@dataclass(frozen=True, slots=True)
class LoadedTask:
    """A task with everything that its folder holds, as it was at loading.

    Attributes
    ----------
    task : Task
        The task's document.
    folder : Path
        Where it was loaded from.
    digest : str
        SHA-256 of document, inputs and gold; see `tasks_lib.taskdefs.digests`.
    """

    task: Task
    folder: Path
    digest: str
    _files: TaskFolder = field(repr=False, compare=False)

    @property
    def id(self) -> str:
        """The task's id."""
        return self.task.id

    def gold(self) -> dict[str, bytes]:
        """Return the gold files by path relative to ``gold/``; for graders only, never for a machine."""
        return self._files.below("gold")

    def input_bytes(self, path: str) -> bytes:
        """Return an input's content, whose digest was checked at loading.

        Parameters
        ----------
        path : str
            `InputFile.path` or `InputFile.source`.

        Raises
        ------
        KeyError
            If the task has no such input.
        """
        for stage in self.task.stages:
            for item in stage.inputs:
                if path in (item.path, item.source):
                    return self._files.data[item.source]
        raise KeyError(path)

    def has_transcript(self, name: str, stage: str = "main") -> bool:
        """Tell whether the task ships a transcript of that name for a stage."""
        return self._files.transcript_name(name, stage) in self._files.transcripts

    def transcript(self, name: str, stage: str = "main", *, hints: bool = True) -> tuple[str, ...]:
        """Return the replies of a transcript.

        Parameters
        ----------
        name : {"oracle", "scripted"}
            Which transcript.
        stage : str
            Id of the stage.
        hints : bool
            Whether the set-up is that of a run with hints; replies for the other variant are left out.

        Raises
        ------
        TaskError
            If the task ships no such transcript, or one without replies.
        """
        return self._replies(name, stage, {}, hints)

    def near_miss(self, near_miss_id: str, stage: str = "main", *, hints: bool = True) -> tuple[str, ...]:
        """Return the oracle's replies with the edits of a near miss.

        Raises
        ------
        KeyError
            If the task has no such near miss.
        TaskError
            If the task ships no oracle for the stage.
        """
        found = next((item for item in self.task.near_misses if item.id == near_miss_id), None)
        if found is None:
            raise KeyError(near_miss_id)
        return self._replies("oracle", stage, found.replace, hints)

    def _replies(self, name: str, stage: str, replace: dict[str, str], hints: bool) -> tuple[str, ...]:
        file = self._files.transcript_name(name, stage)
        text = self._files.transcripts.get(file, "")
        try:
            replies = replies_for(split_transcript(edit(text, replace)), hints=hints)
        except TaskError as error:
            msg = f"{self.folder / file}: {error}"
            raise TaskError(msg) from error
        if not replies:
            msg = f"{self.folder / file}: task {self.id} has no reply in it: write the transcript or use another agent"
            raise TaskError(msg)
        return replies


def load_task(folder: str | Path) -> LoadedTask:
    """Load a task from its folder.

    Parameters
    ----------
    folder : str or Path
        ``<root>/<suite>/<domain>/<task-id>``.

    Returns
    -------
    LoadedTask
        The task; its inputs are there and have their digests.

    Raises
    ------
    TaskFileError
        If the task cannot be used; it names every file, line, rule, value and fix.
    """
    files = read_folder(Path(folder))
    findings = [*files.findings, *run_rules(files, Known(), stopping_only=True)]
    findings = [finding for finding in findings if finding.severity is Severity.ERROR]
    if findings or files.task is None:
        raise TaskFileError(findings)
    return LoadedTask(files.task, files.folder, task_digest(files.task, files.below("gold")), files)
