"""Asks one judge about one trajectory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from tasks_lib.evaluation.judges.digests import Digest
from tasks_lib.evaluation.judges.report import Metric, Opinion
from tasks_lib.evaluation.judges.rubrics import RUBRICS, messages_for, read_judgement
from tasks_lib.models import ChatModel, Completion, Message, Redactor
from tasks_lib.models.dialects.reply import one_line
from tasks_lib.records import Usage
from tasks_lib.records.errors import BudgetError, EndpointError

TRIES = 3
_LONGEST_VOID = 400


@dataclass(frozen=True)
class Judge:
    """A model that judges.

    Attributes
    ----------
    name : str
        In the settings.
    model : str
        As its endpoint knows it.
    open : callable
        Makes its client for one task and metric; who asks closes it.
    """

    name: str
    model: str
    open: Callable[[str, Metric], ChatModel]


def ask(
    judge: Judge, task: str, metric: Metric, digest: Digest, *, tries: int = TRIES, hide: Redactor | None = None
) -> Opinion:
    """Ask one judge, and again with what was wrong where a reply is no judgement.

    Parameters
    ----------
    judge : Judge
        Whom.
    task : str
        Id of the task.
    metric : Metric
        What about.
    digest : Digest
        What it is shown.
    tries : int, optional
        Replies at most. What fails at the endpoint is tried again by the client itself, and given up when it is.
    hide : Redactor, optional
        Takes secrets out of what the judge says.

    Returns
    -------
    Opinion
        With `void` where the endpoint failed, the budget is spent, or no reply was a judgement.
    """
    hide = hide or Redactor()
    conversation = messages_for(metric, digest)
    heard: list[Completion] = []
    problem = ""
    with closing(judge.open(task, metric)) as model:
        for _ in range(tries):
            try:
                completion = model.complete(conversation)
            except (EndpointError, BudgetError) as error:
                return _void(judge, one_line(str(error), _LONGEST_VOID), heard)
            heard.append(completion)
            try:
                if completion.refused:
                    msg = "a judgement was asked for and refused"
                    raise ValueError(msg)  # told like any other reply that is no judgement
                parts, why = read_judgement(completion.text, metric, digest.ticket)
            except ValueError as error:
                problem = one_line(hide(str(error)), _LONGEST_VOID)
                said = completion.turn if completion.turn.parts else Message.of("assistant", "(no reply)")
                told = f"That was not read: {problem}. Write your judgement as one JSON object."
                conversation = [*conversation, said, Message.of("user", told)]
                continue
            return Opinion(
                judge=judge.name,
                value=sum(parts.values()) / RUBRICS[metric].most,
                parts=parts,
                why=hide(why),
                asked=len(heard),
                usage=_spent(heard),
            )
    return _void(judge, f"no judgement in {tries} replies, the last one: {problem}", heard)


def _void(judge: Judge, why: str, heard: Sequence[Completion]) -> Opinion:
    return Opinion(judge=judge.name, void=why, asked=len(heard), usage=_spent(heard))


def _spent(heard: Sequence[Completion]) -> Usage:
    """Sum usages up; what one of them does not tell is unknown of all."""
    fields = ("input_tokens", "output_tokens", "cost")
    found = {name: [getattr(one.usage, name) for one in heard] for name in fields}
    sums = {name: None if not values or None in values else sum(values) for name, values in found.items()}
    return Usage(**sums, from_cache=bool(heard) and all(one.usage.from_cache for one in heard))
