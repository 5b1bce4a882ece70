"""From episode results to the rows of the agent table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

from tasks_lib.records import AgentRow, EpisodeResult, FailureClass, Modality, Outcome
from tasks_lib.statistics._interval import wilson_interval

Kind = Literal["all", "modality", "domain"]

_KINDS: tuple[Kind, ...] = ("all", "modality", "domain")
_MODALITIES = {modality.value: position for position, modality in enumerate(Modality)}


def agent_rows(results: Iterable[EpisodeResult]) -> tuple[AgentRow, ...]:
    """Return the figures of every agent: over all its episodes, per modality and per domain.

    Parameters
    ----------
    results : iterable of EpisodeResult
        The episodes of a run, in any order; one whose task could not be read has no modality and is in no such group.

    Returns
    -------
    tuple of AgentRow
        Sorted by agent, then all / modalities in the order of `Modality` / domains by name. The order and the figures
        do not depend on the order of `results`.
    """
    groups: dict[tuple[str, Kind, str], list[EpisodeResult]] = defaultdict(list)
    for result in results:
        groups[result.agent, "all", "all"].append(result)
        if result.modality is not None:
            groups[result.agent, "modality", result.modality.value].append(result)
        groups[result.agent, "domain", result.domain].append(result)
    return tuple(
        agent_row(agent, group, episodes, kind=kind)
        for (agent, kind, group), episodes in sorted(groups.items(), key=lambda item: _place(*item[0]))
    )


def agent_row(agent: str, group: str, results: Sequence[EpisodeResult], *, kind: Kind = "all") -> AgentRow:
    r"""Return the figures of one agent over the episodes given.

    One definition for each figure, and one denominator for each:

    * *strict rate*: PASS / (PASS + FAIL + VOID), with the Wilson 95 % interval
    * *conditional rate*: PASS / (PASS + FAIL)
    * *Score*: points earned / points of PASS, FAIL and VOID episodes, summed before dividing; a VOID earns 0
    * *Steps*: mean steps of PASS and FAIL episodes
    * *Steps\**: mean steps of PASS episodes
    * *FTR*: FAIL / (PASS + FAIL), among the episodes that the agent ended itself

    Episodes that are not done yet stand in `pending` alone.

    Parameters
    ----------
    agent : str
        Name of the agent, with its model.
    group : str
        What the episodes have in common: 'all', a modality or a domain.
    results : sequence of EpisodeResult
        Episodes of that agent in that group.
    kind : {'all', 'modality', 'domain'}, optional
        What `group` names.

    Returns
    -------
    AgentRow
        Figures; each is None where its denominator is 0.

    Notes
    -----
    Steps, Steps* and FTR follow Appendix J of the MatToolBench paper.
    """
    done = [result for result in results if result.outcome is not None]
    judged = [result for result in done if result.outcome is not Outcome.VOID]
    passed = [result for result in judged if result.outcome is Outcome.PASS]
    ended = [result for result in judged if result.self_ended]
    earned = sum(result.earned for result in judged)
    kinds = [result.failure.kind for result in judged if result.failure is not None]
    return AgentRow(
        agent=agent,
        kind=kind,
        group=group,
        episodes=len(done),
        pending=len(results) - len(done),
        passed=len(passed),
        void=len(done) - len(judged),
        score=_ratio(earned, sum(result.points for result in done)),
        strict_rate=_ratio(len(passed), len(done)),
        strict_interval=wilson_interval(len(passed), len(done)),
        conditional_rate=_ratio(len(passed), len(judged)),
        steps=_mean_steps(judged),
        steps_star=_mean_steps(passed),
        false_termination_rate=_ratio(sum(result.outcome is Outcome.FAIL for result in ended), len(ended)),
        failures={kind: kinds.count(kind) for kind in FailureClass if kind in kinds},
    )


def _place(agent: str, kind: Kind, group: str) -> tuple[str, int, int, str]:
    order = _MODALITIES[group] if kind == "modality" else 0
    return agent, _KINDS.index(kind), order, group


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _mean_steps(results: Sequence[EpisodeResult]) -> float | None:
    steps = [result.steps for result in results if result.steps is not None]
    return _ratio(sum(steps), len(steps))
