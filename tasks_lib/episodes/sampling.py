"""Seeded samples of a task set that touch as many domains as they can, and hold of some as many as is said."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tasks_lib.records.errors import ConfigurationError
from tasks_lib.taskdefs import LoadedTask, TaskSet

EACH = "*"
_TERM = re.compile(r"(?:(?P<domain>\*|[a-z0-9][a-z0-9-]*)=)?(?P<number>[0-9]{1,4})")


@dataclass(frozen=True)
class Sample:
    """How many tasks are drawn, and from where.

    Attributes
    ----------
    domains : mapping of str to int
        So many of each of these domains.
    each : int
        So many of every other domain.
    more : int
        So many on top, of the domains that are not named, one of each in turn.
    """

    domains: Mapping[str, int] = field(default_factory=dict)
    each: int = 0
    more: int = 0

    @classmethod
    def parse(cls, terms: Sequence[str]) -> Sample:
        """Read terms of a command line.

        Parameters
        ----------
        terms : sequence of str
            ``DOMAIN=N``, ``*=N`` for every domain that no other term names, or ``N``.

        Raises
        ------
        ConfigurationError
            If a term is none of these, or two say the same thing.
        """
        numbers: dict[str | None, int] = {}
        for term in terms:
            match = _TERM.fullmatch(term)
            if match is None:
                msg = f"--sample {term!r} is no sample: give N, DOMAIN=N, or '*=N' for every other domain"
                raise ConfigurationError(msg)
            where = match["domain"]
            if where in numbers:
                what = f"of domain {where}" if where not in (None, EACH) else f"as {term!r} does"
                msg = f"--sample {term!r}: another --sample says how many {what}: give one of them"
                raise ConfigurationError(msg)
            numbers[where] = int(match["number"])
        each, more = numbers.pop(EACH, 0), numbers.pop(None, 0)
        if not any((each, more, *numbers.values())):
            msg = f"--sample {' '.join(terms)!r} draws nothing: one task at least is wanted"
            raise ConfigurationError(msg)
        return cls({domain: number for domain, number in numbers.items() if domain is not None}, each, more)


def draw(chosen: TaskSet, sample: Sample | None, seed: int) -> tuple[LoadedTask, ...]:
    """Draw a sample by a seed.

    Where a domain holds fewer tasks than are wanted, all of it are drawn.

    Parameters
    ----------
    chosen : TaskSet
    sample : Sample or None
        None takes all.
    seed : int

    Returns
    -------
    tuple of LoadedTask
        Sorted by id.

    Raises
    ------
    ConfigurationError
        If the sample names a domain that has no task among those chosen, or draws none.
    """
    if sample is None:
        return chosen.tasks
    generator = random.Random(seed)  # noqa: S311 - a sample, no secret
    decks: dict[str, list[LoadedTask]] = {}
    for loaded in chosen.tasks:
        decks.setdefault(loaded.task.domain, []).append(loaded)
    order = sorted(decks)
    for domain in order:
        generator.shuffle(decks[domain])
    generator.shuffle(order)
    drawn: list[LoadedTask] = []
    for domain, number in sorted(sample.domains.items()):
        if domain not in decks:
            msg = f"a sample of {number} of domain {domain!r}: no task chosen is of it (there are {', '.join(order)})"
            raise ConfigurationError(msg)
        drawn += decks.pop(domain)[:number]
    for deck in decks.values():
        drawn += deck[: sample.each]
        del deck[: sample.each]
    rest, more = [decks[domain] for domain in order if domain in decks], sample.more
    while more > 0 and any(rest):
        for deck in rest:
            if deck and more > 0:
                drawn.append(deck.pop())
                more -= 1
    if not drawn:
        msg = f"nothing is drawn from {len(chosen.tasks)} tasks: mend the sample, or the selection that it draws from"
        raise ConfigurationError(msg)
    return tuple(sorted(drawn, key=lambda loaded: loaded.task.id))
