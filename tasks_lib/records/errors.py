"""Every exception that MatAssay raises on purpose, and the one table that says what each does to an episode."""

from __future__ import annotations

import asyncio
import errno
from dataclasses import dataclass

from tasks_lib.records.outcome import Verb, VoidReason


class MatAssayError(Exception):
    """The root of our own exceptions; the message states rule, value, place and what to do next."""


class ConfigurationError(MatAssayError):
    """The user's command line, settings or task files are wrong: exit code 2."""


class TaskError(ConfigurationError):
    """A task file cannot be read or contradicts itself."""


class NoDesktopError(MatAssayError):
    """The machine has no desktop (no X server, no window manager, no program)."""


class ProvisionError(MatAssayError):
    """A machine did not start."""


class InitialiseError(MatAssayError):
    """A set-up step of the task did not reach its state."""


class MachineLostError(MatAssayError):
    """The control server of a machine stopped answering."""


class ProgramStuckError(MatAssayError):
    """A desktop program has stopped for good: it neither takes events nor works."""


class EndpointError(MatAssayError):
    """A model endpoint failed for good."""


class TransientEndpointError(EndpointError):
    """A model endpoint failed in a way that passes: 429, 5xx, a cut connection."""


class BudgetError(MatAssayError):
    """The tokens or the money that a run or a night may spend at models are spent."""


class EvaluatorError(MatAssayError):
    """A getter or a metric broke: our fault, not the agent's."""


class HarnessTimeoutError(MatAssayError):
    """A limit of ours on our own work ran out."""


class LowDiskError(MatAssayError):
    """Too little room is left to record an episode."""


class StoreError(MatAssayError):
    """The artifact store does not answer or holds a broken document."""


class BrokenDocumentError(StoreError):
    """The artifact store answers, and what it holds is no good document or no longer the bytes that were stored."""


class LeaseHeldError(MatAssayError):
    """Somebody else holds the lease of an episode or a machine."""


class ActionError(MatAssayError):
    """An agent's action is malformed or not allowed: a wasted step with feedback, never an execution."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What an exception does to its episode: `verb`, and the reason that a VOID carries."""

    verb: Verb
    reason: VoidReason


# Most specific first: the first row whose class fits an exception decides.
ERROR_POLICY: tuple[tuple[type[BaseException], Policy], ...] = (
    (ActionError, Policy(Verb.FAIL, VoidReason.INTERNAL)),
    (NoDesktopError, Policy(Verb.VOID, VoidReason.NO_DESKTOP)),
    (ProvisionError, Policy(Verb.RETRY, VoidReason.PROVISION)),
    (InitialiseError, Policy(Verb.RETRY, VoidReason.INITIALISE)),
    (MachineLostError, Policy(Verb.RETRY, VoidReason.MACHINE_LOST)),
    (ProgramStuckError, Policy(Verb.RETRY, VoidReason.PROGRAM_STUCK)),
    (TransientEndpointError, Policy(Verb.RETRY, VoidReason.ENDPOINT)),
    (EndpointError, Policy(Verb.VOID, VoidReason.ENDPOINT)),
    (BudgetError, Policy(Verb.VOID, VoidReason.BUDGET)),
    (TaskError, Policy(Verb.VOID, VoidReason.TASK)),
    (EvaluatorError, Policy(Verb.VOID, VoidReason.EVALUATOR)),
    (HarnessTimeoutError, Policy(Verb.VOID, VoidReason.TIMEOUT)),
    (asyncio.CancelledError, Policy(Verb.VOID, VoidReason.CANCELLED)),
    (KeyboardInterrupt, Policy(Verb.VOID, VoidReason.CANCELLED)),
    (LowDiskError, Policy(Verb.VOID, VoidReason.DISK_FULL)),
    (LeaseHeldError, Policy(Verb.VOID, VoidReason.STORE)),
    (StoreError, Policy(Verb.VOID, VoidReason.STORE)),
)
_FALLBACK = Policy(Verb.VOID, VoidReason.INTERNAL)


def policy_for(error: BaseException) -> Policy:
    """Look an exception up in the table.

    An ``OSError`` that says the disk is full is VOID(disk full) whoever raised it, also as the cause of another
    exception; what no row names is VOID(internal).

    Parameters
    ----------
    error : BaseException
        The exception that ended a phase.

    Returns
    -------
    Policy
        Retry (VOID when the tries are used up), VOID or FAIL.
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in (errno.ENOSPC, errno.EDQUOT):
            return Policy(Verb.VOID, VoidReason.DISK_FULL)
        seen = seen.__cause__
    return next((policy for kind, policy in ERROR_POLICY if isinstance(error, kind)), _FALLBACK)
