"""Asks people which of two trajectories they prefer, without saying whose they are."""

from tasks_lib.reporting.preference._ballots import BallotBox
from tasks_lib.reporting.preference._counting import Preferences, count, read_answers
from tasks_lib.reporting.preference._records import Answered, Ballot, Preferred, Side, StudyRecord
from tasks_lib.reporting.preference._study import Pair, Study, prepare_study
from tasks_lib.reporting.preference.page import PreferencePage

__all__ = [
    "Answered",
    "Ballot",
    "BallotBox",
    "Pair",
    "PreferencePage",
    "Preferences",
    "Preferred",
    "Side",
    "Study",
    "StudyRecord",
    "count",
    "prepare_study",
    "read_answers",
]
