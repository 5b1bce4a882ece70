"""Pairs each thing wanted with a thing seen of its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

MOST_PAIRS = 20_000_000


def pair(wanted: int, seen: int, fits: Callable[[int, int], bool]) -> list[int]:
    """Find as many pairs as can be, each thing in one pair at most.

    Parameters
    ----------
    wanted, seen : int
        How many things there are of each.
    fits : callable
        ``fits(w, s)``: whether thing `w` wanted may be paired with thing `s` seen.

    Returns
    -------
    list of int
        The things wanted that stay without a partner, in order.
    """
    if wanted * seen == 0 or wanted * seen > MOST_PAIRS:
        return list(range(wanted))
    edges = np.array([[fits(w, s) for s in range(seen)] for w in range(wanted)], dtype=np.int8)
    partner = maximum_bipartite_matching(csr_matrix(edges), perm_type="column")
    return [w for w in range(wanted) if partner[w] < 0]
