"""Intervals of a proportion."""

from __future__ import annotations


def wilson_interval(passed: int, episodes: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the Wilson score interval of a pass rate.

    The interval treats episodes as independent draws. Trials of one task are not, so over repeated trials it is
    narrower than the truth.

    Parameters
    ----------
    passed : int
        Episodes that passed.
    episodes : int
        Episodes that count, at least `passed`.
    confidence : float, optional
        Coverage, between 0 and 1.

    Returns
    -------
    tuple of float or None
        Lower and upper bound, each in [0, 1]; None where no episode counts.

    Raises
    ------
    ValueError
        If `passed` is not between 0 and `episodes`.

    Notes
    -----
    E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209, without continuity correction, as
    `scipy.stats.binomtest(...).proportion_ci(method="wilson")` gives it.
    """
    if not 0 <= passed <= episodes:
        msg = f"passed episodes lie between 0 and all, got {passed} of {episodes}: count PASS among the same list"
        raise ValueError(msg)
    if episodes == 0:
        return None
    # Imported here: scipy.stats takes half of the command line's start.
    from scipy.stats import binomtest

    bounds = binomtest(passed, episodes).proportion_ci(confidence_level=confidence, method="wilson")
    # At 0 and n of n the formula's rounding leaves values such as 1e-17 on the wrong side of the rate itself.
    low = 0.0 if passed == 0 else float(bounds.low)
    high = 1.0 if passed == episodes else float(bounds.high)
    return max(0.0, low), min(1.0, high)
