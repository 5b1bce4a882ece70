"""What an experiment found: values with unit and uncertainty, and how they stand to the truth where that is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from pydantic import Field

from tasks_lib.instruments.frame import Gains, ScanSettings
from tasks_lib.records import Document, Record

# Normal distribution, 95 %.
NORMAL = 1.959964

Truth = Mapping[str, float | int | str | bool]
Named = TypeVar("Named", "Quantity", "Finding")


class Verdict(StrEnum):
    """How a finding stands to the truth."""

    AGREES = "agrees"
    DISAGREES = "disagrees"
    NO_TRUTH = "no truth"


class Quantity(Record):
    """A measured value.

    Attributes
    ----------
    name, unit : str
    value : float
    uncertainty : float
        Standard uncertainty, in `unit`.
    coverage : float
        Factor from the standard to the 95 % uncertainty: 1.96, or Student's t where few observations stand behind it.
    truth : float or None
        What was to be found, where somebody knows.
    basis : str
        What the uncertainty rests on, and what it leaves out.
    """

    name: str
    value: float
    unit: str
    uncertainty: float = Field(gt=0)
    coverage: float = Field(default=NORMAL, gt=0)
    truth: float | None = None
    basis: str

    @property
    def expanded(self) -> float:
        """Half width of the 95 % interval, in `unit`."""
        return self.coverage * self.uncertainty

    @property
    def verdict(self) -> Verdict:
        """Whether the truth lies in the 95 % interval."""
        if self.truth is None:
            return Verdict.NO_TRUTH
        return Verdict.AGREES if abs(self.value - self.truth) <= self.expanded else Verdict.DISAGREES


class Finding(Record):
    """An answer without an uncertainty of its own: a name, a count, a yes or no.

    `margin` says how sure it is where the analysis can tell; `basis` says in which terms.
    """

    name: str
    value: str | int | bool
    truth: str | int | bool | None = None
    margin: float | None = None
    basis: str

    @property
    def verdict(self) -> Verdict:
        """Whether it is the truth."""
        if self.truth is None:
            return Verdict.NO_TRUTH
        return Verdict.AGREES if self.value == self.truth else Verdict.DISAGREES


class FrameUse(Record):
    """A frame that the experiment rests on; only valid ones get here."""

    name: str
    purpose: str
    source: str
    scan: ScanSettings
    gains: Gains
    setpoint: float


class Series(Record):
    """A table of what was measured frame by frame: names of the columns with their units, and the rows."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[float | str, ...], ...]


class Report(Document):
    """The outcome of an experiment.

    Attributes
    ----------
    experiment : str
    quantities, findings
        What was asked, in the order of importance.
    frames
        What was scanned for it, in order.
    series
        The observations behind the quantities.
    remarks
        What a reader has to know, as a count that differs between two frames.
    """

    experiment: str
    quantities: tuple[Quantity, ...]
    findings: tuple[Finding, ...] = ()
    frames: tuple[FrameUse, ...]
    series: tuple[Series, ...] = ()
    remarks: tuple[str, ...] = ()

    def against(self, truth: Truth) -> Report:
        """Return the report with the truth beside every value and finding of that name."""
        quantities = [
            one.model_copy(update={"truth": float(truth[one.name])}) if one.name in truth else one
            for one in self.quantities
        ]
        findings = [
            one.model_copy(update={"truth": truth[one.name]}) if one.name in truth else one for one in self.findings
        ]
        return self.model_copy(update={"quantities": tuple(quantities), "findings": tuple(findings)})

    @property
    def verdict(self) -> Verdict:
        """`DISAGREES` where one finding does, `AGREES` where all with a truth do."""
        all_ = {one.verdict for one in self.quantities} | {one.verdict for one in self.findings}
        return next((one for one in (Verdict.DISAGREES, Verdict.AGREES) if one in all_), Verdict.NO_TRUTH)

    def quantity(self, name: str) -> Quantity:
        """Return a quantity by name.

        Raises
        ------
        KeyError
            If there is none; the message lists those there are.
        """
        return _named(self.quantities, name)

    def finding(self, name: str) -> Finding:
        """Return a finding by name.

        Raises
        ------
        KeyError
            If there is none; the message lists those there are.
        """
        return _named(self.findings, name)


def _named(among: tuple[Named, ...], name: str) -> Named:
    for one in among:
        if one.name == name:
            return one
    raise KeyError(f"the report has no {name!r}; it has: {', '.join(one.name for one in among) or 'none'}")


def mean_of(name: str, values: list[float], unit: str, basis: str, *, also: float = 0.0) -> Quantity:
    """Return the mean of independent observations with its uncertainty.

    Parameters
    ----------
    name, unit, basis : str
        As in `Quantity`.
    values : list of float
        At least two observations.
    also : float
        Standard uncertainty that all observations share, in `unit`.

    Raises
    ------
    ValueError
        If there are fewer than two observations.

    Notes
    -----
    u² = s² / n + also², and the factor for 95 % is Student's with the degrees of freedom of Welch and Satterthwaite,
    (n - 1) u⁴ / (s² / n)²: JCGM 100:2008 (GUM), G.4, with `also` taken as exactly known.
    """
    from scipy.stats import t

    if len(values) < 2:
        msg = f"{name}: a scatter needs two observations at least, not {len(values)}"
        raise ValueError(msg)
    count = len(values)
    mean = math.fsum(values) / count
    # Equal observations leave the rounding of their magnitude.
    least = max(1e-15 * abs(mean), 1e-300)
    scatter = max(math.sqrt(math.fsum((one - mean) ** 2 for one in values) / (count - 1) / count), least)
    error = math.hypot(scatter, also)
    freedom = (count - 1) * (error / scatter) ** 4
    return Quantity(
        name=name, value=mean, unit=unit, uncertainty=error, coverage=float(t.ppf(0.975, freedom)), basis=basis
    )
