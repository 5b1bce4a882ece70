"""Which call of a prediction stands for which call of a reference: gated assignment within each tool."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Similarities of shape (n, m) of n calls of the reference and m of the prediction, given by their indices.
Similar = Callable[[Sequence[int], Sequence[int]], NDArray[np.float64]]

# What a pair below the threshold costs. No sum of real costs (0 to 2 each) reaches it, so the largest number of
# pairs comes first and their similarity second.
_FORBIDDEN = 1e6


@dataclass(frozen=True, slots=True)
class Match:
    """Call `reference` of the reference and call `prediction` of the prediction, both counted from 0."""

    reference: int
    prediction: int
    similarity: float


def assign(reference: Sequence[str], prediction: Sequence[str], similar: Similar, weak: float) -> tuple[Match, ...]:
    """Pair calls of the same tool: as many as possible, then as similar as possible.

    Similarities are asked for within a tool alone; calls of different tools never match.

    Parameters
    ----------
    reference, prediction : sequence of str
        Tool of each call.
    similar : callable
        Takes indices of reference calls and of prediction calls, gives their similarities.
    weak : float
        Least similarity of a pair.

    Returns
    -------
    tuple of Match
        Tool by tool in the reference's order, by reference call within a tool.
    """
    from scipy.optimize import linear_sum_assignment

    found: list[Match] = []
    for rows, columns in _shared_tools(reference, prediction):
        similarity = similar(rows, columns)
        allowed = similarity >= weak
        chosen = linear_sum_assignment(np.where(allowed, 1.0 - similarity, _FORBIDDEN))
        found += [
            Match(rows[i], columns[j], float(similarity[i, j])) for i, j in zip(*chosen, strict=True) if allowed[i, j]
        ]
    return tuple(found)


def _shared_tools(reference: Sequence[str], prediction: Sequence[str]) -> Iterator[tuple[list[int], list[int]]]:
    """Give the indices of the calls of each tool that both call, in the order in which the reference names tools."""
    theirs = _by_tool(prediction)
    for tool, indices in _by_tool(reference).items():
        if tool in theirs:
            yield indices, theirs[tool]


def _by_tool(tools: Sequence[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for index, tool in enumerate(tools):
        found.setdefault(tool, []).append(index)
    return found
