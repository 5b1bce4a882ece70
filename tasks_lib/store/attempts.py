"""Opening the next attempt at an episode, by one worker only."""

from __future__ import annotations

from typing import Any

from tasks_lib.records import Lease, now
from tasks_lib.store.layout import AttemptFolder, EpisodeFolder
from tasks_lib.store.leases import Clock, HeldLease, acquire


def new_attempt(
    episode: EpisodeFolder, *, seconds: float, owner: str | None = None, clock: Clock = now, **facts: Any
) -> tuple[AttemptFolder, HeldLease]:
    """Open the attempt after the newest one by creating its lease.

    The newest attempt's lease is taken over and closed first, so that its former holder, should he still be alive,
    learns at his next renewal that he lost it. To go on with an attempt instead, acquire the lease of its folder.

    Parameters
    ----------
    episode : EpisodeFolder
        The episode, with its store.
    seconds, owner, clock, **facts
        As for `acquire`.

    Returns
    -------
    tuple of AttemptFolder and HeldLease
        The new attempt and its lease.

    Raises
    ------
    LeaseHeldError
        If somebody works on the newest attempt, or opened the next one at the same time.
    """
    newest = episode.last()
    if newest is not None and _is_open(episode, newest):
        acquire(episode.store, newest.path, seconds=seconds, owner=owner, clock=clock).release()
    attempt = episode.attempt(1 if newest is None else newest.number + 1)
    held = acquire(episode.store, attempt.path, seconds=seconds, owner=owner, clock=clock, fresh=True, **facts)
    return attempt, held


def _is_open(episode: EpisodeFolder, attempt: AttemptFolder) -> bool:
    try:
        return episode.store.read_document(attempt.lease, Lease).released is None
    except FileNotFoundError:
        return False
