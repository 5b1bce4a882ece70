"""Whether a live database still gives the answers that the gold was taken from: "database moved" or "agent wrong".

The oracle asks as a right solution asks. Where its answers of a live run still meet the criteria, the database holds
and an agent that failed was wrong. Where they do not, the database has moved, was out of reach or is malformed, and
the failure says nothing of the agent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field

from tasks_lib.databases.ingest import Effect, Finding, Reply, survey
from tasks_lib.databases.servers import RelayedReply
from tasks_lib.episodes.live_databases import LIVE
from tasks_lib.episodes.needs import asks_a_database
from tasks_lib.episodes.plan import Player
from tasks_lib.episodes.services import SETTING
from tasks_lib.episodes.stored import find_outcome, newest_first, stages_in
from tasks_lib.episodes.work import read_manifest
from tasks_lib.records import (
    BlobRef,
    Document,
    EpisodeSpec,
    Json,
    Outcome,
    Record,
    RunManifest,
    Step,
    Text,
    UtcTime,
    Verdict,
    VoidRecord,
)
from tasks_lib.records.errors import ConfigurationError, StoreError
from tasks_lib.store import AttemptFolder, RunFolder, Store
from tasks_lib.taskdefs import LoadedTask

_MOST_FINDINGS = 20


class Cause(StrEnum):
    """What a task's state, or an episode's failure, comes from."""

    HOLDS = "database holds"
    PASSED = "passed"
    AGENT = "agent wrong"
    MOVED = "database moved"
    MALFORMED = "source malformed"
    UNREACHABLE = "source unreachable"
    UNDECIDED = "undecided"


class MovedCriterion(Record):
    """A criterion that the live answers of the oracle do not meet."""

    criterion: Text
    seen: Json = Field(description="what the live answers gave")
    wanted: Json = Field(description="what the gold says")
    why: Text


class EpisodeCause(Record):
    """What an episode's outcome comes from."""

    episode_id: Text
    agent: Text
    trial: int
    outcome: Outcome | None
    cause: Cause


class Asked(Record):
    """What the oracle was answered, and when: the versions of both sides of the comparison."""

    replies: int = Field(ge=0)
    first: UtcTime | None = None
    last: UtcTime | None = None
    upstreams: tuple[Text, ...] = ()
    versions: dict[Text, Text] = Field(default_factory=dict, description="what a database says of its own version")


class TaskDrift(Record):
    """A task of a live run: whether its database moved, and what that means for those who played it."""

    task_id: Text
    state: Cause
    why: Text = Field(description="one sentence")
    moved: tuple[MovedCriterion, ...] = ()
    raised: Text = Field(default="", description="last line of what the oracle's script raised")
    findings: tuple[Finding, ...] = Field(default=(), description="what was wrong with the replies; at most 20")
    episodes: tuple[EpisodeCause, ...] = ()
    gold: dict[Text, Json] = Field(default_factory=dict, description="the database that the gold was taken from")
    asked: Asked


class RunDrift(Document):
    """The drift check of a run."""

    run_id: Text
    databases: Json = Field(description="what the manifest says of the databases")
    tasks: tuple[TaskDrift, ...]

    @property
    def moved(self) -> bool:
        """Whether any task's database no longer gives what the gold was taken from."""
        return any(task.state is not Cause.HOLDS for task in self.tasks)


def drift(store: Store, run_id: str, tasks: Iterable[LoadedTask]) -> RunDrift:
    """Compare the oracle's answers of a live run with the gold, task by task.

    Parameters
    ----------
    store : Store
    run_id : str
    tasks : iterable of LoadedTask
        For the gold's own record of its database.

    Raises
    ------
    ConfigurationError
        If the run is unknown, or was not played live.
    """
    manifest = read_manifest(store, run_id)
    settings = manifest.settings.get(SETTING) or {}
    if settings.get("mode") != LIVE:
        msg = f"run {run_id!r} asked a frozen snapshot, which cannot move: play one with `matassay run --live`"
        raise ConfigurationError(msg)
    known = {loaded.id: loaded for loaded in tasks}
    by_task: dict[str, list[EpisodeSpec]] = {}
    for spec in manifest.episodes:
        by_task.setdefault(spec.task_id, []).append(spec)
    found = []
    for task_id, specs in sorted(by_task.items()):
        loaded = known.get(task_id)
        if loaded is None or asks_a_database(loaded):
            task = _of_task(store, manifest, task_id, specs, loaded)
            # A gold that is a structure file says nothing of its database; the manifest does.
            found.append(task.model_copy(update={"gold": task.gold or settings.get("compared_with") or {}}))
    return RunDrift(run_id=run_id, databases=settings, tasks=tuple(found))


class _Played:
    """An episode with its outcome and what its databases answered."""

    def __init__(self, store: Store, manifest: RunManifest, spec: EpisodeSpec) -> None:
        self.spec = spec
        self._store = store
        attempts = newest_first(RunFolder(store, manifest.run_id).episode(spec.id))
        self._place, self.found = find_outcome(store, attempts)
        self.replies = list(_replies(store, self._place)) if self._place else []
        self.findings = tuple(_surveyed(store, self.replies))

    @property
    def outcome(self) -> Outcome | None:
        if self.found is None:
            return None
        return self.found.outcome if isinstance(self.found, Verdict) else Outcome.VOID

    @property
    def trouble(self) -> Cause | None:
        """What the source did wrong in this episode, if anything."""
        effects = {one.effect for one in self.findings}
        if effects & {Effect.MALFORMED, Effect.REJECTED}:
            return Cause.MALFORMED
        return Cause.UNREACHABLE if Effect.INCOMPLETE in effects else None

    def raised(self) -> str:
        """Return the last line of the last script that failed."""
        if self._place is None:
            return ""
        failed = ""
        for stage in stages_in(self._store, self._place):
            path = self._place.stage(stage).trajectory
            for step in self._store.read_lines(path, Step) if self._store.exists(path) else ():
                lines = [
                    line for one in step.actions if not one.ok for line in one.feedback.splitlines() if line.strip()
                ]
                failed = lines[-1].strip()[:500] if lines else failed
        return failed


def _of_task(
    store: Store, manifest: RunManifest, task_id: str, specs: list[EpisodeSpec], loaded: LoadedTask | None
) -> TaskDrift:
    played = [_Played(store, manifest, spec) for spec in specs]
    oracles = [one for one in played if (one.spec.agent, one.spec.variant) == ("oracle", None)]
    # One oracle that no longer passes is enough: the database may have moved while the run went on.
    oracle = next((one for one in oracles if one.outcome is not Outcome.PASS), oracles[0] if oracles else None)
    state, why = _state(oracle)
    others = [one for one in played if one not in oracles]
    verdict = oracle.found if oracle is not None and isinstance(oracle.found, Verdict) else None
    findings = {str(one): one for episode in played for one in episode.findings}
    return TaskDrift(
        task_id=task_id,
        state=state,
        why=why,
        moved=tuple(
            MovedCriterion(criterion=one.id, seen=one.seen, wanted=one.wanted, why=one.why)
            for one in (verdict.criteria if verdict is not None and state is not Cause.HOLDS else ())
            if not one.passed
        ),
        raised=oracle.raised() if oracle is not None and state is not Cause.HOLDS else "",
        findings=tuple(findings.values())[:_MOST_FINDINGS],
        episodes=tuple(_cause(one, state) for one in others),
        gold=_gold(loaded, specs[0].task_digest),
        asked=_asked(store, oracle),
    )


def _state(oracle: _Played | None) -> tuple[Cause, str]:
    if oracle is None or oracle.outcome is None:
        return Cause.UNDECIDED, "the oracle did not play: resume the run"
    if isinstance(oracle.found, VoidRecord):
        return Cause.UNDECIDED, f"the oracle is VOID({oracle.found.reason}): {oracle.found.message}"
    if oracle.outcome is Outcome.PASS:
        return Cause.HOLDS, "the oracle's live answers meet the gold: who failed was wrong"
    if oracle.trouble is Cause.MALFORMED:
        return Cause.MALFORMED, "the oracle fails, and the database broke its own rules: see the findings"
    if oracle.trouble is Cause.UNREACHABLE:
        return Cause.UNREACHABLE, "the oracle fails, and the database did not always answer: play it again later"
    return Cause.MOVED, "the oracle's live answers no longer meet the gold: failures say nothing of the agents"


def _cause(one: _Played, state: Cause) -> EpisodeCause:
    if one.outcome is Outcome.PASS:
        cause = Cause.PASSED
    elif one.outcome is not Outcome.FAIL:
        cause = Cause.UNDECIDED
    elif state is Cause.HOLDS:
        cause = one.trouble or Cause.AGENT
    else:
        cause = state
    label = Player.of(one.spec).label
    return EpisodeCause(episode_id=one.spec.id, agent=label, trial=one.spec.trial, outcome=one.outcome, cause=cause)


def _replies(store: Store, place: AttemptFolder) -> Iterable[RelayedReply]:
    for stage in stages_in(store, place):
        path = place.stage(stage).replies
        if store.exists(path):
            yield from store.read_lines(path, RelayedReply)


def _surveyed(store: Store, replies: list[RelayedReply]) -> Iterable[Finding]:
    by_dialect: dict[str, list[Reply]] = {}
    for told in replies:
        # A part of an object, and a question about its size, are no documents.
        body = b"" if told.method == "HEAD" or told.endpoint == "open_data" else _body(store, told)
        by_dialect.setdefault(told.dialect, []).append(Reply(told.url, told.status or 0, body, told.problem))
    for dialect, mine in sorted(by_dialect.items()):
        yield from survey(dialect, mine)


def _body(store: Store, told: RelayedReply) -> bytes:
    try:
        return store.get_blob(BlobRef(sha256=told.sha256, size=told.size))
    except (OSError, StoreError):
        return b""


def _asked(store: Store, oracle: _Played | None) -> Asked:
    replies = oracle.replies if oracle is not None else []
    times: list[datetime] = [one.time for one in replies]
    return Asked(
        replies=len(replies),
        first=min(times, default=None),
        last=max(times, default=None),
        upstreams=tuple(sorted({one.upstream for one in replies})),
        versions=_versions(store, replies),
    )


def _versions(store: Store, replies: list[RelayedReply]) -> dict[str, str]:
    found = {}
    for told in replies:
        if told.dialect == "mp" and told.path.rstrip("/") == "/heartbeat" and told.status == 200:
            document = _json(_body(store, told))
            if isinstance(document, Mapping) and "db_version" in document:
                found["mp"] = str(document["db_version"])[:100]
    return found


def _gold(loaded: LoadedTask | None, digest: str) -> dict[str, Any]:
    """Return what the gold says of the database that it was taken from; nothing where the task was changed since."""
    if loaded is None or loaded.digest != digest:
        return {}
    documents = (_json(data) for path, data in sorted(loaded.gold().items()) if path.endswith(".json"))
    told = (one["database"] for one in documents if isinstance(one, Mapping) and isinstance(one.get("database"), dict))
    return dict(next(told, {}))


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
