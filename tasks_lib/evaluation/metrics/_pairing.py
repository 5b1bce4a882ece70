"""Pairs each thing wanted with a thing seen of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching


def unpaired(fits: np.ndarray[Any, Any]) -> list[int]:
    """Find as many pairs as can be, each thing in one pair at most.

    Parameters
    ----------
    fits : array of bool, wanted x seen
        Whether a thing wanted may be paired with a thing seen.

    Returns
    -------
    list of int
        The things wanted that stay without a partner, in order.
    """
    if fits.size == 0:
        return list(range(fits.shape[0]))
    partner = maximum_bipartite_matching(csr_matrix(fits.astype(np.int8)), perm_type="column")
    return [int(at) for at in np.flatnonzero(partner < 0)]
