"""Databases in live mode: the public endpoints behind relays, and every reply kept beside the stage's evidence."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tasks_lib.databases import Snapshot, load
from tasks_lib.databases.upstreams import Upstreams
from tasks_lib.records import Json
from tasks_lib.records.errors import ConfigurationError, ProvisionError, StoreError
from tasks_lib.store import StageFolder, Store

if TYPE_CHECKING:
    from tasks_lib.databases.servers import DatabaseServer, Relay, RelayedReply

LIVE = "live"
KEY_VARIABLE = "MP_API_KEY"


@lru_cache(maxsize=1)
def shipped() -> Snapshot:
    """Return the package's snapshot, read once a process."""
    return load()


def live_settings(upstreams: Upstreams) -> dict[str, Json]:
    """Return what a manifest says of the databases of a live run: the addresses, and what the gold was taken from.

    Raises
    ------
    ConfigurationError
        If an address is none.
    """
    from tasks_lib.databases.servers import check_base

    for address in (upstreams.mp, upstreams.open_data, upstreams.oqmd, *upstreams.optimade):
        check_base(address)
    snapshot = shipped()
    return {
        "mode": LIVE,
        "upstreams": upstreams.model_dump(mode="json"),
        "compared_with": {"name": snapshot.name, "digest": snapshot.digest},
        "faults": {},
    }


def check_key() -> None:
    """Refuse a live run that asks the Materials Project without a key.

    Raises
    ------
    ConfigurationError
        If ``MP_API_KEY`` is not set, or holds what no header carries.
    """
    from tasks_lib.databases.servers import check_sendable

    if not os.environ.get(KEY_VARIABLE):
        msg = f"a live run asks the Materials Project, which needs a key: set {KEY_VARIABLE} in the environment"
        raise ConfigurationError(msg)
    try:
        check_sendable(os.environ[KEY_VARIABLE])
    except ConfigurationError as error:
        msg = f"{KEY_VARIABLE}: {error}"
        raise ConfigurationError(msg) from error


class Replies:
    """The replies of a stage's relays: bodies as blobs, and a line for each in ``replies.jsonl``.

    Parameters
    ----------
    store : Store
    folder : StageFolder
        Of the stage.
    """

    def __init__(self, store: Store, folder: StageFolder) -> None:
        self._store = store
        self._path = folder.replies
        self._lock = threading.Lock()

    def __call__(self, reply: RelayedReply, body: bytes) -> None:
        """Keep one reply; the body first, so that no line names a blob that is not there."""
        with self._lock:
            self._store.put_blob(body, reply.media_type or "application/octet-stream")
            self._store.append_line(self._path, reply.to_line())


def start_live(name: str, settings: dict[str, Any], replies: Replies) -> Relay:
    """Start the relay of an endpoint.

    Raises
    ------
    ProvisionError
        If it cannot be started as the manifest says.
    """
    from tasks_lib.databases.servers import relay

    try:
        upstreams = Upstreams.model_validate(settings.get("upstreams") or {})
        if name == "mp":
            check_key()
            key = os.environ[KEY_VARIABLE]
            return relay(name, upstreams.mp, api_key=key, open_data=upstreams.open_data, record=replies)
        return relay(name, upstreams.oqmd if name == "oqmd" else upstreams.optimade, record=replies)
    except (ConfigurationError, ValueError) as error:
        msg = f"database {name} cannot be asked live: {error}"
        raise ProvisionError(msg) from error


def check_recorded(servers: Mapping[str, DatabaseServer]) -> None:
    """Refuse a stage whose replies could not all be kept.

    Raises
    ------
    StoreError
        If a reply is not on record; a full disk stays recognisable as its cause.
    """
    for name, one in servers.items():
        if one.failure is not None:
            msg = f"a reply of database {name} could not be kept ({one.failure}): the stage has to be played again"
            raise StoreError(msg) from one.failure
