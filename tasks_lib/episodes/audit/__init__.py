"""Audits of the evaluators: states whose truth is known, and what is said of them."""

from tasks_lib.episodes.audit._adversaries import Donor, adversaries
from tasks_lib.episodes.audit._course import Audit, Decision, LeftOut, Row, StateAudit, audit_run, compare
from tasks_lib.episodes.audit._states import State, played_state
from tasks_lib.episodes.audit._tables import HEAD, cells, kinds, markdown, word
from tasks_lib.episodes.audit._variants import variants

__all__ = [
    "HEAD",
    "Audit",
    "Decision",
    "Donor",
    "LeftOut",
    "Row",
    "State",
    "StateAudit",
    "adversaries",
    "audit_run",
    "cells",
    "compare",
    "kinds",
    "markdown",
    "played_state",
    "variants",
    "word",
]
