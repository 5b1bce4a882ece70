"""The static site of a run: pages, style sheet and files, readable from a local folder without a server."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files as package_files
from pathlib import Path
from typing import TypeVar

from jinja2 import Environment

from tasks_lib.models import Redactor
from tasks_lib.records import Document, Modality, RunManifest, RunSummary, Task
from tasks_lib.records.errors import ConfigurationError
from tasks_lib.reporting._export import summary_csv, summary_json
from tasks_lib.reporting._files import ReportFiles
from tasks_lib.reporting._index import HandoffRow, handoff_row, index_view
from tasks_lib.reporting._read import EpisodeReader, EpisodeTrace
from tasks_lib.reporting._render import environment
from tasks_lib.reporting._sink import FolderSink, Sink, StoreSink
from tasks_lib.reporting._text import Redact
from tasks_lib.reporting._view import EpisodeViewer
from tasks_lib.store import RunFolder, Store, runs

D = TypeVar("D", bound=Document)


def write_report(
    store: Store,
    run_id: str,
    tasks: Mapping[str, Task],
    out: Path | str | None = None,
    *,
    summary: RunSummary | None = None,
    redact: Redact | None = None,
) -> str:
    """Write the report of a run: ``index.html``, a page per episode, the files that they show.

    A second call writes the pages anew and keeps the files that are there. Screenshots are linked to the store's
    blobs where both lie on one disk, and copied otherwise.

    Parameters
    ----------
    store : Store
        Holds the run.
    run_id : str
        The run; its manifest says which episodes there are, done or not.
    tasks : mapping of str to Task
        Tasks by id, for titles and instructions; one that is missing is shown by its id.
    out : Path or str or None, optional
        A local folder (Path), a path in the store (str), or None for the run's own ``report/`` in the store.
    summary : RunSummary, optional
        The aggregate; by default the run's ``summary.json``.
    redact : callable, optional
        Takes secrets out of a text. It is called on everything that is printed and on every file that is copied; by
        default it knows the secrets of this process's environment.

    Returns
    -------
    str
        What a person opens: the local path or the URL of ``index.html``.

    Raises
    ------
    ConfigurationError
        If the store holds no such run, or the run has no summary yet.
    StoreError
        If the report cannot be written.
    """
    folder = RunFolder(store, run_id)
    manifest = _read(store, folder.manifest, RunManifest, run_id)
    current = summary or _read(store, folder.summary, RunSummary, run_id)
    sink = _sink(store, folder, out)
    site = _Site(store, manifest, current, tasks, sink, redact or Redactor.from_environment())
    site.write()
    return sink.where("index.html")


def _read(store: Store, path: str, model: type[D], run_id: str) -> D:
    try:
        return store.read_document(path, model)
    except FileNotFoundError as error:
        known = ", ".join(runs(store)) or "none"
        msg = (
            f"{path} is not in {store.url} (runs there: {known}): name one, or write it with `matassay report {run_id}`"
        )
        raise ConfigurationError(msg) from error


def _sink(store: Store, folder: RunFolder, out: Path | str | None) -> Sink:
    if isinstance(out, Path):
        return FolderSink(out)
    place = folder.report if out is None else out
    # A local store's own writes are synced to the disk one by one; a report can be made again.
    local = store.local_path(place)
    return StoreSink(store, place) if local is None else FolderSink(local)


class _Site:
    def __init__(
        self,
        store: Store,
        manifest: RunManifest,
        summary: RunSummary,
        tasks: Mapping[str, Task],
        sink: Sink,
        redact: Redact,
    ) -> None:
        self._manifest = manifest
        self._summary = summary
        self._tasks = tasks
        self._sink = sink
        self._templates: Environment = environment(redact)
        self._redact = redact
        self._reader = EpisodeReader(store, manifest.run_id)
        self._viewer = EpisodeViewer(ReportFiles(store, sink, redact), redact)

    def write(self) -> None:
        """Write everything, the first page last: while it is missing, so is something else."""
        style = package_files("tasks_lib.reporting").joinpath("templates", "style.css").read_text(encoding="utf-8")
        self._page("style.css", style)
        self._page("summary.csv", self._redact(summary_csv(self._summary)))
        self._page("summary.json", self._redact(summary_json(self._summary)))
        results = {result.id: result for result in self._summary.episodes}
        order = [spec for spec in self._manifest.episodes if spec.id in results]
        handoffs: list[HandoffRow] = []
        stale = 0
        for position, spec in enumerate(order):
            result = results[spec.id]
            trace = self._reader.read(spec, result, self._tasks.get(spec.task_id))
            stale += trace.outcome is not result.outcome
            if spec.modality is Modality.MIXED:
                handoffs.append(handoff_row(trace))
            before = order[position - 1].id if position else None
            after = order[position + 1].id if position + 1 < len(order) else None
            self._episode(trace, before, after)
        view = index_view(self._manifest, self._summary, self._tasks, handoffs, self._notes(len(order), stale))
        self._page("index.html", self._templates.get_template("index.html.j2").render(view=view, root=""))

    def _episode(self, trace: EpisodeTrace, before: str | None, after: str | None) -> None:
        page = self._templates.get_template("episode.html.j2").render(
            view=self._viewer.view(trace),
            run_id=self._manifest.run_id,
            benchmark=self._manifest.benchmark,
            before=before,
            after=after,
            root="../",
        )
        self._page(f"episodes/{trace.spec.id}.html", page)

    def _page(self, path: str, text: str) -> None:
        self._sink.write(path, text.encode("utf-8"))

    def _notes(self, shown: int, stale: int) -> list[str]:
        notes = []
        if shown < len(self._manifest.episodes):
            left_out = len(self._manifest.episodes) - shown
            notes.append(f"The summary lacks {left_out} episodes of the manifest. Write it anew: `matassay report`.")
        if stale:
            notes.append(
                f"{stale} episodes were judged after the summary was written. Write it anew: `matassay report`."
            )
        return notes
