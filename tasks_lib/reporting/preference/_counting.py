"""From results files to preference shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks_lib.records.errors import ConfigurationError
from tasks_lib.reporting.preference._records import Answered, Ballot, Preferred, Side, StudyRecord
from tasks_lib.statistics import Choice, PreferenceShare, krippendorff_alpha, preference_share

_SCORES = {Preferred.FIRST: 1.0, Preferred.TIE: 0.5, Preferred.SECOND: 0.0}


@dataclass(frozen=True)
class Preferences:
    """What people prefer.

    Attributes
    ----------
    first, second : str
        The two that were compared.
    share : PreferenceShare or None
        Of the first, over all people; a task is one unit however many were asked. None without an answer.
    raters : dict of str to PreferenceShare or None
        The same for each person.
    left : PreferenceShare or None
        Of what stood on the left: far from one half, sides decided and not trajectories.
    alpha : float or None
        Krippendorff's alpha of the answers (second, tie, first as an ordinal scale); None for one person.
    """

    first: str
    second: str
    share: PreferenceShare | None
    raters: dict[str, PreferenceShare | None]
    left: PreferenceShare | None
    alpha: float | None


def parse_answers(data: bytes, name: str) -> Answered:
    """Read the whole lines of a results file called `name`.

    Raises
    ------
    ConfigurationError
        If a line is not what it should be.
    """
    lines = data.split(b"\n")[:-1]
    ballots: dict[str, Ballot] = {}
    number = 1
    try:
        study = StudyRecord.from_json(lines[0] if lines else b"")
        for line in lines[1:]:
            number += 1
            ballot = Ballot.from_json(line)
            ballots.pop(ballot.task, None)
            if ballot.preferred is not None:
                ballots[ballot.task] = ballot
    except ValueError as error:
        reason = str(error).splitlines()[0]
        what = "says which study it is" if number == 1 else "is one answer"
        msg = f"{name}: line {number} of a results file {what}: {reason}: mend or remove it, or give another file"
        raise ConfigurationError(msg) from error
    return Answered(study, ballots)


def read_answers(path: Path) -> Answered:
    """Read a results file; a last line that was cut while it was written does not count.

    Raises
    ------
    ConfigurationError
        If it is no results file.
    OSError
        If it cannot be read.
    """
    data = path.read_bytes()
    return parse_answers(data[: data.rfind(b"\n") + 1], str(path))


def count(results: Sequence[Answered]) -> Preferences:
    """Count the answers of one or several people to the same pairs.

    Parameters
    ----------
    results : sequence of Answered
        One a person, at least one.

    Raises
    ------
    ConfigurationError
        If they are about different pairs, or two of one person.
    """
    studies = [one.study for one in results]
    for study in studies[1:]:
        if (study.first, study.second, study.digest) != (studies[0].first, studies[0].second, studies[0].digest):
            msg = f"answers of {studies[0].rater!r} and {study.rater!r} are to different pairs: count them apart"
            raise ConfigurationError(msg)
    names = [study.rater for study in studies]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        msg = f"two files hold answers of {twice[0]!r}: people are told by --rater: leave one out, or name them"
        raise ConfigurationError(msg)
    ballots = [ballot for one in results for ballot in one.ballots.values()]
    return Preferences(
        first=studies[0].first,
        second=studies[0].second,
        share=_share(ballots),
        raters={one.study.rater: _share(list(one.ballots.values())) for one in results},
        left=preference_share([Choice(ballot.task, _left(ballot)) for ballot in ballots]),
        alpha=_alpha(results),
    )


def _share(ballots: Sequence[Ballot]) -> PreferenceShare | None:
    return preference_share([Choice(ballot.task, _score(ballot)) for ballot in ballots])


def _score(ballot: Ballot) -> float:
    # A ballot that was taken back is not among those that count.
    return _SCORES[ballot.preferred or Preferred.TIE]


def _left(ballot: Ballot) -> float:
    return _score(ballot) if ballot.first_on is Side.LEFT else 1.0 - _score(ballot)


def _alpha(results: Sequence[Answered]) -> float | None:
    if len(results) < 2:
        return None
    tasks = sorted({task for one in results for task in one.ballots})
    ratings = [[_score(one.ballots[task]) if task in one.ballots else None for task in tasks] for one in results]
    return krippendorff_alpha(ratings, "ordinal") if tasks else None
