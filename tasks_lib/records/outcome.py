"""The three-valued outcome, the phases of an episode and the reasons for a VOID."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """What became of an episode."""

    PASS = "PASS"
    FAIL = "FAIL"
    VOID = "VOID"


class Phase(StrEnum):
    """The phases of an episode, in order; nothing after `COLLECT` touches the machine."""

    PROVISION = "provision"
    INITIALISE = "initialise"
    ACT = "act"
    COLLECT = "collect"
    HANDOFF = "hand-off"
    EVALUATE = "evaluate"


class VoidReason(StrEnum):
    """What broke around the agent; the agent is not to blame and the episode can be tried again."""

    NO_DESKTOP = "no desktop"
    PROVISION = "provision"
    INITIALISE = "initialise"
    MACHINE_LOST = "machine lost"
    PROGRAM_STUCK = "program stuck"
    ENDPOINT = "endpoint"
    BUDGET = "budget"
    TASK = "task"
    EVALUATOR = "evaluator"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    DISK_FULL = "disk full"
    STORE = "store"
    INTERNAL = "internal"


class FailureClass(StrEnum):
    """What kind of failure a FAIL was; ``docs/failure-classes.md`` has the rules."""

    REPETITION = "repetition"
    GROUNDING = "grounding"
    DEADLOCK = "deadlock"
    PREMATURE_TERMINATION = "premature termination"
    OUT_OF_BUDGET = "out of budget"
    DOMAIN_KNOWLEDGE = "domain knowledge"


class Verb(StrEnum):
    """What the error-policy table says to do with an exception."""

    RETRY = "retry"
    VOID = "void"
    FAIL = "fail"
