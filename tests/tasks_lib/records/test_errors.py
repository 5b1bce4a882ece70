"""The error-policy table: every exception of ours does what it should, and a full disk is seen behind any of them."""

import asyncio
import errno

import pytest

from tasks_lib.records import Verb, VoidReason, errors
from tasks_lib.records.errors import ERROR_POLICY, MatAssayError, Policy, policy_for

WANTED = {
    "ActionError": (Verb.FAIL, VoidReason.INTERNAL),
    "BudgetError": (Verb.VOID, VoidReason.BUDGET),
    "ConfigurationError": (Verb.VOID, VoidReason.INTERNAL),
    "EndpointError": (Verb.VOID, VoidReason.ENDPOINT),
    "BrokenDocumentError": (Verb.VOID, VoidReason.STORE),
    "EvaluatorError": (Verb.VOID, VoidReason.EVALUATOR),
    "HarnessTimeoutError": (Verb.VOID, VoidReason.TIMEOUT),
    "InitialiseError": (Verb.RETRY, VoidReason.INITIALISE),
    "LeaseHeldError": (Verb.VOID, VoidReason.STORE),
    "LowDiskError": (Verb.VOID, VoidReason.DISK_FULL),
    "MachineLostError": (Verb.RETRY, VoidReason.MACHINE_LOST),
    "MatAssayError": (Verb.VOID, VoidReason.INTERNAL),
    "NoDesktopError": (Verb.VOID, VoidReason.NO_DESKTOP),
    "ProgramStuckError": (Verb.RETRY, VoidReason.PROGRAM_STUCK),
    "ProvisionError": (Verb.RETRY, VoidReason.PROVISION),
    "StoreError": (Verb.VOID, VoidReason.STORE),
    "TaskError": (Verb.VOID, VoidReason.TASK),
    "TransientEndpointError": (Verb.RETRY, VoidReason.ENDPOINT),
}
OURS = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, MatAssayError)}


def test_the_table_here_names_every_exception_of_ours():
    assert sorted(OURS) == sorted(WANTED)


@pytest.mark.parametrize("name", sorted(WANTED))
def test_every_exception_of_ours_resolves(name):
    assert policy_for(OURS[name]("what happened")) == Policy(*WANTED[name])


@pytest.mark.parametrize("name", sorted(WANTED))
def test_a_kind_of_it_that_a_room_adds_resolves_alike(name):
    own = type("RoomError", (OURS[name],), {})
    assert policy_for(own("what happened")) == Policy(*WANTED[name])


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (asyncio.CancelledError(), (Verb.VOID, VoidReason.CANCELLED)),
        (KeyboardInterrupt(), (Verb.VOID, VoidReason.CANCELLED)),
        (ZeroDivisionError(), (Verb.VOID, VoidReason.INTERNAL)),
        (OSError(errno.EIO, "x"), (Verb.VOID, VoidReason.INTERNAL)),
        (OSError("no number"), (Verb.VOID, VoidReason.INTERNAL)),
        (MemoryError(), (Verb.VOID, VoidReason.INTERNAL)),
    ],
)
def test_exceptions_of_others_resolve(error, wanted):
    assert policy_for(error) == Policy(*wanted)


def test_no_row_hides_a_later_one():
    for position, (kind, _) in enumerate(ERROR_POLICY):
        hidden = [later.__name__ for later, _ in ERROR_POLICY[position + 1 :] if issubclass(later, kind)]
        assert hidden == [], f"{kind.__name__} stands before {hidden}"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("depth", [0, 1, 2, 5])
@pytest.mark.parametrize("outer", ["StoreError", "EvaluatorError", "ProvisionError", "ActionError"])
def test_a_full_disk_is_seen_however_deep(number, depth, outer):
    error: BaseException = OSError(number, "full")
    for _ in range(depth):
        wrapped = OURS[outer]("wrapped")
        wrapped.__cause__ = error
        error = wrapped
    assert policy_for(error) == Policy(Verb.VOID, VoidReason.DISK_FULL)


def test_an_error_that_only_followed_a_full_disk_is_judged_by_itself():
    error = errors.EvaluatorError("another matter")
    error.__context__ = OSError(errno.ENOSPC, "handled")
    assert policy_for(error).reason is VoidReason.EVALUATOR
