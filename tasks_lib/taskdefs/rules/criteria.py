"""Rules on criteria: known names, what is read and how it is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tasks_lib.records import Task
from tasks_lib.taskdefs._folder import TaskFolder
from tasks_lib.taskdefs.rules.files import stage_at
from tasks_lib.taskdefs.rules.registry import Broken, Known, rule
from tasks_lib.taskdefs.rules.values import texts, wanted

# Metrics whose wanted numbers are limits, not measured values.
_BOUNDS = frozenset({"at-least", "at-most", "between"})


@rule("repeated-id", "Ids of criteria, stages and near misses are unique within the task.")
def _repeated_id(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    for kind, ids in (
        ("criteria", [criterion.id for criterion in task.criteria]),
        ("stages", [stage.id for stage in task.stages]),
        ("near_misses", [miss.id for miss in task.near_misses]),
    ):
        for name, count in Counter(ids).items():
            if count > 1:
                last = len(ids) - 1 - ids[::-1].index(name)
                yield Broken(f"id {name} stands {count} times in {kind}", "rename one", (kind, last, "id"))


@rule("unknown-getter", "Every getter is a registered one.")
def _unknown_getter(_folder: TaskFolder, task: Task, known: Known) -> Iterator[Broken]:
    if known.getters is None:
        return
    for index, criterion in enumerate(task.criteria):
        name = criterion.reads.getter
        if name not in known.getters:
            fix = f"use one of {', '.join(sorted(known.getters))}"
            yield Broken(f"getter {name}", fix, ("criteria", index, "reads"))


@rule("unknown-metric", "Every metric is a registered one.")
def _unknown_metric(_folder: TaskFolder, task: Task, known: Known) -> Iterator[Broken]:
    if known.metrics is None:
        return
    for index, criterion in enumerate(task.criteria):
        name = criterion.compares.metric
        if name not in known.metrics:
            fix = f"use one of {', '.join(sorted(known.metrics))}"
            yield Broken(f"metric {name}", fix, ("criteria", index, "compares"))


@rule("unknown-stage", "Every criterion names a stage of the task.", stops=True)
def _unknown_stage(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    names = [stage.id for stage in task.stages]
    for index, criterion in enumerate(task.criteria):
        if criterion.stage not in names:
            fix = f"name one of {', '.join(names)}"
            yield Broken(f"{criterion.id} reads stage {criterion.stage}", fix, ("criteria", index, "stage"))


@rule(
    "not-a-deliverable", "Every file that a criterion reads, and every file handed over, is a deliverable of its stage."
)
def _not_a_deliverable(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    delivered = {stage.id: {item.path for item in stage.deliverables} for stage in task.stages}
    for index, criterion in enumerate(task.criteria):
        path = criterion.reads.path
        if path is not None and path not in delivered.get(criterion.stage, {path}):
            value = f"{criterion.id} reads {path}, no deliverable of stage {criterion.stage}"
            yield Broken(value, "mend the path or add the deliverable", ("criteria", index, "reads"))
    for index, stage in enumerate(task.stages):
        for item in stage.hands_over:
            if item.path not in delivered[stage.id]:
                at = (*stage_at(task, index), "hands_over", item.path)
                yield Broken(f"{item.path} is no deliverable of {stage.id}", "mend the path or add the deliverable", at)


@rule("deliverable-unread", "Every deliverable is read by a criterion.")
def _deliverable_unread(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    for index, stage in enumerate(task.stages):
        read: set[str] = set()
        for criterion in task.criteria:
            if criterion.stage == stage.id:
                read |= {criterion.reads.path or "", *texts(criterion.reads.arguments)}
        for item in stage.deliverables:
            if item.path not in read:
                at = (*stage_at(task, index), "deliverables", item.path)
                yield Broken(f"{item.path} is read by no criterion", "add a criterion or do not ask for the file", at)


@rule("handoff-unchecked", "Every file that a stage hands over is judged by a criterion of kind `hand-off`.")
def _handoff_unchecked(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    judged = {(item.stage, item.reads.path) for item in task.criteria if item.kind == "hand-off"}
    for index, stage in enumerate(task.stages):
        for item in stage.hands_over:
            if (stage.id, item.path) not in judged:
                at = (*stage_at(task, index), "hands_over", item.path)
                yield Broken(f"{item.path} is handed over unchecked", "add a criterion with `kind: hand-off`", at)


@rule("handoff-target", "What a stage hands over goes to a next stage that has no input of that name.")
def _handoff_target(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    for index, stage in enumerate(task.stages):
        following = task.stages[index + 1] if index + 1 < len(task.stages) else None
        for item in stage.hands_over:
            at = (*stage_at(task, index), "hands_over", item.path)
            if following is None:
                yield Broken(f"{stage.id} is the last stage and hands over {item.path}", "take it out", at)
            elif item.as_path in {other.path for other in following.inputs}:
                yield Broken(f"{item.as_path} is also an input of {following.id}", "choose another path", at)


@rule("bad-argument", "Getters and metrics are called with arguments that they take.")
def _bad_argument(_folder: TaskFolder, task: Task, known: Known) -> Iterator[Broken]:
    for index, criterion in enumerate(task.criteria):
        for part, registered, name, arguments in (
            ("reads", known.getters, criterion.reads.getter, criterion.reads.arguments),
            ("compares", known.metrics, criterion.compares.metric, criterion.compares.arguments),
        ):
            if isinstance(registered, Mapping) and name in registered:
                for problem in registered[name].check(arguments):
                    value, _, fix = problem.partition(": ")
                    yield Broken(value, fix or "mend the arguments", ("criteria", index, part))


@rule("no-tolerance", "A measured number is compared within a tolerance.")
def _no_tolerance(_folder: TaskFolder, task: Task, known: Known) -> Iterator[Broken]:
    for index, criterion in enumerate(task.criteria):
        compares = criterion.compares
        exact = compares.metric in _BOUNDS
        if isinstance(known.metrics, Mapping) and compares.metric in known.metrics:
            exact = exact or not known.metrics[compares.metric].takes_tolerance
        if exact and compares.metric != "equals":
            continue
        measured = [value for value, own in wanted(compares.want) if isinstance(value, float) and not own]
        if compares.metric == "number":
            measured = [compares.want]
        if measured and compares.tolerance is None and compares.relative is None:
            fix = "write `tolerance: 0.1 eV` or `relative: 0.01`"
            yield Broken(f"{criterion.id} compares {measured[0]!r} exactly", fix, ("criteria", index, "compares"))


@rule("no-unit", "A tolerance has a unit.")
def _no_unit(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    fix = "write the unit behind the number, for pure numbers what is counted: `0.1 eV`, `0 atoms`, `0.01 ratio`"
    for index, criterion in enumerate(task.criteria):
        if criterion.compares.tolerance is not None and criterion.compares.unit is None:
            value = f"{criterion.id} has tolerance {criterion.compares.tolerance:g}"
            yield Broken(value, fix, ("criteria", index, "compares"))


@rule("want-and-gold", "A criterion compares with a value or with a gold file, not with both.")
def _want_and_gold(_folder: TaskFolder, task: Task, _known: Known) -> Iterator[Broken]:
    for index, criterion in enumerate(task.criteria):
        if criterion.compares.want is not None and criterion.compares.gold is not None:
            yield Broken(f"{criterion.id} has `want` and `gold`", "keep one of them", ("criteria", index, "compares"))
