"""The course of an audit: gather states of a proof run, judge them again, compare with what is known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

from tasks_lib.episodes.audit._adversaries import Donor, adversaries
from tasks_lib.episodes.audit._states import State, played_state
from tasks_lib.episodes.audit._variants import variants
from tasks_lib.episodes.proofs import stuck_in
from tasks_lib.episodes.stored import find_evidence, find_outcome, newest_first
from tasks_lib.episodes.work import read_manifest
from tasks_lib.evaluation import judge
from tasks_lib.records import BlobRef, EpisodeSpec, Evidence, Task, Verdict, VoidReason, VoidRecord
from tasks_lib.records.errors import BrokenDocumentError, EvaluatorError
from tasks_lib.statistics import Agreement
from tasks_lib.store import RunFolder, Store
from tasks_lib.taskdefs import LoadedTask

Listener = Callable[[str], None]


@dataclass(frozen=True)
class Decision:
    """What is known of one criterion, or of the task as a whole, and what the evaluator says.

    Attributes
    ----------
    criterion : str
        Empty for the task as a whole.
    truth : bool or None
        None: nothing is known.
    said : bool or None
        None: the evaluator broke.
    why : str
        The evaluator's reason.
    """

    criterion: str
    truth: bool | None
    said: bool | None
    why: str

    @property
    def counts(self) -> bool:
        """Whether there is something to compare."""
        return self.truth is not None and self.said is not None

    @property
    def disagrees(self) -> bool:
        """Whether the evaluator says something else than what is known."""
        return self.counts and self.truth is not self.said


@dataclass(frozen=True)
class StateAudit:
    """A state and the decisions on it: the task's first, then those on its criteria."""

    task_id: str
    domain: str
    kind: str
    name: str
    adversarial: bool
    decisions: tuple[Decision, ...]

    @property
    def accepted(self) -> bool:
        """Whether something is accepted, the task or a criterion, that is known to be wrong."""
        return any(decision.truth is False and decision.said is True for decision in self.decisions)

    @property
    def broken(self) -> tuple[Decision, ...]:
        """Decisions that the evaluator could not make."""
        return tuple(decision for decision in self.decisions if decision.said is None)


@dataclass(frozen=True)
class LeftOut:
    """An episode of which there is no state to audit, and why."""

    episode_id: str
    why: str


@dataclass(frozen=True)
class Row:
    """Figures of a domain, or of all, at one level."""

    domain: str
    level: str
    states: int
    agreement: Agreement


@dataclass(frozen=True)
class Audit:
    """What an audit found."""

    run_id: str
    states: tuple[StateAudit, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """Figures by domain, then over all; criteria first, then tasks."""
        domains = sorted({state.domain for state in self.states})
        groups = [(domain, [state for state in self.states if state.domain == domain]) for domain in domains]
        groups.append(("all", list(self.states)))
        return tuple(
            Row(name, level, len(states), _agreement(states, of_tasks=level == "task"))
            for level in ("criterion", "task")
            for name, states in groups
        )

    @property
    def accepted(self) -> tuple[StateAudit, ...]:
        """Adversarial states of which something was accepted that is known to be wrong."""
        return tuple(state for state in self.states if state.adversarial and state.accepted)

    @property
    def disagreements(self) -> tuple[tuple[StateAudit, Decision], ...]:
        """Every decision that is not what is known, and every one that could not be made."""
        return tuple(
            (state, decision)
            for state in self.states
            for decision in state.decisions
            if decision.disagrees or decision.said is None
        )

    @property
    def broken(self) -> int:
        """How many decisions the evaluator could not make."""
        return sum(len(state.broken) for state in self.states)


def audit_run(store: Store, run_id: str, tasks: Iterable[LoadedTask], tell: Listener | None = None) -> Audit:
    """Audit the evaluators on the end states of a proof run, and on right and adversarial states derived from them.

    Nothing is played and nothing is written. Of each task the first trial of the oracle is the origin of the derived
    states.

    Parameters
    ----------
    store, run_id
        A run of `proof_manifest`.
    tasks : iterable of LoadedTask
        Episodes of other tasks are not looked at.
    tell : callable, optional
        Told the id of each task before it is judged.

    Raises
    ------
    ConfigurationError
        If the store holds no such run.
    """
    by_id = {loaded.id: loaded for loaded in tasks}
    states: dict[str, list[State]] = defaultdict(list)
    left_out: list[LeftOut] = []
    specs = read_manifest(store, run_id).episodes
    planned = {spec.task_id for spec in specs}
    for spec in specs:
        if spec.task_id in by_id:
            found = _state_of(store, run_id, spec, by_id[spec.task_id])
            if isinstance(found, LeftOut):
                left_out.append(found)
            else:
                states[spec.task_id].append(found)
    origins = {name: oracle for name in sorted(states) if (oracle := _first(states[name], "oracle")) is not None}
    donors = [donor for name, oracle in origins.items() for donor in _donors(by_id[name].task, oracle, store)]
    audited: list[StateAudit] = []
    for name in sorted(by_id.keys() & planned):
        if tell is not None:
            tell(name)
        loaded = by_id[name]
        others = [origin for other, origin in origins.items() if by_id[other].task.domain == loaded.task.domain]
        derived = _derived(loaded, states[name], origins.get(name), donors, others, store, left_out)
        for state in chain(states[name], derived):
            try:
                audited.append(compare(loaded, state, store.get_blob))
            except BrokenDocumentError as error:
                left_out.append(LeftOut(f"{name}, {state.kind}: {state.name}", str(error)))
    return Audit(run_id, tuple(audited), tuple(left_out))


def compare(loaded: LoadedTask, state: State, blob: Callable[[BlobRef], bytes]) -> StateAudit:
    """Judge a state and put what is said beside what is known."""

    def read(reference: BlobRef) -> bytes:
        return state.data[reference.sha256] if state.holds(reference) else blob(reference)

    said = _said(loaded, state.evidence, read)
    whole = None if any(value is None for value, _ in said.values()) else all(value for value, _ in said.values())
    failed = [f"{name}: {why}" for name, (value, why) in said.items() if not value]
    task = Decision("", state.solved, whole, "; ".join(failed) or "every criterion is met")
    criteria = (Decision(name, state.criteria.get(name), value, why) for name, (value, why) in said.items())
    return StateAudit(state.task_id, state.domain, state.kind, state.name, state.adversarial, (task, *criteria))


def _said(
    loaded: LoadedTask, evidence: Mapping[str, Evidence], read: Callable[[BlobRef], bytes]
) -> dict[str, tuple[bool | None, str]]:
    """Judge criterion by criterion, so that one that breaks does not hide the others."""
    said: dict[str, tuple[bool | None, str]] = {}
    gold = loaded.gold()
    for criterion in loaded.task.criteria:
        alone = loaded.task.model_copy(update={"criteria": (criterion,)})
        try:
            record = judge(alone, gold, evidence, read, task_digest=loaded.digest).criteria[0]
            said[criterion.id] = record.passed, record.why
        except EvaluatorError as error:
            said[criterion.id] = None, f"VOID(evaluator): {error}"
    return said


def _state_of(store: Store, run_id: str, spec: EpisodeSpec, loaded: LoadedTask) -> State | LeftOut:
    if spec.task_digest != loaded.digest:
        return LeftOut(spec.id, f"the task is another one now ({loaded.digest[:12]}): prove it again")
    attempts = newest_first(RunFolder(store, run_id).episode(spec.id))
    _, outcome = find_outcome(store, attempts)
    evidence = find_evidence(store, attempts, loaded.task.stages)
    if outcome is None:
        return LeftOut(spec.id, "not played")
    # Where only the judging broke, the evidence is whole, and a broken evaluator is what an audit looks for.
    judging_broke = isinstance(outcome, VoidRecord) and outcome.reason is VoidReason.EVALUATOR
    if isinstance(outcome, VoidRecord) and not (judging_broke and evidence):
        return LeftOut(spec.id, f"VOID({outcome.reason}) in {outcome.phase}: {outcome.message}")
    if isinstance(outcome, Verdict) and set(outcome.evidence_digests) != set(evidence):
        return LeftOut(spec.id, "its evidence is damaged: play it again")
    stuck = stuck_in(store, run_id, spec, loaded.task) if spec.agent == "oracle" else ""
    if stuck:
        return LeftOut(spec.id, f"could not be played to its end: {stuck}")
    state = played_state(loaded.task, spec, evidence)
    return state or LeftOut(spec.id, f"a proof says nothing of what {spec.agent} leaves")


def _derived(
    loaded: LoadedTask,
    states: Sequence[State],
    oracle: State | None,
    donors: Sequence[Donor],
    others: Sequence[State],
    store: Store,
    left_out: list[LeftOut],
) -> Iterator[State]:
    if oracle is None:
        left_out.append(LeftOut(f"{loaded.id}, derived states", "there is no state of the oracle to derive from"))
        return
    inputs = {item.path: loaded.input_bytes(item.path) for stage in loaded.task.stages for item in stage.inputs}
    try:
        yield from variants(loaded.task, oracle, store.get_blob)
        yield from adversaries(
            loaded.task, oracle, store.get_blob,
            inputs=inputs, gold=loaded.gold(), donors=donors, others=others, idle=_first(states, "nop"),
        )  # fmt: skip
    except BrokenDocumentError as error:
        left_out.append(LeftOut(f"{loaded.id}, derived states", str(error)))


def _donors(task: Task, oracle: State, store: Store) -> Iterator[Donor]:
    for stage in task.stages:
        found = oracle.evidence.get(stage.id)
        for deliverable in stage.deliverables if found is not None else ():
            reference = found.file(deliverable.path) if found is not None else None
            if reference is not None:
                with suppress(BrokenDocumentError):  # told where the task itself is audited
                    yield Donor(task.id, task.domain, deliverable.path, store.get_blob(reference))


def _first(states: Sequence[State], kind: str) -> State | None:
    return next((state for state in states if state.kind == kind), None)


def _agreement(states: Iterable[StateAudit], *, of_tasks: bool) -> Agreement:
    return Agreement.of(
        (decision.truth, decision.said)
        for state in states
        for decision in state.decisions
        if (decision.criterion == "") is of_tasks and decision.truth is not None and decision.said is not None
    )
