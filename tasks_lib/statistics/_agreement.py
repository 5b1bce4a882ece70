"""How far decisions agree with what is known: precision, recall and F1, each with its interval."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tasks_lib.statistics._interval import wilson_interval

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Decisions counted against the truth; *positive* means accepted.

    Attributes
    ----------
    true_positives, false_positives, true_negatives, false_negatives : int
        Rightly accepted, wrongly accepted, rightly refused, wrongly refused.
    """

    true_positives: int = 0
    false_positives: int = 0
    true_negatives: int = 0
    false_negatives: int = 0

    @classmethod
    def of(cls, decisions: Iterable[tuple[bool, bool]]) -> Agreement:
        """Count pairs of (truth, what was said)."""
        counts = {(True, True): 0, (False, True): 0, (False, False): 0, (True, False): 0}
        for truth, said in decisions:
            counts[truth, said] += 1
        return cls(*counts.values())

    @property
    def decisions(self) -> int:
        """How many decisions were counted."""
        return self.true_positives + self.false_positives + self.true_negatives + self.false_negatives

    @property
    def precision(self) -> float | None:
        """Share of what was accepted that is right; None where nothing was accepted."""
        return _ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float | None:
        """Share of what is right that was accepted; None where nothing is right."""
        return _ratio(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall; None where nothing is right and nothing was accepted."""
        wrong = self.false_positives + self.false_negatives
        return _ratio(2 * self.true_positives, 2 * self.true_positives + wrong)

    @property
    def precision_interval(self) -> Interval | None:
        """Wilson 95 % interval of `precision`."""
        return wilson_interval(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall_interval(self) -> Interval | None:
        """Wilson 95 % interval of `recall`."""
        return wilson_interval(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1_interval(self) -> Interval | None:
        """95 % interval of `f1`.

        Notes
        -----
        F1 is no proportion, but F1 = 2 J / (1 + J) with J = TP / (TP + FP + FN), which is one. The map rises with J, so
        the ends of the Wilson interval of J become the ends of that of F1.
        """
        union = self.true_positives + self.false_positives + self.false_negatives
        bounds = wilson_interval(self.true_positives, union)
        return None if bounds is None else (_f1_of(bounds[0]), _f1_of(bounds[1]))


def _f1_of(jaccard: float) -> float:
    return 2 * jaccard / (1 + jaccard)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
