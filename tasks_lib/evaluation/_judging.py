"""From evidence to verdict: pure, so the same evidence gives the same bytes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from tasks_lib.evaluation._context import Context, GoldContext
from tasks_lib.evaluation._registry import GETTERS, GOLD_AS, METRICS, UNSET, Judgement, Seen, Unreadable
from tasks_lib.records import (
    BlobRef,
    Criterion,
    CriterionRecord,
    Evidence,
    Json,
    Outcome,
    Task,
    Verdict,
    clean_json,
    clean_text,
)
from tasks_lib.records.errors import EvaluatorError, MatAssayError
from tasks_lib.taskdefs.digests import task_digest as digest_of

LONGEST_TEXT = 400
LONGEST_LIST = 20
LONGEST_WHY = 600


def judge(
    task: Task,
    gold: Mapping[str, bytes],
    evidence: Mapping[str, Evidence],
    blob: Callable[[BlobRef], bytes],
    *,
    task_digest: str | None = None,
) -> Verdict:
    """Judge an episode by its evidence alone.

    Parameters
    ----------
    task : Task
        The task.
    gold : mapping of str to bytes
        Its gold files, by path relative to the gold folder.
    evidence : mapping of str to Evidence
        Stage -> what was collected after it; a stage that never ran is not in it.
    blob : callable
        Returns the bytes of a collected file.
    task_digest : str, optional
        The task's digest where it is known already, as ``LoadedTask.digest``; else it is computed.

    Returns
    -------
    Verdict
        A record per criterion, in the order of the task. What the agent did wrong is a criterion that fails.

    Raises
    ------
    EvaluatorError
        If a getter, a metric, the task or its gold is at fault; it names criterion, getter and metric.
    """
    records = tuple(_judge(task, criterion, gold, evidence, blob) for criterion in task.criteria)
    earned = sum(record.earned for record in records)
    return Verdict(
        task_id=task.id,
        task_digest=task_digest or digest_of(task, gold),
        outcome=Outcome.PASS if earned == task.points else Outcome.FAIL,
        points=task.points,
        earned=earned,
        criteria=records,
        evidence_digests={
            stage: hashlib.sha256(found.to_json().encode()).hexdigest() for stage, found in sorted(evidence.items())
        },
    )


def check_handoff(
    task: Task,
    stage_id: str,
    gold: Mapping[str, bytes],
    evidence: Evidence,
    blob: Callable[[BlobRef], bytes],
) -> list[CriterionRecord]:
    """Judge the hand-off criteria of one stage, before its artifacts are given to the next.

    Parameters
    ----------
    task, gold, blob
        As for `judge`.
    stage_id : str
        The giving stage.
    evidence : Evidence
        What was collected after the stage.

    Returns
    -------
    list of CriterionRecord
        In the order of the task; the same records stand in the verdict later.

    Raises
    ------
    EvaluatorError
        As `judge`.
    """
    return [
        _judge(task, criterion, gold, {stage_id: evidence}, blob)
        for criterion in task.criteria
        if criterion.kind == "hand-off" and criterion.stage == stage_id
    ]


def _judge(
    task: Task,
    criterion: Criterion,
    gold: Mapping[str, bytes],
    evidence: Mapping[str, Evidence],
    blob: Callable[[BlobRef], bytes],
) -> CriterionRecord:
    reads, compares = criterion.reads, criterion.compares
    place = f"criterion {criterion.id!r} of task {task.id!r} (getter {reads.getter!r}, metric {compares.metric!r})"
    faults = check_criterion(criterion)
    if faults:
        msg = f"{place}: {'; '.join(faults)}"
        raise EvaluatorError(msg)
    want = _want(criterion, gold, place)
    shown = _wanted(criterion, want)
    if criterion.stage not in evidence:
        judgement = Judgement(False, f"stage {criterion.stage} never ran: {_why_not(task, criterion.stage, evidence)}")
        return _record(criterion, judgement, None, shown, ())
    context = Context(evidence[criterion.stage], blob)
    seen: Seen | None = None
    try:
        seen = _get(reads.getter, context, reads.path, reads.arguments)
        judgement = _compare(criterion, seen, want)
    except Unreadable as reason:
        judgement = Judgement(False, str(reason))
    except EvaluatorError as error:
        msg = f"{place}: {error}"
        raise EvaluatorError(msg) from error
    except MatAssayError:  # the store or the machine is at fault, and says so itself
        raise
    except Exception as error:
        msg = f"{place} broke: {type(error).__name__}: {error}"
        raise EvaluatorError(msg) from error
    return _record(criterion, judgement, seen, shown, context.blobs_read)


def _get(name: str, context: Context, path: str | None, arguments: Mapping[str, Json]) -> Seen:
    seen = GETTERS[name].function(context, path, **arguments) if path else GETTERS[name].function(context, **arguments)
    if not isinstance(seen, Seen):
        msg = f"getter {name!r} returned {type(seen).__name__} where Seen is due"
        raise TypeError(msg)
    return seen


def _compare(criterion: Criterion, seen: Seen, want: Json) -> Judgement:
    compares = criterion.compares
    entry = METRICS[compares.metric]
    arguments: dict[str, Any] = {key: value for key, value in compares.arguments.items() if key != GOLD_AS}
    if entry.takes_tolerance:
        arguments |= {"tolerance": compares.tolerance, "relative": compares.relative}
    if compares.unit is not None:
        arguments["unit"] = compares.unit
    judgement = entry.function(seen, want, **arguments)
    if not isinstance(judgement, Judgement):
        msg = f"metric {compares.metric!r} returned {type(judgement).__name__} where Judgement is due"
        raise TypeError(msg)
    return judgement


def _want(criterion: Criterion, gold: Mapping[str, bytes], place: str) -> Json:
    compares = criterion.compares
    if compares.gold is None:
        return compares.want
    if compares.gold not in gold:
        msg = f"{place}: there is no gold file {compares.gold!r}; there are: {', '.join(sorted(gold)) or 'none'}"
        raise EvaluatorError(msg)
    other = compares.arguments.get(GOLD_AS)
    if other is not None:
        name, arguments = other["getter"], {key: value for key, value in other.items() if key != "getter"}
    elif GETTERS[criterion.reads.getter].needs_path:
        name, arguments = criterion.reads.getter, criterion.reads.arguments
    else:
        name, arguments = "text", {}
    try:
        seen = _get(name, GoldContext(gold), compares.gold, arguments)
    except MatAssayError:
        raise
    except Exception as error:
        msg = f"{place}: gold file {compares.gold!r} cannot be read by getter {name!r}: {error}"
        raise EvaluatorError(msg) from error
    if seen.value is None:
        msg = f"{place}: gold file {compares.gold!r} holds no value for getter {name!r}: {seen.note}"
        raise EvaluatorError(msg)
    return seen.value


def check_criterion(criterion: Criterion) -> list[str]:
    """Say what is wrong with a criterion's call of getter and metric; empty where nothing is.

    Parameters
    ----------
    criterion : Criterion
        A criterion of a task.

    Returns
    -------
    list of str
        One sentence a fault: an unknown name, an unknown or missing argument, a path or a wanted value too many or too
        few, a tolerance that the metric does not take.
    """
    reads, compares = criterion.reads, criterion.compares
    faults: list[str] = []
    read_by = GETTERS.get(reads.getter)
    if read_by is None:
        faults.append(f"there is no getter {reads.getter!r}: take one of {', '.join(sorted(GETTERS))}")
    else:
        faults += read_by.check(reads.arguments)
        if read_by.needs_path != (reads.path is not None):
            faults.append(f"getter {reads.getter!r} {'needs a' if read_by.needs_path else 'takes no'} path")
    entry = METRICS.get(compares.metric)
    if entry is None:
        return [*faults, f"there is no metric {compares.metric!r}: take one of {', '.join(sorted(METRICS))}"]
    faults += entry.check(compares.arguments)
    given = (compares.want is not None) + (compares.gold is not None)
    if entry.needs_want and given != 1:
        faults.append(f"metric {compares.metric!r} needs either want or gold, {given} of them are given")
    if not entry.needs_want and given:
        faults.append(f"metric {compares.metric!r} takes neither want nor gold")
    if not entry.takes_tolerance and (compares.tolerance is not None or compares.relative is not None):
        faults.append(f"metric {compares.metric!r} takes no tolerance")
    return faults


def _why_not(task: Task, stage_id: str, evidence: Mapping[str, Evidence]) -> str:
    for stage in task.stages:
        if stage.id == stage_id:
            break
        if stage.id not in evidence:
            return f"stage {stage.id} before it has no evidence either"
        for artifact in stage.hands_over:
            if evidence[stage.id].file(artifact.path) is None:
                return f"stage {stage.id} did not leave {artifact.path} for it"
    return "no evidence of it was collected"


def _wanted(criterion: Criterion, want: Json) -> Json:
    compares = criterion.compares
    said = {"value": brief(want), "gold": compares.gold, "tolerance": compares.tolerance}
    said |= {"relative": compares.relative, "unit": compares.unit}
    return {key: value for key, value in said.items() if value is not None} or None


def brief(value: Json, depth: int = 4) -> Json:
    """Shorten a value for the record: long texts, long lists and deep trees are cut, and say so."""
    if isinstance(value, str):
        more = len(value) - LONGEST_TEXT
        return value if more <= 0 else f"{value[:LONGEST_TEXT]}… and {more} more characters"
    if isinstance(value, list):
        if depth == 0 and value:
            return f"… a list of {len(value)}"
        more = len(value) - LONGEST_LIST
        head = [brief(item, depth - 1) for item in value[:LONGEST_LIST]]
        return head if more <= 0 else [*head, f"… and {more} more"]
    if isinstance(value, dict):
        if depth == 0 and value:
            return f"… an object of {len(value)}"
        more = len(value) - LONGEST_LIST
        cut = {
            str(key)[:100]: brief(value[key], depth - 1)
            for key in sorted(value, key=str)[:LONGEST_LIST]
            if key not in ("grey", "pixels")
        }
        return cut if more <= 0 else {**cut, "…": f"and {more} more"}
    return clean_json(value)


def _record(
    criterion: Criterion, judgement: Judgement, seen: Seen | None, wanted: Json, blobs: tuple[str, ...]
) -> CriterionRecord:
    shown: Json = None
    if seen is not None:
        shown = brief(seen.value if seen.shown is UNSET else seen.shown)
        if seen.unit is not None:
            shown = {"value": shown, "unit": seen.unit}
    return CriterionRecord(
        id=criterion.id,
        kind=criterion.kind,
        stage=criterion.stage,
        points=criterion.points,
        passed=judgement.passed,
        seen=shown,
        wanted=wanted,
        why=_tidy(judgement.why),
        evidence=blobs,
    )


def _tidy(why: str) -> str:
    """Make a sentence fit for one line of a terminal: parts of it were written by the agent."""
    plain = re.sub(r"\s+", " ", clean_text(why)).strip()
    plain = "".join(sign if sign.isprintable() else "\ufffd" for sign in plain)
    return plain if len(plain) <= LONGEST_WHY else f"{plain[:LONGEST_WHY]}…"
