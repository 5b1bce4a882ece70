"""Makes reference trajectories of a given shape from the families' plans, the same for the same seed."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from tasks_lib.evaluation.alignment.files import TrajectoryFile
from tasks_lib.evaluation.alignment.strict.order import result_values
from tasks_lib.evaluation.alignment.synthetic.entities import CITIES, POOLS
from tasks_lib.evaluation.alignment.synthetic.families import FAMILIES, Family, Slot
from tasks_lib.evaluation.alignment.trajectories import Call, Trajectory, canonical_text
from tasks_lib.records import Json
from tasks_lib.records.errors import ConfigurationError


@dataclass(frozen=True)
class Shape:
    """How many trajectories, steps and calls there are in all."""

    trajectories: int = 211
    steps: int = 644
    calls: int = 1337


PUBLISHED_SHAPE = Shape()
# Folders in which runs of different people keep the picture.
_WORKSPACES = ("/runs/bench/media", "./media", "images")
_FIELD = re.compile(r"\{(\w+)\}")


def synthetic_references(seed: int = 0, shape: Shape = PUBLISHED_SHAPE, *, results: bool = False) -> TrajectoryFile:
    """Make references.

    Parameters
    ----------
    seed : int, optional
        Decides everything that is drawn.
    shape : Shape, optional
        Numbers in all, spread over the 28 families as the published ones are: 211, 644 and 1,337.
    results : bool, optional
        Give every call a result that holds what calls of the next step take from it; published references have none.

    Returns
    -------
    TrajectoryFile
        Trajectories by id: four digits of the family and four of the task.

    Raises
    ------
    ConfigurationError
        If no such shape can be made: every family has a task, every task a step, every step a call, and no task more
        steps than its family's plan.
    """
    draw = random.Random(f"references {seed}")  # noqa: S311 - made-up data, no secret
    tasks = _spread([family.tasks for family in FAMILIES], shape.trajectories, [1] * len(FAMILIES))
    pairs = [(number, family) for number, family in enumerate(FAMILIES) for _ in range(tasks[number])]
    longest = [len(family.plan) for _, family in pairs]
    steps = _spread([family.steps for _, family in pairs], shape.steps, [1] * len(pairs), longest)
    wished = [family.calls * draw.uniform(0.5, 1.5) for _, family in pairs]
    calls = _spread(wished, shape.calls, steps)
    found: dict[str, Trajectory] = {}
    index: dict[int, int] = {}
    for (number, family), step_count, call_count in zip(pairs, steps, calls, strict=True):
        place = index[number] = index.get(number, -1) + 1
        one = _trajectory(f"{number:04}{place:04}", family, step_count, call_count, seed)
        found[one.id] = _with_results(one) if results else one
    return TrajectoryFile(f"synthetic references, seed {seed}", found)


def _spread(wished: Sequence[float], total: int, least: Sequence[int], most: Sequence[int] | None = None) -> list[int]:
    """Spread a total in proportion to wishes, by the largest remainders, within bounds."""
    highest = most or [total] * len(wished)
    if not sum(least) <= total <= sum(highest):
        msg = f"no synthetic references of this shape: {total} is not from {sum(least)} to {sum(highest)}"
        raise ConfigurationError(msg)
    scale = total / sum(wished)
    found = [
        min(high, max(low, math.floor(wish * scale))) for wish, low, high in zip(wished, least, highest, strict=True)
    ]
    while (left := total - sum(found)) != 0:
        step = 1 if left > 0 else -1
        open_ = [i for i, have in enumerate(found) if least[i] <= have + step <= highest[i]]
        best = max(open_, key=lambda i: (step * (wished[i] * scale - found[i]), -i))
        found[best] += step
    return found


def _trajectory(key: str, family: Family, steps: int, calls: int, seed: int) -> Trajectory:
    scene = _Scene(key, family, random.Random(f"{seed} {key}"))  # noqa: S311 - made-up data, no secret
    plan = [list(step) for step in family.plan]
    while len(plan) > steps:
        last = plan.pop()
        plan[-1] += last
    while sum(map(len, plan)) > calls:
        max(plan, key=len).pop()
    times = {(i, j): 1 for i, step in enumerate(plan) for j in range(len(step))}
    more = [place for place in times if plan[place[0]][place[1]].each] or [max(times)]
    for turn in range(calls - len(times)):
        times[more[turn % len(more)]] += 1
    made = tuple(
        tuple(scene.call(slot, thing) for j, slot in enumerate(step) for thing in range(times[i, j]))
        for i, step in enumerate(plan)
    )
    return Trajectory(key, family.name, made)


class _Scene:
    """What one picture shows and where it is: everything that the calls of its task are about."""

    def __init__(self, key: str, family: Family, draw: random.Random) -> None:
        self._key, self._draw = key, draw
        self._things = draw.sample(POOLS[family.things], len(POOLS[family.things]))
        self._folder = draw.choice(_WORKSPACES)
        self._copy = draw.choice(("", "", "_1", "_2"))
        self._city, self._lat, self._lng = draw.choice(CITIES)
        self._few = draw.choice((1, 3, 5, 5, 10))
        self._word = draw.choice(POOLS["topic"]).replace(" ", "_")

    def call(self, slot: Slot, thing: int) -> Call:
        arguments = {name: self._made(template, thing) for name, template in slot.arguments.items()}
        return Call(slot.tool, arguments, canonical_text(arguments))

    def _made(self, template: Any, thing: int) -> Json:
        if isinstance(template, list):
            return [self._made(item, thing) for item in template]
        if not isinstance(template, str):
            return template
        if whole := _FIELD.fullmatch(template):
            return self._field(whole[1], thing)
        return _FIELD.sub(lambda field: str(self._field(field[1], thing)), template)

    def _field(self, name: str, thing: int) -> Json:
        draw = self._draw
        named = self._things[thing % len(self._things)]
        match name:
            case "thing":
                return named
            case "things":
                return ".".join(self._things[: draw.randint(1, 3)])
            case "list":
                return [f"{one} {self._city}" for one in self._things[:3]]
            case "illness" | "drug" | "coin":
                return draw.choice(POOLS[name])
            case "picture":
                return f"{self._folder}/{self._key}{self._copy}.png"
            case "beside":
                return f"{self._folder}/{self._key}_{named.replace(' ', '_')}_{thing}.png"
            case "sheet" | "deck":
                return f"{self._folder}/{self._word}.{'xlsx' if name == 'sheet' else 'pptx'}"
            case "table":
                rows = [[one, draw.randint(1, 2000), f"{one} of {self._city}"] for one in self._things[: 2 + thing % 3]]
                return [["name", "count", "note"], *rows]
            case "areas":
                return [dict(zip(("x1", "y1", "x2", "y2"), draw.sample(range(1500), 4), strict=True))]
            case "place":
                return {"lat": self._lat, "lng": self._lng}
            case "places":
                return [{"lat": round(self._lat + draw.uniform(-1, 1), 4), "lng": round(self._lng, 4)} for _ in "12"]
            case "numbers":
                return [round(draw.uniform(5, 500), 2) for _ in range(draw.randint(2, 5))]
            case "day" | "later":
                start = date(2024, 1, 1) + timedelta(days=int(self._key) * 7 % 500)
                return (start + timedelta(days=30 if name == "later" else 0)).isoformat()
            case _:
                return self._plain(name)

    def _plain(self, name: str) -> Json:
        draw = self._draw
        match name:
            case "city":
                return self._city
            case "few":
                return self._few
            case "word":
                return self._word
            case "code":
                return "".join(draw.sample("abcdefghijklmnoprstuvwy", 4))
            case "isbn":
                return f"978{draw.randrange(10**9, 10**10)}"
            case "paper":
                return f"{draw.randint(1001, 2412)}.{draw.randint(10000, 19999)}"
            case "px":
                return draw.randint(0, 1600)
            case "id":
                return draw.randint(1000, 900000)
            case "tile":
                return draw.randint(0, 127)
            case "small":
                return draw.randint(1, 21)
            case "hundreds":
                return draw.choice((500, 1000, 1500, 2000, 5000))
            case "inch":
                return draw.randint(1, 8) / 2
            case "price":
                return round(draw.uniform(1, 70000), 2)
            case _:
                msg = f"a plan names {{{name}}}, which no scene has"
                raise ValueError(msg)


def _with_results(one: Trajectory) -> Trajectory:
    steps = []
    for place, step in enumerate(one.steps):
        after = one.steps[place + 1] if place + 1 < len(one.steps) else ()
        given: list[list[str]] = [[] for _ in step]
        for index, call in enumerate(after):
            given[index % len(step)] += result_values(call.arguments)
        steps.append(
            tuple(replace(call, result=json.dumps({"found": found})) for call, found in zip(step, given, strict=True))
        )
    return replace(one, steps=tuple(steps))
