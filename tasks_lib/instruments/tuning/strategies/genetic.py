"""Genetic algorithms by DEAP: the published one, and one that keeps what it found."""

from __future__ import annotations

from typing import Any

from tasks_lib.instruments.frame import Gains
from tasks_lib.instruments.tuning.box import GainBox
from tasks_lib.instruments.tuning.extra import require_packages
from tasks_lib.instruments.tuning.search import Generations

_POPULATION = 3
_GENERATIONS = 15


def ga_published(box: GainBox, *, seed: int, budget: int) -> Generations:
    """Search as published with AFMBench: population 3, 15 generations.

    Its operators were not published; these are DEAP's usual ones: `eaSimple` with tournaments of three, blend
    crossover (alpha 0.5) with probability 0.7, and Gaussian mutation (sigma 0.1, each gene with 0.3) with 0.2. A
    generation has only the individuals that changed, so the search ends before the budget.
    """
    require_packages("deap")
    from deap import algorithms, tools

    from tasks_lib.instruments.tuning.strategies._deap import GlobalRandom

    stream = GlobalRandom(seed)
    with stream.here():
        toolbox = _toolbox(len(box.free), sigma=0.1)
        population = toolbox.population(n=_POPULATION)
    _rate(population, (yield [box.gains(one) for one in population]))
    for _ in range(_GENERATIONS):
        with stream.here():
            parents = tools.selTournament(population, len(population), tournsize=3)
            population = algorithms.varAnd(parents, toolbox, cxpb=0.7, mutpb=0.2)
        changed = [one for one in population if not one.fitness.valid]
        if changed:
            _rate(changed, (yield [box.gains(one) for one in changed]))


def ga_plus(box: GainBox, *, seed: int, budget: int) -> Generations:
    """Search by a (3 + 3) strategy over integer gains: the best of parents and children go on, no gains twice.

    Children come from blend crossover or from a wider Gaussian mutation (sigma 0.2). Gains that were scanned are not
    scanned again: such a child is replaced by a random one.
    """
    require_packages("deap")
    from deap import algorithms, tools

    from tasks_lib.instruments.tuning.strategies._deap import GlobalRandom

    stream = GlobalRandom(seed)
    with stream.here():
        toolbox = _toolbox(len(box.free), sigma=0.2)
        population = toolbox.population(n=_POPULATION)
    seen: set[Gains] = set()
    _rate(population, (yield [box.gains(one) for one in population]))
    while True:
        seen.update(box.gains(one) for one in population)
        with stream.here():
            children = algorithms.varOr(population, toolbox, _POPULATION, cxpb=0.5, mutpb=0.5)
            for at, child in enumerate(children):
                # In a box that is nearly used up a few tries have to do; a repeat then is only a scan spent.
                for _ in range(20):
                    if box.gains(child) not in seen:
                        break
                    children[at] = child = toolbox.individual()
                seen.add(box.gains(child))
        _rate(children, (yield [box.gains(one) for one in children]))
        population = tools.selBest([*population, *children], _POPULATION)


def _toolbox(genes: int, *, sigma: float) -> Any:
    import random

    from deap import base, tools

    from tasks_lib.instruments.tuning.strategies._deap import Individual

    toolbox = base.Toolbox()
    toolbox.register("individual", tools.initRepeat, Individual, random.random, n=genes)  # noqa: S311
    toolbox.register("population", tools.initRepeat, list, toolbox.individual)
    toolbox.register("mate", tools.cxBlend, alpha=0.5)
    toolbox.register("mutate", tools.mutGaussian, mu=0.0, sigma=sigma, indpb=0.3)
    for operator in ("mate", "mutate"):
        toolbox.decorate(operator, _within)
    return toolbox


def _within(operator: Any) -> Any:
    """Bring what an operator made back into the unit cube."""

    def bounded(*individuals: Any, **arguments: Any) -> Any:
        made = operator(*individuals, **arguments)
        for one in made:
            one[:] = [min(1.0, max(0.0, gene)) for gene in one]
        return made

    return bounded


def _rate(individuals: list[Any], scores: Any) -> None:
    for one, score in zip(individuals, scores, strict=True):
        one.fitness.values = (score,)
