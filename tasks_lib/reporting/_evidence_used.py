"""What a criterion's record rests on, by name and place, with the crops that show it."""

from __future__ import annotations

from collections.abc import Mapping

from tasks_lib.evaluation.sources import Source, source_of
from tasks_lib.records import BlobRef, Criterion, CriterionRecord, Evidence
from tasks_lib.reporting._evidence_files import EvidenceFiles, Written
from tasks_lib.reporting.explanation import EvidenceUsed


def evidence_used(
    record: CriterionRecord,
    criterion: Criterion | None,
    evidence: Mapping[str, Evidence],
    files: EvidenceFiles,
) -> tuple[EvidenceUsed, ...]:
    """Return what a criterion read, and write what can be shown of it.

    Parameters
    ----------
    record : CriterionRecord
        From the verdict.
    criterion : Criterion or None
        From the task; None where the task is another one now: the digests in the record then say what was read.
    evidence : mapping of str to Evidence
        By stage.
    files : EvidenceFiles
        Where crops go.
    """
    found = evidence.get(record.stage)
    if found is None:
        return ()
    if criterion is None:
        digests = enumerate(record.evidence, start=1)
        return tuple(_by_digest(record, digest, position, found, files) for position, digest in digests)
    source = source_of(criterion, found)
    if source.kind == "file":
        return (_file(record, criterion, str(source.path), found, files, source.note),)
    return (_screen(record, source, found, files),)


def _by_digest(
    record: CriterionRecord, digest: str, position: int, found: Evidence, files: EvidenceFiles
) -> EvidenceUsed:
    name = record.id if position == 1 else f"{record.id}.{position}"
    screen = found.final.screenshot
    if screen is not None and screen.sha256 == digest:
        written = files.screen(name, screen, None)
        return _as_used("screen", "", digest, written, "the task changed: which part was read is not known")
    entry = next((entry for entry in found.files if entry.blob.sha256 == digest), None)
    if entry is None:
        return EvidenceUsed(
            kind="blob", name=digest[:12], sha256=digest, note="no file of the evidence has this digest"
        )
    return _as_used("file", entry.path, digest, files.file(name, entry.path, entry.blob, None, record.seen), "")


def _file(
    record: CriterionRecord, criterion: Criterion, path: str, found: Evidence, files: EvidenceFiles, note: str
) -> EvidenceUsed:
    ref = found.file(path)
    if ref is None:
        return EvidenceUsed(kind="file", name=path, note=note)
    if ref.size == 0:
        return EvidenceUsed(kind="file", name=path, sha256=ref.sha256, note="the file is empty")
    return _as_used("file", path, ref.sha256, files.file(record.id, path, ref, criterion, record.seen), note)


def _screen(record: CriterionRecord, source: Source, found: Evidence, files: EvidenceFiles) -> EvidenceUsed:
    ref: BlobRef | None = found.final.screenshot
    written = Written(None, "") if ref is None else files.screen(record.id, ref, source.box)
    name = source.window or ""
    if source.kind == "windows":
        titles = [f"{'*' if window.focused else ''}{window.title}" for window in found.final.windows]
        name = "; ".join(titles) or "none was open"
    notes = [
        note for note in (source.note, written.note, "there is no final screenshot" if ref is None else "") if note
    ]
    return EvidenceUsed(
        kind="windows" if source.kind == "windows" else "screen",
        name=name,
        region=source.box,
        sha256=ref.sha256 if ref is not None and source.kind == "screen" else None,
        shown=written.where,
        note="; ".join(notes),
    )


def _as_used(kind: str, name: str, digest: str, written: Written, note: str) -> EvidenceUsed:
    notes = "; ".join(one for one in (note, written.note) if one)
    return EvidenceUsed.model_validate(
        {"kind": kind, "name": name, "sha256": digest, "shown": written.where, "note": notes}
    )
